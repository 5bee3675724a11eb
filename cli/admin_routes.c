/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: health and readiness from published atomics; everything else is a question to the
 * core, answered by ticket from the core's thread. Failures: a core that has not ticked for 2 s
 * fails /health; a full mailbox is 503. */
#include "cli/admin_routes.h"

#include "common/base/json.h"
#include "common/io/admin/admin.h"
#include "common/rt/clock.h"
#include "common/rt/config_read.h"
#include "common/rt/metric.h"
#include "common/rt/secret.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { TICK_LATE_US = 2000000 };

/* One server per process: the handlers' context. */
struct admin_ctx {
    struct hub *hub;
    _Atomic(struct admin *)
        admin; /* set once admin_start has returned; its thread runs a little earlier */
};

/* A question on its way. */
struct pending {
    struct admin *admin;
    struct admin_ticket ticket;
    enum hub_ask_kind kind;
    const char *content_type; /* of the answer; NULL = JSON */
};

static void fill_error(struct admin_resp *resp, enum status st, const struct err *err)
{
    const char *text = err->text[0] != '\0' ? err->text : status_text(st);
    admin_resp_error(resp, status_http(st), status_name(st), "%s", text);
}

static void done(void *ctx, enum status st, const struct err *err, struct buf *out)
{
    struct pending *pending = ctx;
    struct admin_resp resp;
    if (st == ST_CLOSED) {
        mem_free(mem_heap(), pending, sizeof(*pending));
        return;
    }
    admin_resp_init(&resp);
    if (st != ST_OK) {
        fill_error(&resp, st, err);
    } else if (pending->kind == HUB_ASK_METRICS) {
        resp.content_type = "text/plain; version=0.0.4; charset=utf-8";
        st = metric_render(&resp.body);
    } else if (out->len > 0) {
        resp.content_type =
            pending->content_type != NULL ? pending->content_type : resp.content_type;
        st = buf_add_str(&resp.body, buf_str(out));
    } else {
        st = buf_add_str(&resp.body, STR("{\"ok\":true}"));
    }
    if (st != ST_OK && resp.status == 200) {
        fill_error(&resp, st, err);
    }
    admin_answer(pending->admin, pending->ticket, &resp);
    mem_free(mem_heap(), pending, sizeof(*pending));
}

/* What an answer is, when it is not JSON. */
static const char *content_type_of(const struct hub_question *question)
{
    if (question->kind != HUB_ASK_SESSION || question->format == COORD_SESSION_JSON) {
        return NULL;
    }
    return question->format == COORD_SESSION_SVG ? "image/svg+xml" : "text/vnd.graphviz";
}

/* Takes over the question's workflow. */
static enum admin_verdict ask(struct admin_ctx *ctx,
                              const struct admin_req *req,
                              const struct hub_question *question,
                              struct admin_resp *resp)
{
    struct err err = {0};
    struct admin *admin = atomic_load(&ctx->admin);
    if (admin == NULL) {
        workflow_doc_free(question->workflow);
        fill_error(resp, ST_BUSY, &err);
        return ADMIN_NOW;
    }
    struct pending *pending = mem_calloc(mem_heap(), 1, sizeof(*pending));
    enum status st = pending == NULL ? ST_NOMEM : ST_OK;
    if (st == ST_OK) {
        *pending = (struct pending){.admin = admin,
                                    .ticket = req->ticket,
                                    .kind = question->kind,
                                    .content_type = content_type_of(question)};
        st = hub_ask(ctx->hub, question, done, pending, &err);
    } else {
        workflow_doc_free(question->workflow);
    }
    if (st != ST_OK) {
        mem_free(mem_heap(), pending, sizeof(*pending));
        fill_error(resp, st, &err);
        return ADMIN_NOW;
    }
    return ADMIN_LATER;
}

static enum admin_verdict on_health(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    const struct admin_ctx *admin = ctx;
    (void)req;
    if (clock_now_us() - hub_ticked_at_us(admin->hub) > TICK_LATE_US) {
        admin_resp_error(resp, 503, "stalled", "the core has not ticked for 2 s");
    } else if (buf_add_str(&resp->body, STR("{\"status\":\"ok\"}")) != ST_OK) {
        resp->status = 503;
    }
    return ADMIN_NOW;
}

static enum admin_verdict on_ready(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    const struct admin_ctx *admin = ctx;
    (void)req;
    if (!hub_is_ready(admin->hub)) {
        admin_resp_error(resp, 503, "not_ready", "no engine is up yet");
    } else if (buf_add_str(&resp->body, STR("{\"status\":\"ready\"}")) != ST_OK) {
        resp->status = 503;
    }
    return ADMIN_NOW;
}

static enum admin_verdict
on_metrics(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_METRICS};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict on_status(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_STATUS};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_engines(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_ENGINES};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_sessions(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_SESSIONS};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_session(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    static const struct {
        const char *name;
        enum coord_session_format format;
    } formats[] = {{"", COORD_SESSION_JSON},
                   {"json", COORD_SESSION_JSON},
                   {"dot", COORD_SESSION_DOT},
                   {"svg", COORD_SESSION_SVG}};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (str_eq(req->format, str_of(formats[i].name))) {
            struct hub_question question = {
                .kind = HUB_ASK_SESSION, .text = req->tail, .format = formats[i].format};
            return ask(ctx, req, &question, resp);
        }
    }
    admin_resp_error(resp, 400, "invalid", "format must be json, dot or svg");
    return ADMIN_NOW;
}

