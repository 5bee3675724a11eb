/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. /health answers 2xx; 2. /v1/models is read: ids, owner -> kind; 3. PROBED(up).
 * Failures: no answer in time, or a status >= 500 -> PROBED(down). A server without /health (404,
 * 405) is judged by /v1/models. A models list that cannot be read leaves the models as they were.
 */
#include "coordinator/io/probe.h"

#include "common/base/json.h"
#include "common/rt/log.h"

#include <stdio.h>

enum { PROBE_BODY_MAX = 1048576, PROBE_MODELS_MAX = 256, PROBE_HEAD_BYTES = 4096 };

enum probe_phase { PROBE_HEALTH, PROBE_MODELS, PROBE_VERSION };

struct probe {
    struct list link;
    struct loop_timer timer;
    struct front *front;
    struct engine_id engine;
    struct http_call *call;
    struct buf body;
    enum probe_phase phase;
    enum coord_engine_kind kind;
    int status;
    bool wants_models;
    bool is_up;
    bool has_models;
    uint32_t model_count;
    struct str models[PROBE_MODELS_MAX];
    yyjson_doc *doc; /* owns the models' text */
    char head[PROBE_HEAD_BYTES];
};

static void ask(struct probe *probe, enum probe_phase phase, const char *path);

static void probe_free(struct probe *probe)
{
    loop_timer_cancel(probe->front->loop, &probe->timer);
    if (probe->call != NULL) {
        http_call_cancel(probe->call);
    }
    list_remove(&probe->link);
    yyjson_doc_free(probe->doc);
    buf_fini(&probe->body);
    mem_free(mem_heap(), probe, sizeof(*probe));
}

static void finish(struct probe *probe)
{
    struct front *front = probe->front;
    struct fleet_engine *engine = fleet_io_find(&front->fleet, probe->engine);
    if (engine != NULL) {
        enum coord_engine_kind kind = engine->is_kind_fixed ? engine->kind : probe->kind;
        struct coord_event ev = {.kind = COORD_EV_ENGINE_PROBED};
        ev.u.engine_probed = (struct coord_engine_probed){
            .engine = probe->engine,
            .is_up = probe->is_up,
            .kind = kind,
            .models = probe->has_models ? probe->models : NULL,
            .model_count = probe->model_count,
        };
        front->port.post(front->port.ctx, &ev);
    }
    probe_free(probe);
}

static enum coord_engine_kind kind_of_owner(struct str owner)
{
    static const struct {
        const char *owner;
        enum coord_engine_kind kind;
    } owners[] = {{"vllm", COORD_ENGINE_VLLM},
                  {"sglang", COORD_ENGINE_SGLANG},
                  {"llamacpp", COORD_ENGINE_LLAMACPP},
                  {"tensorrt_llm", COORD_ENGINE_TRTLLM},
                  {"saga", COORD_ENGINE_SIM}};
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        if (str_istarts(owner, str_of(owners[i].owner))) {
            return owners[i].kind;
        }
    }
    return COORD_ENGINE_UNKNOWN;
}

static void read_models(struct probe *probe)
{
    yyjson_doc_free(probe->doc);
    probe->doc = yyjson_read(probe->body.p, probe->body.len, 0);
    yyjson_val *data = yyjson_obj_get(yyjson_doc_get_root(probe->doc), "data");
    if (!yyjson_is_arr(data)) {
        return;
    }
    probe->has_models = true;
    probe->model_count = 0;
    size_t idx = 0;
    size_t max = 0;
    yyjson_val *model = NULL;
    yyjson_arr_foreach(data, idx, max, model)
    {
        struct str id = {0};
        struct str owner = {0};
        if (probe->model_count < PROBE_MODELS_MAX && json_get_str(model, "id", &id) && id.len > 0 &&
            id.len <= COORD_MODEL_MAX) {
            probe->models[probe->model_count++] = id;
        }
        if (probe->kind == COORD_ENGINE_UNKNOWN && json_get_str(model, "owned_by", &owner)) {
            probe->kind = kind_of_owner(owner);
        }
    }
}

