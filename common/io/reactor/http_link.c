/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. connect (and TLS); 2. send head and body as the socket takes them; 3. read: one
 * read is parsed whole, its body pieces go up in one on_data; 4. complete: the connection returns
 * to the endpoint's idle list, newest first. Failures: refused or too slow to connect; closed
 * before the head (a used connection: replayed once by http_call); cut inside the body; silent for
 * too long; not HTTP. While our request is still being sent, a peer that takes no more may already
 * have answered: the answer is read before the call is failed. */
#include "common/io/reactor/http_upstream.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { INTERIM_MAX = 16, STATUS_SWITCHING = 101 };

static void link_bury(struct loop_grave *grave)
{
    struct http_link *link = LIST_OWNER(grave, struct http_link, grave);
    http_parser_fini(&link->parser);
    free(link);
}

void http_link_close(struct http_link *link)
{
    if (link->state == LINK_CLOSED) {
        return;
    }
    struct http_endpoint *ep = link->ep;
    struct http_client *client = ep->client;
    if (link->state == LINK_IDLE) {
        list_remove(&link->idle_link);
        ep->idle_count--;
    }
    link->state = LINK_CLOSED;
    loop_forget(&link->src);
    loop_timer_cancel(client->loop, &link->timer);
    wire_close(&link->wire);
    list_remove(&link->link);
    client->counters.open_connections--;
    link->ep = NULL;
    http_endpoint_unref(ep);
    loop_bury(client->loop, &link->grave);
}

static void link_deadline(struct http_link *link, uint64_t delay_us)
{
    struct loop *loop = link->ep->client->loop;
    link->deadline_us = loop_now_us(loop) + delay_us;
    bool is_set = heap_node_is_linked(&link->timer.node);
    if (is_set && link->timer.node.key <= link->deadline_us) {
        return; /* the timer looks at deadline_us when it fires */
    }
    status_ignore(loop_timer_set(loop, &link->timer, link->deadline_us),
                  "out of memory: no time-out on this connection");
}

static void link_timeout(struct loop_timer *timer)
{
    struct http_link *link = LIST_OWNER(timer, struct http_link, timer);
    struct loop *loop = link->ep->client->loop;
    if (link->deadline_us == 0) {
        return;
    }
    if (loop_now_us(loop) < link->deadline_us) {
        status_ignore(loop_timer_set(loop, &link->timer, link->deadline_us),
                      "the timer was just in the heap");
        return;
    }
    if (link->call == NULL) {
        http_link_close(link);
        return;
    }
    enum http_fail why = HTTP_FAIL_IDLE_TIMEOUT;
    if (link->state != LINK_BUSY) {
        why = HTTP_FAIL_CONNECT_TIMEOUT;
    } else if (!link->call->is_head_seen) {
        why = HTTP_FAIL_FIRST_BYTE_TIMEOUT;
    }
    link->call->broken(link->call, why);
}

/* Makes the connection free for the next call, or closes it. */
static void link_release(struct http_link *link, bool is_reusable)
{
    struct http_endpoint *ep = link->ep;
    link->call = NULL;
    if (!is_reusable || ep->is_released || ep->idle_count >= ep->client->limits.pool_idle_max ||
        wire_has_pending(&link->wire) || loop_arm(ep->client->loop, &link->src, EPOLLIN) != ST_OK) {
        http_link_close(link);
        return;
    }
    link->is_paused = false;
    link->state = LINK_IDLE;
    link->was_used = true;
    http_parser_next(&link->parser);
    list_push_front(&ep->idle, &link->idle_link);
    ep->idle_count++;
    link_deadline(link, ep->client->limits.keepalive_idle_us);
}

static bool on_head(struct http_parser *parser)
{
    struct http_link *link = LIST_OWNER(parser, struct http_link, parser);
    struct http_call *call = link->call;
    if (parser->head.status < 200) {
        link->interim_count++;
        return parser->head.status != STATUS_SWITCHING && link->interim_count <= INTERIM_MAX;
    }
    call->is_head_seen = true;
    call->ops->on_head(call->ctx, &parser->head, http_parser_content_length(parser));
    return link->call == call; /* cancelled inside: stop */
}

static void on_body(struct http_parser *parser, const char *data, size_t len)
{
    struct http_link *link = LIST_OWNER(parser, struct http_link, parser);
    if (link->state == LINK_CLOSED || link->call == NULL) {
        return;
    }
    struct http_client *client = link->ep->client;
    if (client->span_count == HTTP_SPANS_MAX) {
        client->span_count = 0;
        link->call->ops->on_data(link->call->ctx, client->spans, HTTP_SPANS_MAX, false);
        if (link->state == LINK_CLOSED) {
            return;
        }
    }
    client->spans[client->span_count++] = (struct iovec){(void *)(uintptr_t)data, len};
}