static enum admin_verdict
on_release(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_RELEASE, .text = req->tail};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_workflows(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_WORKFLOWS};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_workflow(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_WORKFLOW, .text = req->tail};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_declare(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct err err = {0};
    struct hub_question question = {.kind = HUB_ASK_DECLARE};
    enum status st = workflow_read(&question.workflow, mem_heap(), req->body, &err);
    if (st != ST_OK) {
        fill_error(resp, st, &err);
        return ADMIN_NOW;
    }
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_drop_workflow(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_DROP_WORKFLOW, .text = req->tail};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict
on_receipt(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_RECEIPT, .text = req->tail};
    return ask(ctx, req, &question, resp);
}

static enum admin_verdict on_remove(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct hub_question question = {.kind = HUB_ASK_REMOVE_ENGINE, .text = req->tail};
    return ask(ctx, req, &question, resp);
}

/* Main drains and exits. */
static enum admin_verdict on_drain(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    (void)req;
    if (kill(getpid(), SIGUSR1) != 0 ||
        buf_add_str(&resp->body, STR("{\"status\":\"draining\"}")) != ST_OK) {
        admin_resp_error(resp, 500, "internal", "cannot drain");
    }
    return ADMIN_NOW;
}

/* {"url": "...", "name": "..."}; checked as the configuration is. */
static enum status read_engine(yyjson_val *root, char url[1025], char name[64], struct err *err)
{
    struct str text = {0};
    if (!json_get_str(root, "url", &text)) {
        return err_set(err, ST_INVAL, "\"url\" is missing");
    }
    enum status st = config_check_url(text, err);
    if (st != ST_OK) {
        return st;
    }
    str_copy(url, 1025, text);
    name[0] = '\0';
    if (json_get_str(root, "name", &text) && text.len > 0) {
        st = config_check_name(text, err);
        str_copy(name, 64, text);
    }
    return st;
}

static enum admin_verdict on_add(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    struct err err = {0};
    char url[1025];
    char name[64];
    yyjson_doc *doc = req->body.len == 0 ? NULL : yyjson_read(req->body.p, req->body.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    enum status st = !yyjson_is_obj(root)
                         ? err_set(&err, ST_INVAL, "a JSON object with \"url\" is expected")
                         : read_engine(root, url, name, &err);
    yyjson_doc_free(doc);
    if (st != ST_OK) {
        fill_error(resp, st, &err);
        return ADMIN_NOW;
    }
    struct config_engine engine = {.url = url, .name = name, .api_key_file = ""};
    struct hub_question question = {.kind = HUB_ASK_ADD_ENGINE, .engine = &engine};
    return ask(ctx, req, &question, resp);
}

enum status
admin_routes_start(struct admin **ret, const struct config *cfg, struct hub *hub, struct err *err)
{
    static struct admin_ctx ctx;
    static const struct admin_route routes[] = {
        {"GET", "/health", true, on_health, &ctx},
        {"GET", "/ready", true, on_ready, &ctx},
        {"GET", "/metrics", false, on_metrics, &ctx},
        {"GET", "/saga/v1/status", false, on_status, &ctx},
        {"GET", "/saga/v1/engines", false, on_engines, &ctx},
        {"POST", "/saga/v1/engines", false, on_add, &ctx},
        {"DELETE", "/saga/v1/engines/", false, on_remove, &ctx},
        {"GET", "/saga/v1/sessions", false, on_sessions, &ctx},
        {"GET", "/saga/v1/sessions/", false, on_session, &ctx},
        {"DELETE", "/saga/v1/sessions/", false, on_release, &ctx},
        {"GET", "/saga/v1/workflows", false, on_workflows, &ctx},
        {"POST", "/saga/v1/workflows", false, on_declare, &ctx},
        {"GET", "/saga/v1/workflows/", false, on_workflow, &ctx},
        {"DELETE", "/saga/v1/workflows/", false, on_drop_workflow, &ctx},
        {"POST", "/saga/v1/drain", false, on_drain, &ctx},
        {"GET", "/saga/v1/receipts/", false, on_receipt, &ctx},
    };
    char key[SECRET_BYTES] = "";
    struct admin_config admin = {.routes = routes,
                                 .route_count = sizeof(routes) / sizeof(routes[0])};
    enum status st = net_addr_parse(str_of(cfg->admin_listen), &admin.listen, err);
    if (st == ST_NOTFOUND) {
        st = err_set(err, ST_INVAL, "admin.listen %s: an address is expected, not a host name",
                     cfg->admin_listen);
    }
    if (st == ST_OK && cfg->admin_key_file[0] != '\0') {
        st = secret_read(cfg->admin_key_file, key, err);
    }
    if (st != ST_OK) {
        return st;
    }
    admin.key = str_of(key);
    ctx.hub = hub;
    st = admin_start(&admin, ret, err);
    if (st == ST_OK) {
        atomic_store(&ctx.admin, *ret);
    }
    return st;
}
