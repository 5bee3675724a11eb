/* SPDX-License-Identifier: Apache-2.0 */
/* Questions from other threads, answered in the core's loop. */
#include "cli/hub.h"
#include "cli/hub_inside.h"
#include "common/base/json.h"
#include "common/io/reactor/net.h"
#include "common/io/reactor/tls.h"
#include "common/rt/log.h"
#include "common/rt/metric.h"
#include "common/rt/secret.h"

enum { ANSWER_MAX = 1 << 24, SESSION_ROWS = 1000, WORKFLOW_ROWS = 1000 };

static void ask_free(struct hub_ask_state *ask)
{
    buf_fini(&ask->out);
    hub_engine_unref(ask->engine);
    workflow_doc_free(ask->question.workflow);
    mem_free(mem_heap(), ask, sizeof(*ask));
}

/* An engine entry of its own from a configured one; reads the key file. */
static enum status
engine_new(const struct config_engine *from, struct hub_engine **ret, struct err *err)
{
    struct hub_engine *engine = mem_calloc(mem_heap(), 1, sizeof(*engine));
    if (engine == NULL) {
        return err_set(err, ST_NOMEM, "engine");
    }
    atomic_store(&engine->refs, 1);
    str_copy(engine->name, sizeof(engine->name), str_of(from->name));
    str_copy(engine->url, sizeof(engine->url), str_of(from->url));
    str_copy(engine->key_file, sizeof(engine->key_file), str_of(from->api_key_file));
    engine->cfg = *from;
    engine->cfg.name = engine->name;
    engine->cfg.url = engine->url;
    engine->cfg.api_key_file = engine->key_file;
    enum status st =
        engine->key_file[0] == '\0' ? ST_OK : secret_read(engine->key_file, engine->key, err);
    if (st != ST_OK) {
        hub_engine_unref(engine);
        return st;
    }
    *ret = engine;
    return ST_OK;
}

static struct hub_engine *find_engine(const struct hub *hub, struct str name, uint32_t *ret_idx)
{
    for (uint32_t i = 0; i < hub->engine_count; i++) {
        if (str_eq(str_of(hub->engines[i]->name), name)) {
            *ret_idx = i;
            return hub->engines[i];
        }
    }
    return NULL;
}

/* The context for https engines comes with the first of them: it costs memory and start-up time. */
static enum status give_tls(struct hub *hub, struct hub_engine *engine, struct err *err)
{
    if (!str_istarts(str_of(engine->url), STR("https:"))) {
        return ST_OK;
    }
    enum status st = ST_OK;
    if (hub->tls == NULL) {
        st = tls_client_new(&hub->tls, hub->cfg->tls_upstream_ca_file,
                            hub->cfg->tls_upstream_verify, err);
    }
    engine->tls = hub->tls;
    return st;
}

static enum status add_engine(struct hub *hub, struct hub_engine *engine, struct err *err)
{
    uint32_t idx = 0;
    if (engine->name[0] == '\0') {
        snprintf(engine->name, sizeof(engine->name), "e%u", hub->next_engine - 1);
    }
    if (find_engine(hub, str_of(engine->name), &idx) != NULL) {
        return err_set(err, ST_EXISTS, "an engine named %s exists", engine->name);
    }
    if (hub->engine_count >= CONFIG_ENGINES_MAX) {
        return err_set(err, ST_FULL, "no more than %d engines", CONFIG_ENGINES_MAX);
    }
    enum status st = give_tls(hub, engine, err);
    if (st != ST_OK) {
        return st;
    }
    struct hub_engine **grown =
        hub->engine_count < hub->engine_cap
            ? hub->engines
            : mem_resize(mem_heap(), hub->engines, hub->engine_cap * sizeof(struct hub_engine *),
                         (hub->engine_count + 1) * sizeof(struct hub_engine *));
    if (grown == NULL) {
        return err_set(err, ST_NOMEM, "engine table");
    }
    hub->engines = grown;
    hub->engine_cap = hub->engine_count < hub->engine_cap ? hub->engine_cap : hub->engine_count + 1;
    hub->engines[hub->engine_count++] = engine;
    engine->id.v = hub->next_engine++;
    atomic_fetch_add(&engine->refs, 1);
    for (uint32_t i = 0; i < hub->lane_count; i++) {
        struct hub_cmd cmd = {.kind = HUB_CMD_ADD_ENGINE, .engine = engine->id, .entry = engine};
        atomic_fetch_add(&engine->refs, 1);
        hub_send(hub, i, &cmd);
    }
    uint64_t slots =
        engine->cfg.max_running > 0 ? engine->cfg.max_running : hub->cfg->routing_engine_slots;
    struct coord_event ev = {.kind = COORD_EV_ENGINE_ADDED};
    ev.u.engine_added = (struct coord_engine_added){.engine = engine->id,
                                                    .name = str_of(engine->name),
                                                    .max_running = (uint32_t)slots,
                                                    .kv_tokens = (uint32_t)engine->cfg.kv_tokens};
    hub_handle(hub, &ev);
    log_info("hub", "engine added name=%s url=%s slots=%llu", engine->name,
             log_quote(str_of(engine->url)).text, (unsigned long long)slots);
    return ST_OK;
}