static const struct http_parser_ops *parser_ops(void)
{
    static const struct http_parser_ops ops = {.on_head = on_head, .on_body = on_body};
    return &ops;
}

/* Hands up the body pieces of one read. The call is over when is_last. */
static void deliver(struct http_link *link, bool is_last, bool is_reusable)
{
    struct http_client *client = link->ep->client;
    struct http_call *call = link->call;
    int count = client->span_count;
    client->span_count = 0;
    if (!is_last) {
        if (count > 0) {
            call->ops->on_data(call->ctx, client->spans, count, false);
        }
        return;
    }
    const struct http_call_ops *ops = call->ops;
    void *ctx = call->ctx;
    bool is_sent = call->sent_bytes == call->total_bytes;
    link_release(link, is_reusable && is_sent);
    call->on = NULL;
    call->release(call);
    ops->on_data(ctx, client->spans, count, true);
}

/* Parses one read. */
static void link_feed(struct http_link *link, const char *data, size_t len)
{
    struct http_client *client = link->ep->client;
    client->span_count = 0;
    while (len > 0 && link->state == LINK_BUSY) {
        size_t used = http_parser_feed(&link->parser, data, len);
        if (link->state == LINK_CLOSED) {
            return; /* cancelled by a callback */
        }
        if (link->parser.error != HTTP_PARSE_OK) {
            bool has_head = link->call->is_head_seen;
            deliver(link, false, false);
            if (link->state != LINK_CLOSED) {
                link->call->broken(link->call, has_head ? HTTP_FAIL_CUT : HTTP_FAIL_MALFORMED);
            }
            return;
        }
        data += used;
        len -= used;
        if (!link->parser.is_complete) {
            deliver(link, false, false);
            return;
        }
        if (link->parser.head.status < 200) {
            http_parser_next(&link->parser);
            continue;
        }
        deliver(link, true, link->parser.keeps_alive && len == 0);
        return;
    }
}

/* The peer ended (or the connection broke: then a body that ends with the connection is not whole).
 */
static void link_eof(struct http_link *link, bool is_broken)
{
    link->ep->client->span_count = 0;
    if (link->call == NULL) {
        http_link_close(link);
        return;
    }
    bool has_head = link->call->is_head_seen;
    if (has_head && !is_broken && http_parser_eof(&link->parser) == HTTP_PARSE_OK) {
        deliver(link, true, false);
        return;
    }
    link->call->broken(link->call, has_head ? HTTP_FAIL_CUT : HTTP_FAIL_CLOSED);
}

static void link_read(struct http_link *link)
{
    struct http_client *client = link->ep->client;
    do {
        char *scratch = loop_scratch(client->loop);
        ssize_t got = wire_read(&link->wire, scratch, LOOP_SCRATCH_BYTES);
        if (got == WIRE_AGAIN) {
            return;
        }
        if (got <= 0 || link->state == LINK_IDLE) {
            link_eof(link,
                     got < 0); /* an idle connection has nothing to say: whatever comes ends it */
            return;
        }
        link->has_bytes = true;
        link_deadline(link, client->limits.idle_timeout_us);
        link_feed(link, scratch, (size_t)got);
    } while (link->state == LINK_BUSY && !link->is_paused && wire_has_pending(&link->wire));
}

static void arm(struct http_link *link, uint32_t events)
{
    if (link->is_paused) {
        loop_disarm(link->ep->client->loop, &link->src);
        return;
    }
    status_ignore(loop_arm(link->ep->client->loop, &link->src, events),
                  "only fails for want of memory; the time-out ends the call");
}

/* Fills iov with what is left of head and body; returns the count. */
static int rest_of_request(const struct http_call *call, struct iovec iov[5])
{
    size_t skip = call->sent_bytes;
    int count = 0;
    for (int i = -1; i < call->req.body_count; i++) {
        struct iovec part =
            i < 0 ? (struct iovec){(void *)(uintptr_t)call->req.head.p, call->req.head.len}
                  : call->req.body[i];
        if (skip >= part.iov_len) {
            skip -= part.iov_len;
            continue;
        }
        iov[count++] = (struct iovec){(char *)part.iov_base + skip, part.iov_len - skip};
        skip = 0;
    }
    return count;
}

