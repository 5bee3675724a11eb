/* SPDX-License-Identifier: Apache-2.0 */
/* A call: starting, replaying on a stale connection, failing, cancelling. Its bytes are moved by
 * http_link. */
#include "common/io/reactor/http_upstream.h"

#include <stdlib.h>

enum { RESOLVE_POLL_US = 5000 };

static void call_free(struct http_call *call)
{
    struct http_client *client = call->ep->client;
    loop_timer_cancel(client->loop, &call->timer);
    loop_undefer(&call->job);
    if (list_is_linked(&call->link)) {
        list_remove(&call->link);
    }
    client->counters.active_calls--;
    http_endpoint_unref(call->ep);
    free(call);
}

static void call_fail(struct http_call *call, enum http_fail why)
{
    const struct http_call_ops *ops = call->ops;
    void *ctx = call->ctx;
    call->ep->client->counters.fail_count[why]++;
    call_free(call);
    ops->on_fail(ctx, why);
}

static void open_link(struct http_call *call);

/* The host name may be known by now. */
static void call_turn(struct loop_timer *timer)
{
    struct http_call *call = LIST_OWNER(timer, struct http_call, timer);
    list_remove(&call->link);
    open_link(call);
}

/* A call that could not be started ends here, outside its caller. */
static void call_fail_job(struct loop_job *job)
{
    struct http_call *call = LIST_OWNER(job, struct http_call, job);
    call_fail(call, call->start_fail);
}

static void fail_later(struct http_call *call, enum http_fail why)
{
    call->start_fail = why;
    list_push_back(&call->ep->client->waiting, &call->link);
    loop_defer(call->ep->client->loop, &call->job);
}

static void wait_turn(struct http_call *call)
{
    struct loop *loop = call->ep->client->loop;
    if (loop_timer_set(loop, &call->timer, loop_now_us(loop) + RESOLVE_POLL_US) != ST_OK) {
        fail_later(call, HTTP_FAIL_NO_FD);
        return;
    }
    list_push_back(&call->ep->client->waiting, &call->link);
}

static struct http_link *idle_link(struct http_endpoint *ep)
{
    struct list *first = list_first(&ep->idle);
    return first == NULL ? NULL : LIST_OWNER(first, struct http_link, idle_link);
}

/* Address to connect to. ST_OK, ST_AGAIN (still resolving), ST_NOTFOUND. */
static enum status pick_address(struct http_call *call, struct net_addr *ret)
{
    struct http_endpoint *ep = call->ep;
    if (ep->name == NULL) {
        *ret = ep->addr;
        call->addr_count = 1;
        return ST_OK;
    }
    struct net_addr addrs[RESOLVE_ADDRS_MAX];
    size_t count = 0;
    enum status st = resolve_get(ep->name, addrs, &count);
    if (st == ST_OK) {
        *ret = addrs[(call->addr_first + call->addr_tried) % count];
        call->addr_count = (uint32_t)count;
    }
    return st;
}

/* After an address that could not be connected to: is there another to try? Not after a slow one:
 * the time is up. */
static bool next_address(struct http_call *call, enum http_fail why)
{
    call->addr_tried++;
    call->ep->addr_turn = call->addr_first + call->addr_tried;
    return why == HTTP_FAIL_CONNECT && call->addr_tried < call->addr_count;
}

/* Opens a connection. Failures are reported later, by the call's job. */
static void open_link(struct http_call *call)
{
    struct http_client *client = call->ep->client;
    enum http_fail why = HTTP_FAIL_CONNECT;
    call->sent_bytes = 0;
    call->is_write_dead = false;
    do {
        struct net_addr addr;
        enum status st = pick_address(call, &addr);
        bool is_late =
            loop_now_us(client->loop) - call->started_at_us > client->limits.connect_timeout_us;
        if (st == ST_AGAIN && !is_late) {
            wait_turn(call);
            return;
        }
        if (st != ST_OK) {
            fail_later(call, HTTP_FAIL_RESOLVE);
            return;
        }
        if (http_link_open(call, &addr, &why) == ST_OK) {
            return;
        }
    } while (next_address(call, why));
    fail_later(call, why);
}

static void call_broken(struct http_call *call, enum http_fail why)
{
    struct http_link *link = call->on;
    bool is_stale =
        link->was_used && !link->has_bytes && !call->is_replayed && why == HTTP_FAIL_CLOSED;
    link->call = NULL;
    call->on = NULL;
    http_link_close(link);
    if (is_stale) {
        call->is_replayed = true;
        call->ep->client->counters.stale_retry_count++;
        open_link(call);
        return;
    }
    bool is_connect = why == HTTP_FAIL_CONNECT || why == HTTP_FAIL_CONNECT_TIMEOUT;
    if (is_connect && next_address(call, why)) {
        open_link(call);
        return;
    }
    call_fail(call, why);
}

enum status http_call_start(struct http_endpoint *ep,
                            const struct http_request *req,
                            const struct http_call_ops *ops,
                            void *ctx,
                            struct http_call **ret)
{
    struct http_call *call = calloc(1, sizeof(*call));
    if (call == NULL) {
        return ST_NOMEM;
    }
    call->ep = ep;
    call->ops = ops;
    call->ctx = ctx;
    call->req = *req;
    call->timer.fn = call_turn;
    call->job.fn = call_fail_job;
    call->broken = call_broken;
    call->release = call_free;
    call->started_at_us = loop_now_us(ep->client->loop);
    call->total_bytes = req->head.len;
    for (int i = 0; i < req->body_count; i++) {
        call->total_bytes += req->body[i].iov_len;
    }
    ep->refs++;
    ep->client->counters.active_calls++;
    call->addr_first = ep->addr_turn;
    *ret = call;
    struct http_link *link = idle_link(ep);
    if (link == NULL) {
        open_link(call);
    } else {
        ep->client->counters.reuse_count++;
        http_link_reuse(link, call);
    }
    return ST_OK;
}

void http_call_cancel(struct http_call *call)
{
    struct http_link *link = call->on;
    if (link != NULL) {
        link->call = NULL;
        call->on = NULL;
        http_link_close(link);
    }
    call_free(call);
}

void http_call_pause(struct http_call *call)
{
    if (call->on != NULL) {
        http_link_set_paused(call->on, true);
    }
}

void http_call_resume(struct http_call *call)
{
    if (call->on != NULL) {
        http_link_set_paused(call->on, false);
    }
}

bool http_call_is_sent(const struct http_call *call)
{
    return call->sent_bytes == call->total_bytes && call->on != NULL && call->on->has_bytes;
}
