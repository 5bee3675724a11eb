/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/models.h"

#include "bench/replay/stream.h"
#include "common/base/json.h"

/* A gateway that has just started names its models when its engines have told it. */
enum { EMPTY_TRIES_MAX = 100, EMPTY_PAUSE_US = 100000 };

struct models {
    struct loop *loop;
    struct http_endpoint *endpoint;
    struct http_call *call; /* NULL while it pauses */
    struct loop_timer timer;
    uint32_t tries;
    struct buf head;
    struct buf body;
    models_done_fn done;
    void *ctx;
    struct loop_grave grave;
    int status;
};

static void bury(struct loop_grave *grave)
{
    struct models *models = LIST_OWNER(grave, struct models, grave);
    buf_fini(&models->head);
    buf_fini(&models->body);
    mem_free(mem_heap(), models, sizeof(*models));
}

static void finish(struct models *models, const char *name, const struct err *err)
{
    models_done_fn done = models->done;
    void *ctx = models->ctx;
    loop_bury(models->loop, &models->grave);
    done(ctx, name, err);
}

static void on_head(void *ctx, const struct http_head *head, int64_t content_length)
{
    struct models *models = ctx;
    (void)content_length;
    models->status = head->status;
}

/* An empty list is asked for again for a while. */
static bool try_again(struct models *models)
{
    models->tries++;
    return models->tries < EMPTY_TRIES_MAX &&
           loop_timer_set(models->loop, &models->timer,
                          loop_now_us(models->loop) + EMPTY_PAUSE_US) == ST_OK;
}

static void read_answer(struct models *models)
{
    struct err err = {0};
    char name[MODELS_NAME_BYTES] = "";
    yyjson_doc *doc =
        models->body.len == 0 ? NULL : yyjson_read(models->body.p, models->body.len, 0);
    yyjson_val *data = yyjson_obj_get(yyjson_doc_get_root(doc), "data");
    struct str id = {NULL, 0};
    if (models->status == 200 && yyjson_is_arr(data) && yyjson_arr_size(data) == 0 &&
        try_again(models)) {
        yyjson_doc_free(doc);
        return;
    }
    if (models->status != 200) {
        char text[STREAM_ERROR_BYTES];
        stream_error_text(buf_str(&models->body), text);
        status_ignore(err_set(&err, ST_IO, "/v1/models: status %d: %s", models->status, text),
                      "passed on");
    } else if (!json_get_str(yyjson_arr_get_first(data), "id", &id) || id.len == 0 ||
               id.len >= sizeof(name)) {
        status_ignore(
            err_set(&err, ST_NOTFOUND, "/v1/models names no model; give one with --model"),
            "passed on");
    } else {
        (void)str_copy(name, sizeof(name), id);
    }
    yyjson_doc_free(doc);
    finish(models, name, &err);
}

static void on_data(void *ctx, const struct iovec *iov, int n, bool is_last)
{
    struct models *models = ctx;
    for (int i = 0; i < n; i++) {
        status_ignore(buf_add(&models->body, iov[i].iov_base, iov[i].iov_len),
                      "a cut body is no JSON");
    }
    if (is_last) {
        models->call = NULL;
        read_answer(models);
    }
}

static void on_fail(void *ctx, enum http_fail why)
{
    struct err err = {0};
    bool is_connect =
        why == HTTP_FAIL_RESOLVE || why == HTTP_FAIL_CONNECT || why == HTTP_FAIL_CONNECT_TIMEOUT;
    status_ignore(
        err_set(&err, ST_IO, is_connect ? "cannot connect" : "no usable answer to GET /v1/models"),
        "passed on");
    finish(ctx, "", &err);
}

static const struct http_call_ops call_ops = {on_head, on_data, on_fail};

static enum status call(struct models *models)
{
    struct http_request req = {.head = buf_str(&models->head)};
    models->body.len = 0;
    return http_call_start(models->endpoint, &req, &call_ops, models, &models->call);
}

static void pause_over(struct loop_timer *timer)
{
    struct models *models = LIST_OWNER(timer, struct models, timer);
    if (call(models) != ST_OK) {
        on_fail(models, HTTP_FAIL_NO_FD);
    }
}

static enum status
make_head(struct models *models, struct http_endpoint *endpoint, const char *api_key)
{
    struct str prefix = http_endpoint_prefix(endpoint);
    struct str host = http_endpoint_host(endpoint);
    bool has_v1 = prefix.len >= 3 && memcmp(prefix.p + prefix.len - 3, "/v1", 3) == 0;
    enum status st = buf_add_fmt(
        &models->head, "GET %.*s%s/models HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: saga-bench\r\n",
        (int)prefix.len, prefix.p, has_v1 ? "" : "/v1", (int)host.len, host.p);
    if (st == ST_OK && api_key != NULL) {
        st = buf_add_fmt(&models->head, "Authorization: Bearer %s\r\n", api_key);
    }
    return st == ST_OK ? buf_add_str(&models->head, STR("\r\n")) : st;
}

enum status models_ask(struct http_endpoint *endpoint,
                       struct loop *loop,
                       const char *api_key,
                       models_done_fn done,
                       void *ctx,
                       struct models **ret)
{
    struct models *models = mem_calloc(mem_heap(), 1, sizeof(*models));
    if (models == NULL) {
        return ST_NOMEM;
    }
    models->loop = loop;
    models->endpoint = endpoint;
    models->timer.fn = pause_over;
    models->done = done;
    models->ctx = ctx;
    models->grave.fn = bury;
    buf_init(&models->head, mem_heap(), 8192);
    buf_init(&models->body, mem_heap(), MODELS_BODY_MAX);
    enum status st = make_head(models, endpoint, api_key);
    if (st == ST_OK) {
        st = call(models);
    }
    if (st != ST_OK) {
        bury(&models->grave);
        return st;
    }
    *ret = models;
    return ST_OK;
}

void models_cancel(struct models *models)
{
    if (models != NULL) {
        loop_timer_cancel(models->loop, &models->timer);
        if (models->call != NULL) {
            http_call_cancel(models->call);
        }
        loop_bury(models->loop, &models->grave);
    }
}