static void answered(struct probe *probe)
{
    bool is_ok = probe->status >= 200 && probe->status < 300;
    switch (probe->phase) {
    case PROBE_HEALTH:
        probe->is_up = is_ok;
        if ((is_ok && probe->wants_models) || probe->status == 404 || probe->status == 405) {
            ask(probe, PROBE_MODELS, "/v1/models");
            return;
        }
        break;
    case PROBE_MODELS:
        if (is_ok) {
            probe->is_up = true;
            read_models(probe);
        }
        if (probe->is_up && probe->kind == COORD_ENGINE_UNKNOWN && probe->wants_models) {
            ask(probe, PROBE_VERSION, "/version");
            return;
        }
        break;
    case PROBE_VERSION:
        /* of the servers known, only vLLM has /version and names no owner of its own when models
         * are renamed */
        probe->kind = is_ok ? COORD_ENGINE_VLLM : COORD_ENGINE_OPENAI;
        break;
    }
    finish(probe);
}

static void on_head(void *ctx, const struct http_head *head, int64_t content_length)
{
    struct probe *probe = ctx;
    (void)content_length;
    probe->status = head->status;
}

static void on_data(void *ctx, const struct iovec *iov, int n, bool is_last)
{
    struct probe *probe = ctx;
    for (int i = 0; i < n; i++) {
        if (buf_add(&probe->body, iov[i].iov_base, iov[i].iov_len) != ST_OK) {
            if (!is_last) {
                http_call_cancel(probe->call);
            }
            probe->call = NULL;
            finish(probe);
            return;
        }
    }
    if (is_last) {
        probe->call = NULL;
        answered(probe);
    }
}

static void on_fail(void *ctx, enum http_fail why)
{
    struct probe *probe = ctx;
    (void)why;
    probe->call = NULL;
    if (probe->phase == PROBE_HEALTH) {
        probe->is_up = false;
    }
    finish(probe);
}

static const struct http_call_ops *call_ops(void)
{
    static const struct http_call_ops ops = {
        .on_head = on_head, .on_data = on_data, .on_fail = on_fail};
    return &ops;
}

static void ask(struct probe *probe, enum probe_phase phase, const char *path)
{
    const struct fleet_engine *engine = fleet_io_find(&probe->front->fleet, probe->engine);
    probe->phase = phase;
    probe->body.len = 0;
    probe->status = 0;
    if (engine == NULL) {
        finish(probe);
        return;
    }
    struct str prefix = http_endpoint_prefix(engine->ep);
    struct str host = http_endpoint_host(engine->ep);
    bool has_key = engine->key[0] != '\0';
    int len = snprintf(probe->head, sizeof(probe->head),
                       "GET %.*s%s HTTP/1.1\r\nhost: %.*s\r\n%s%s%s\r\n", (int)prefix.len, prefix.p,
                       path, (int)host.len, host.p, has_key ? "authorization: Bearer " : "",
                       engine->key, has_key ? "\r\n" : "");
    struct http_request req = {.head = {probe->head, (size_t)len}};
    bool fits = len > 0 && (size_t)len < sizeof(probe->head);
    if (!fits || http_call_start(engine->ep, &req, call_ops(), probe, &probe->call) != ST_OK) {
        finish(probe);
    }
}

static void probe_late(struct loop_timer *timer)
{
    struct probe *probe = LIST_OWNER(timer, struct probe, timer);
    if (probe->phase == PROBE_HEALTH) {
        probe->is_up = false;
    }
    finish(probe);
}

void probe_start(struct front *front, struct engine_id engine, bool wants_models)
{
    LIST_FOR_EACH(it, &front->probes)
    {
        if (LIST_OWNER(it, struct probe, link)->engine.v == engine.v) {
            return;
        }
    }
    struct probe *probe = mem_calloc(mem_heap(), 1, sizeof(*probe));
    if (probe == NULL) {
        return;
    }
    probe->front = front;
    probe->engine = engine;
    probe->wants_models = wants_models;
    probe->timer.fn = probe_late;
    buf_init(&probe->body, mem_heap(), PROBE_BODY_MAX);
    list_push_back(&front->probes, &probe->link);
    uint64_t late_us = loop_now_us(front->loop) + front->cfg->health_timeout_ms * 1000;
    if (loop_timer_set(front->loop, &probe->timer, late_us) != ST_OK) {
        probe_free(probe);
        return;
    }
    ask(probe, PROBE_HEALTH, "/health");
}

void probe_stop_all(struct front *front)
{
    while (!list_is_empty(&front->probes)) {
        probe_free(LIST_OWNER(list_first(&front->probes), struct probe, link));
    }
}