static enum status remove_engine(struct hub *hub, struct str name, struct err *err)
{
    uint32_t idx = 0;
    struct hub_engine *engine = find_engine(hub, name, &idx);
    if (engine == NULL) {
        return err_set(err, ST_NOTFOUND, "no engine of that name");
    }
    struct coord_event ev = {.kind = COORD_EV_ENGINE_REMOVED};
    ev.u.engine_removed.engine = engine->id;
    hub_handle(hub, &ev);
    for (uint32_t i = 0; i < hub->lane_count; i++) {
        struct hub_cmd cmd = {.kind = HUB_CMD_REMOVE_ENGINE, .engine = engine->id};
        hub_send(hub, i, &cmd);
    }
    log_info("hub", "engine removed name=%s", engine->name);
    hub->engines[idx] = hub->engines[--hub->engine_count];
    hub_engine_unref(engine);
    return ST_OK;
}

static enum status write_engine(const struct hub *hub, yyjson_val *engine, struct buf *out)
{
    struct str name = {0};
    uint32_t at = 0;
    const struct hub_engine *entry =
        json_get_str(engine, "name", &name) ? find_engine(hub, name, &at) : NULL;
    enum status st = json_add_val(out, engine);
    if (st != ST_OK || entry == NULL) {
        return st;
    }
    out->len--; /* the closing brace comes after one more member */
    st = buf_add_str(out, STR(",\"url\":\""));
    if (st == ST_OK) {
        st = buf_add_json(out, str_of(entry->url));
    }
    return st == ST_OK ? buf_add_str(out, STR("\"}")) : st;
}

/* The core's own list of engines, parsed. NULL without memory; to be freed by yyjson_doc_free. */
static yyjson_doc *read_engines(const struct hub *hub)
{
    struct buf plain;
    buf_init(&plain, mem_heap(), ANSWER_MAX);
    enum status st = coord_core_write_engines(hub->coord, loop_now_us(hub->loop), &plain);
    yyjson_doc *doc = st == ST_OK ? yyjson_read(plain.p, plain.len, 0) : NULL;
    buf_fini(&plain);
    return doc;
}

/* The core's list, with the URLs that only the shell knows. */
static enum status write_engines(const struct hub *hub, struct buf *out)
{
    yyjson_doc *doc = read_engines(hub);
    yyjson_val *engine = NULL;
    size_t idx = 0;
    size_t max = 0;
    enum status st = doc == NULL ? ST_NOMEM : buf_add_str(out, STR("["));
    yyjson_arr_foreach(yyjson_doc_get_root(doc), idx, max, engine)
    {
        if (st == ST_OK && idx > 0) {
            st = buf_add_str(out, STR(","));
        }
        if (st == ST_OK) {
            st = write_engine(hub, engine, out);
        }
    }
    yyjson_doc_free(doc);
    return st == ST_OK ? buf_add_str(out, STR("]")) : st;
}