static void link_send(struct http_link *link)
{
    struct http_call *call = link->call;
    const struct http_client_limits *limits = &link->ep->client->limits;
    while (call->sent_bytes < call->total_bytes && !call->is_write_dead) {
        struct iovec iov[5];
        int count = rest_of_request(call, iov);
        ssize_t put = wire_writev(&link->wire, iov, count);
        if (put == WIRE_AGAIN) {
            arm(link, EPOLLIN | EPOLLOUT);
            link_deadline(link, limits->idle_timeout_us);
            return;
        }
        if (put < 0) {
            call->is_write_dead = true; /* reading will tell why, or bring an early answer */
            break;
        }
        call->sent_bytes += (size_t)put;
    }
    arm(link, EPOLLIN);
    if (!link->has_bytes) {
        link_deadline(link, call->req.first_byte_timeout_us != 0 ? call->req.first_byte_timeout_us
                                                                 : limits->first_byte_timeout_us);
    }
}

static void link_start(struct http_link *link)
{
    link->state = LINK_BUSY;
    link_send(link);
}

static void link_shake(struct http_link *link)
{
    uint32_t events = 0;
    enum status st = wire_handshake(&link->wire, &events);
    if (st == ST_OK) {
        link_start(link);
    } else if (st == ST_AGAIN) {
        arm(link, events);
    } else {
        link->call->broken(link->call, HTTP_FAIL_CONNECT);
    }
}

static void link_connected(struct http_link *link)
{
    int reason = 0;
    socklen_t len = sizeof(reason);
    if (getsockopt(link->src.fd, SOL_SOCKET, SO_ERROR, &reason, &len) != 0 || reason != 0) {
        link->call->broken(link->call, HTTP_FAIL_CONNECT);
        return;
    }
    if (link->wire.tls != NULL) {
        link->state = LINK_HANDSHAKE;
        link_shake(link);
    } else {
        link_start(link);
    }
}

static void link_ready(struct loop_source *src, uint32_t events)
{
    struct http_link *link = LIST_OWNER(src, struct http_link, src);
    if (link->state == LINK_CONNECT) {
        link_connected(link);
        return;
    }
    if (link->state == LINK_HANDSHAKE) {
        link_shake(link);
        return;
    }
    if ((events & EPOLLOUT) != 0 && link->state == LINK_BUSY) {
        link_send(link);
    }
    if (link->state != LINK_CLOSED &&
        (events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) {
        link_read(link);
    }
}

enum status
http_link_open(struct http_call *call, const struct net_addr *addr, enum http_fail *ret_why)
{
    struct http_endpoint *ep = call->ep;
    struct http_client *client = ep->client;
    int fd = -1;
    int reason = 0;
    enum status st = net_connect(addr, &fd, &reason);
    if (st != ST_OK) {
        *ret_why = st == ST_FULL ? HTTP_FAIL_NO_FD : HTTP_FAIL_CONNECT;
        return st;
    }
    struct http_link *link = calloc(1, sizeof(*link));
    if (link == NULL || wire_open(&link->wire, fd, ep->tls, ep->host_name) != ST_OK) {
        free(link);
        close(fd);
        *ret_why = HTTP_FAIL_NO_FD;
        return ST_NOMEM;
    }
    link->ep = ep;
    link->call = call;
    link->src.fd = fd;
    link->src.fn = link_ready;
    link->timer.fn = link_timeout;
    link->grave.fn = link_bury;
    http_parser_init(&link->parser, true, parser_ops());
    http_parser_set_limits(&link->parser, client->limits.header_bytes, 256);
    link->parser.is_head_request = call->req.is_head;
    ep->refs++;
    list_push_back(&client->links, &link->link);
    client->counters.connect_count++;
    client->counters.open_connections++;
    call->on = link;
    link->state = LINK_CONNECT;
    if (loop_arm(client->loop, &link->src, EPOLLOUT) != ST_OK) {
        link->call = NULL;
        call->on = NULL;
        http_link_close(link);
        *ret_why = HTTP_FAIL_NO_FD;
        return ST_NOMEM;
    }
    link_deadline(link, client->limits.connect_timeout_us);
    return ST_OK;
}

void http_link_reuse(struct http_link *link, struct http_call *call)
{
    list_remove(&link->idle_link);
    link->ep->idle_count--;
    link->call = call;
    call->on = link;
    link->has_bytes = false;
    link->interim_count = 0;
    link->parser.is_head_request = call->req.is_head;
    link_start(link);
}

void http_link_set_paused(struct http_link *link, bool is_paused)
{
    if (link->is_paused == is_paused || link->state != LINK_BUSY) {
        return;
    }
    link->is_paused = is_paused;
    if (is_paused) {
        link->deadline_us = 0;
        loop_disarm(link->ep->client->loop, &link->src);
        return;
    }
    bool is_sending =
        link->call->sent_bytes < link->call->total_bytes && !link->call->is_write_dead;
    arm(link, is_sending ? EPOLLIN | EPOLLOUT : EPOLLIN);
    link_deadline(link, link->ep->client->limits.idle_timeout_us);
}
