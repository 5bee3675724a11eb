/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/rig.h"

#include <stdio.h>

enum { BODY_MAX = 64 << 20 };

struct http_client_limits rig_client_limits(void)
{
    return (struct http_client_limits){
        .header_bytes = 8192,
        .connect_timeout_us = RIG_NEVER_US,
        .first_byte_timeout_us = RIG_NEVER_US,
        .idle_timeout_us = RIG_NEVER_US,
        .keepalive_idle_us = RIG_NEVER_US,
        .pool_idle_max = 4,
    };
}

struct http_client *rig_client(struct loop *loop, const struct http_client_limits *limits)
{
    struct http_client_limits usual = rig_client_limits();
    struct http_client *client = NULL;
    assert_status(http_client_new(&client, loop, limits != NULL ? limits : &usual), ST_OK);
    return client;
}

struct http_endpoint *rig_endpoint(struct http_client *client, const struct net_addr *addr)
{
    char text[NET_ADDR_TEXT_BYTES];
    char url[NET_ADDR_TEXT_BYTES + 8];
    struct http_endpoint *ep = NULL;
    struct err err = {0};
    net_addr_text(addr, text);
    snprintf(url, sizeof(url), "http://%s", text);
    assert_status(http_endpoint_new(&ep, client, str_of(url), NULL, &err), ST_OK);
    return ep;
}

static void on_head(void *ctx, const struct http_head *head, int64_t content_length)
{
    struct rig_call *rec = ctx;
    assert_int_equal(rec->fail_count + rec->last_count, 0);
    rec->head_count++;
    rec->status = head->status;
    rec->content_length = content_length;
    if (rec->on_head != NULL) {
        rec->on_head(rec);
    }
}

static void on_data(void *ctx, const struct iovec *iov, int n, bool is_last)
{
    struct rig_call *rec = ctx;
    size_t len = 0;
    assert_int_equal(rec->fail_count + rec->last_count, 0);
    assert_int_equal(rec->head_count, 1);
    for (int i = 0; i < n; i++) {
        assert_status(buf_add(&rec->body, iov[i].iov_base, iov[i].iov_len), ST_OK);
        len += iov[i].iov_len;
    }
    rec->data_count++;
    rec->largest_piece = len > rec->largest_piece ? len : rec->largest_piece;
    if (is_last) {
        rec->last_count++;
        rec->call = NULL;
    }
    if (rec->on_data != NULL) {
        rec->on_data(rec);
    }
    if (is_last && rec->on_over != NULL) {
        rec->on_over(rec);
    }
}

static void on_fail(void *ctx, enum http_fail why)
{
    struct rig_call *rec = ctx;
    assert_int_equal(rec->fail_count + rec->last_count, 0);
    rec->fail_count++;
    rec->why = why;
    rec->call = NULL;
    if (rec->on_over != NULL) {
        rec->on_over(rec);
    }
}

void rig_call_start(struct rig_call *rec,
                    struct loop *loop,
                    struct http_endpoint *ep,
                    const struct http_request *req)
{
    static const struct http_call_ops ops = {
        .on_head = on_head, .on_data = on_data, .on_fail = on_fail};
    rec->loop = loop;
    buf_init(&rec->body, mem_heap(), BODY_MAX);
    assert_status(http_call_start(ep, req, &ops, rec, &rec->call), ST_OK);
    assert_int_equal(rec->head_count + rec->fail_count + rec->last_count, 0);
}

void rig_call_get(struct rig_call *rec, struct loop *loop, struct http_endpoint *ep)
{
    struct http_request req = {.head = STR("GET /x HTTP/1.1\r\nhost: a\r\n\r\n")};
    rig_call_start(rec, loop, ep, &req);
}

void rig_call_post(
    struct rig_call *rec, struct loop *loop, struct http_endpoint *ep, const char *body, size_t len)
{
    static char head[8][96]; /* borrowed by the call until it is over */
    static unsigned turn;
    char *text = head[turn++ % 8];
    snprintf(text, sizeof(head[0]), "POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: %zu\r\n\r\n",
             len);
    struct http_request req = {.head = str_of(text), .body_count = 1};
    req.body[0] = (struct iovec){(void *)(uintptr_t)body, len};
    rig_call_start(rec, loop, ep, &req);
}

bool rig_call_is_over(const struct rig_call *rec)
{
    return rec->last_count + rec->fail_count > 0;
}

bool rig_call_body_is(const struct rig_call *rec, const char *text)
{
    return str_eq(buf_str(&rec->body), str_of(text));
}

void rig_call_done(struct rig_call *rec)
{
    if (rec->call != NULL) {
        http_call_cancel(rec->call);
        rec->call = NULL;
    }
    buf_fini(&rec->body);
}