static enum status write_status(const struct hub *hub, struct buf *out)
{
    const struct coord_counters *counters = coord_core_counters(hub->coord);
    enum status st = buf_add_fmt(
        out,
        "{\"in_flight\":%u,\"ready\":%s,\"connections\":%llu,\"sessions\":%u,\"steps\":%llu,"
        "\"retries\":%llu,\"engines\":",
        coord_core_in_flight(hub->coord), coord_core_is_ready(hub->coord) ? "true" : "false",
        (unsigned long long)metric_read(METRIC_CONNECTIONS, METRIC_SIDE_CLIENT, 0),
        coord_core_session_count(hub->coord), (unsigned long long)counters->steps_arrived,
        (unsigned long long)counters->retries);
    if (st == ST_OK) {
        st = write_engines(hub, out);
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static unsigned health_of(struct str state)
{
    if (str_eq(state, STR("up"))) {
        return METRIC_HEALTH_UP;
    }
    return str_eq(state, STR("half_open")) ? METRIC_HEALTH_HALF_OPEN : METRIC_HEALTH_DOWN;
}

/* Engines by health, out of the core's own list. */
static void count_engines(const struct hub *hub)
{
    uint64_t counts[METRIC_HEALTH_COUNT] = {0};
    yyjson_doc *doc = read_engines(hub);
    yyjson_val *engine = NULL;
    size_t idx = 0;
    size_t max = 0;
    yyjson_arr_foreach(yyjson_doc_get_root(doc), idx, max, engine)
    {
        struct str state = {0};
        if (json_get_str(engine, "state", &state)) {
            counts[health_of(state)]++;
        }
    }
    for (unsigned i = 0; i < METRIC_HEALTH_COUNT; i++) {
        metric_set(METRIC_ENGINES, i, 0, counts[i]);
    }
    yyjson_doc_free(doc);
}

static void refresh_metrics(const struct hub *hub)
{
    const struct coord_counters *counters = coord_core_counters(hub->coord);
    if (hub->is_inline) {
        front_publish_metrics(hub->lanes[0].front);
    }
    metric_set(METRIC_SESSIONS, 0, 0, coord_core_session_count(hub->coord));
    metric_set(METRIC_REQUESTS_ACTIVE, 0, 0, hub_in_flight(hub));
    metric_set(METRIC_SESSIONS_FORGOTTEN, 0, 0, counters->sessions_forgotten);
    metric_set(METRIC_RETRIES_DENIED, 0, 0, counters->retries_denied_budget);
    metric_set(METRIC_PLACED, METRIC_BRANCH_HOME, 0, counters->home_hits);
    metric_set(METRIC_PLACED, METRIC_BRANCH_LEFT_HOME, 0, counters->home_moves);
    metric_set(METRIC_PLACED, METRIC_BRANCH_BIRTH, 0, counters->session_new);
    metric_set(METRIC_PLACED, METRIC_BRANCH_RETRY, 0, counters->retries);
    metric_set(METRIC_TABLE_FULL, METRIC_TABLE_SESSIONS, 0, counters->sessions_full);
    metric_set(METRIC_TABLE_FULL, METRIC_TABLE_REQUESTS, 0, counters->requests_full);
    struct coord_gauges gauges;
    coord_core_gauges(hub->coord, &gauges);
    metric_set(METRIC_GRAPH_BYTES, 0, 0, gauges.graph_bytes);
    metric_set(METRIC_CLASSES, 0, 0, gauges.classes);
    metric_set(METRIC_STEPS_LOST, 0, 0, gauges.steps_lost);
    metric_set(METRIC_CLASSES_FORGOTTEN, 0, 0, gauges.classes_forgotten);
    metric_set(METRIC_GAPS, 0, 0, gauges.gaps);
    count_engines(hub);
    metric_set(METRIC_LOG_LOST, 0, 0, log_lost_count());
    uint32_t queued = 0;
    for (uint32_t i = 0; i < hub->engine_count; i++) {
        struct agent_queue_view view = {0};
        if (agent_core_queue(hub->agent, hub->engines[i]->id, &view)) {
            queued += view.waiting;
        }
    }
    metric_set(METRIC_QUEUED, 0, 0, queued);
    metric_set(METRIC_FDS, 0, 0, net_fd_count());
}

static void to_all(struct hub *hub, enum hub_cmd_kind kind, const struct config *cfg)
{
    for (uint32_t i = 0; i < hub->lane_count; i++) {
        struct hub_cmd cmd = {.kind = kind, .cfg = cfg};
        hub_send(hub, i, &cmd);
    }
}

static enum status release_session(struct hub *hub, struct str label, struct buf *out)
{
    if (!coord_core_has_session(hub->coord, label)) {
        return ST_NOTFOUND;
    }
    struct coord_event ev = {.kind = COORD_EV_SESSION_RELEASED};
    ev.u.released.label = label;
    hub_handle(hub, &ev);
    bool is_gone = !coord_core_has_session(hub->coord, label);
    return buf_add_fmt(out, "{\"released\":true,\"is_gone\":%s}", is_gone ? "true" : "false");
}

static enum status
declare_workflow(struct hub *hub, const struct workflow_doc *doc, struct buf *out, struct err *err)
{
    struct coord_event ev = {.kind = COORD_EV_WORKFLOW_DECLARED};
    ev.u.workflow = *workflow_doc_declared(doc);
    struct str tenant = ev.u.workflow.tenant;
    struct str id = ev.u.workflow.id;
    bool is_known = coord_core_has_workflow(hub->coord, tenant, id);
    enum status st = hub_handle(hub, &ev);
    if (st == ST_FULL) {
        return err_set(err, st, "limits.workflows or limits.workflow_bytes, all are in use");
    }
    if (st == ST_OK) {
        st = buf_add_fmt(out, "{\"replaced\":%s,\"declared\":", is_known ? "true" : "false");
    }
    if (st == ST_OK) {
        st = coord_core_write_workflow(hub->coord, tenant, id, out);
    }
    return st == ST_OK ? buf_add_str(out, STR("}")) : st;
}

static enum status drop_workflow(struct hub *hub, struct str id, struct err *err)
{
    struct coord_event ev = {.kind = COORD_EV_WORKFLOW_DROPPED};
    ev.u.workflow_dropped.id = id;
    if (!coord_core_has_workflow(hub->coord, ev.u.workflow_dropped.tenant, id)) {
        return err_set(err, ST_NOTFOUND, "no workflow of that id");
    }
    return hub_handle(hub, &ev);
}

static enum status answer(struct hub *hub,
                          const struct hub_question *question,
                          struct hub_engine *engine,
                          struct buf *out,
                          struct err *err)
{
    uint64_t now_us = loop_now_us(hub->loop);
    switch (question->kind) {
    case HUB_ASK_STATUS:
        return write_status(hub, out);
    case HUB_ASK_ENGINES:
        return write_engines(hub, out);
    case HUB_ASK_SESSIONS:
        return coord_core_write_sessions(hub->coord, now_us, SESSION_ROWS, out);
    case HUB_ASK_SESSION:
        return coord_core_write_session(hub->coord, now_us, question->text, question->format, out);
    case HUB_ASK_RELEASE:
        return release_session(hub, question->text, out);
    case HUB_ASK_WORKFLOWS:
        return coord_core_write_workflows(hub->coord, WORKFLOW_ROWS, out);
    case HUB_ASK_WORKFLOW:
        return coord_core_write_workflow(hub->coord, STR(""), question->text, out);
    case HUB_ASK_DECLARE:
        return declare_workflow(hub, question->workflow, out, err);
    case HUB_ASK_DROP_WORKFLOW:
        return drop_workflow(hub, question->text, err);
    case HUB_ASK_RECEIPT:
        return coord_core_write_receipt(hub->coord, question->text, out);
    case HUB_ASK_ADD_ENGINE:
        return add_engine(hub, engine, err);
    case HUB_ASK_REMOVE_ENGINE:
        return remove_engine(hub, question->text, err);
    case HUB_ASK_METRICS:
        refresh_metrics(hub);
        return ST_OK;
    case HUB_ASK_RELOAD:
        hub->apply_config(hub, question->cfg);
        to_all(hub, HUB_CMD_RELOAD, question->cfg);
        return ST_OK;
    case HUB_ASK_DRAIN:
        atomic_store(&hub->is_draining, true);
        to_all(hub, HUB_CMD_DRAIN, NULL);
        return ST_OK;
    }
    return ST_INVAL;
}

enum status
hub_answer(struct hub *hub, const struct hub_question *question, struct buf *out, struct err *err)
{
    struct hub_engine *engine = NULL;
    enum status st = question->engine == NULL ? ST_OK : engine_new(question->engine, &engine, err);
    if (st == ST_OK) {
        st = answer(hub, question, engine, out, err);
    }
    hub_engine_unref(engine);
    return st;
}

void hub_settle_ask(struct hub *hub, struct hub_ask_state *ask)
{
    struct err err = {0};
    enum status st = answer(hub, &ask->question, ask->engine, &ask->out, &err);
    if (ask->done != NULL) {
        ask->done(ask->ctx, st, &err, &ask->out);
    }
    ask_free(ask);
}

void hub_drop_ask(struct hub_ask_state *ask)
{
    struct err err = {0};
    if (ask->done != NULL) {
        ask->done(ask->ctx, ST_CLOSED, &err, &ask->out);
    }
    ask_free(ask);
}

enum status hub_ask(struct hub *hub,
                    const struct hub_question *question,
                    hub_done_fn done,
                    void *ctx,
                    struct err *err)
{
    struct hub_ask_state *ask = mem_calloc(mem_heap(), 1, sizeof(*ask));
    if (ask == NULL) {
        workflow_doc_free(question->workflow);
        return err_set(err, ST_NOMEM, "question");
    }
    buf_init(&ask->out, mem_heap(), ANSWER_MAX);
    ask->done = done;
    ask->ctx = ctx;
    ask->question = *question;
    str_copy(ask->text, sizeof(ask->text), question->text);
    ask->question.text = str_of(ask->text);
    ask->question.engine = NULL;
    enum status st =
        question->engine == NULL ? ST_OK : engine_new(question->engine, &ask->engine, err);
    struct hub_msg msg = {.ask = ask};
    if (st == ST_OK && mailbox_post(hub->inbox, &msg) != ST_OK) {
        st = err_set(err, ST_BUSY, "the core is too busy to answer");
    }
    if (st != ST_OK) {
        ask_free(ask);
    }
    return st;
}
