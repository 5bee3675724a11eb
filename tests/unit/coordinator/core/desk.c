/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/coordinator/core/desk.h"

#include "common/base/hash.h"

#include <stdio.h>
#include <stdlib.h>

void talk_begin(struct talk *talk)
{
    talk->count = 0;
}

void talk_say(struct talk *talk, const char *text, uint32_t bytes)
{
    assert_true(talk->count < TALK_MAX);
    uint64_t before = talk->count > 0 ? talk->chain[talk->count - 1] : 1;
    uint32_t bytes_before = talk->count > 0 ? talk->bytes[talk->count - 1] : 0;
    talk->chain[talk->count] = hash_str(str_of(text), before);
    talk->bytes[talk->count] = bytes_before + bytes;
    talk->is_end[talk->count] = 1;
    talk->count++;
}

struct coord_limits desk_limits(void)
{
    return (struct coord_limits){
        .max_sessions = 1000,
        .max_requests = 1000,
        .max_engines = 16,
        .max_receipts = 64,
        .max_classes = 64,
        .max_graph_bytes = 1 << 20,
        .session_idle_us = 3600000000u,
        .margin_steps = 4,
        .retry_executed = true,
        .retry_budget_ratio = 0.1,
        .health_interval_us = 5000000,
        .health_fail_count = 3,
        .health_open_us = 5000000,
    };
}

void desk_open(struct desk *desk, const struct coord_limits *limits)
{
    memset(desk, 0, sizeof(*desk));
    kit_mem_init(&desk->km);
    desk->now_us = 1000000;
    assert_status(coord_core_new(&desk->core, &desk->km.mem, limits, 42), ST_OK);
}

void desk_close(struct desk *desk)
{
    coord_core_free(desk->core);
    kit_mem_expect_empty(&desk->km);
}

void desk_event(struct desk *desk, const struct coord_event *ev)
{
    desk->st = coord_core_step(desk->core, ev, desk->now_us, &desk->effects);
    assert_int_equal(desk->st, ST_OK);
}

void desk_add(struct desk *desk, uint32_t engine)
{
    char name[16];
    (void)snprintf(name, sizeof(name), "e%u", engine);
    const struct coord_event ev = {
        .kind = COORD_EV_ENGINE_ADDED,
        .u.engine_added = {.engine = {engine}, .name = str_of(name), .max_running = 64},
    };
    desk_event(desk, &ev);
}

void desk_probed(struct desk *desk, uint32_t engine, bool is_up, const char *model)
{
    const struct str models[] = {str_of(model)};
    const struct coord_event ev = {
        .kind = COORD_EV_ENGINE_PROBED,
        .u.engine_probed = {.engine = {engine},
                            .is_up = is_up,
                            .kind = COORD_ENGINE_SIM,
                            .models = model == NULL ? NULL : models,
                            .model_count = model == NULL ? 0 : 1},
    };
    desk_event(desk, &ev);
}

void desk_fleet(struct desk *desk, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++) {
        desk_add(desk, i);
        desk_probed(desk, i, true, "m");
    }
}

uint64_t desk_arrive_as(struct desk *desk,
                        const char *session,
                        const struct talk *talk,
                        const char *model,
                        enum coord_route route)
{
    char name[32];
    uint64_t req = ++desk->last_req;
    (void)snprintf(name, sizeof(name), "req-%u", (unsigned)req);
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    ev.u.arrived = (struct coord_step_arrived){
        .req = {req},
        .name = str_of(name),
        .tenant = STR(""),
        .session = session == NULL ? STR("") : str_of(session),
        .schema = session == NULL ? STR("") : STR("x-session-id"),
        .parent = desk->parent == NULL ? STR("") : str_of(desk->parent),
        .model = str_of(model),
        .route = route,
        .is_stream = true,
        .opening = desk->opening,
        .opening_sketch = desk->opening,
        .hints = {.is_final = desk->is_final, .class_hint = str_of(desk->agent)},
    };
    struct str result = str_of(desk->result);
    ev.u.arrived.tools = &result;
    ev.u.arrived.tool_count = desk->result == NULL ? 0 : 1;
    if (talk != NULL) {
        ev.u.arrived.chain = talk->chain;
        ev.u.arrived.chain_bytes = talk->bytes;
        ev.u.arrived.chain_is_end = talk->is_end;
        ev.u.arrived.chain_count = talk->count;
        ev.u.arrived.prompt_bytes = talk->count == 0 ? 0 : talk->bytes[talk->count - 1];
    }
    desk_event(desk, &ev);
    return req;
}

uint64_t desk_arrive(struct desk *desk, const char *session, const struct talk *talk)
{
    return desk_arrive_as(desk, session, talk, "m", COORD_ROUTE_CHAT);
}

void desk_start(struct desk *desk, uint64_t req, uint32_t attempt)
{
    const struct coord_event ev = {.kind = COORD_EV_STEP_STARTED,
                                   .u.started = {.req = {req}, .attempt = attempt}};
    desk_event(desk, &ev);
}

void desk_answer(struct desk *desk, uint64_t req, uint32_t attempt)
{
    const struct coord_event ev = {
        .kind = COORD_EV_STEP_ANSWERED,
        .u.answered = {.req = {req}, .attempt = attempt, .http_status = 200}};
    desk_event(desk, &ev);
}

void desk_done(struct desk *desk, uint64_t req, enum coord_outcome outcome)
{
    const struct coord_event ev = {
        .kind = COORD_EV_STEP_DONE,
        .u.done = {.req = {req},
                   .outcome = outcome,
                   .http_status = outcome == COORD_OUTCOME_OK ? 200 : 500,
                   .has_usage = outcome == COORD_OUTCOME_OK,
                   .prompt_tokens = 100,
                   .cached_tokens = 60,
                   .output_tokens = 7},
    };
    desk_event(desk, &ev);
}

void desk_done_by(struct desk *desk, uint64_t req, const char *tool)
{
    struct str name = str_of(tool);
    struct coord_event ev = {.kind = COORD_EV_STEP_DONE};
    ev.u.done = (struct coord_step_done){
        .req = {req},
        .outcome = COORD_OUTCOME_OK,
        .http_status = 200,
        .has_usage = true,
        .prompt_tokens = 100,
        .cached_tokens = 60,
        .output_tokens = 20,
        .finish = tool == NULL ? COORD_FINISH_STOP : COORD_FINISH_TOOLS,
        .tools = &name,
        .tool_count = tool == NULL ? 0 : 1,
    };
    desk_event(desk, &ev);
}

void desk_gone(struct desk *desk, uint64_t req)
{
    const struct coord_event ev = {.kind = COORD_EV_STEP_GONE, .u.gone = {.req = {req}}};
    desk_event(desk, &ev);
}

void desk_fail(
    struct desk *desk, uint64_t req, uint32_t attempt, enum coord_fail why, uint16_t http_status)
{
    const struct coord_event ev = {
        .kind = COORD_EV_ATTEMPT_FAILED,
        .u.failed = {.req = {req}, .attempt = attempt, .why = why, .http_status = http_status},
    };
    desk_event(desk, &ev);
}

void desk_node_refuses(struct desk *desk, uint64_t req, uint32_t attempt, bool is_timeout)
{
    const struct coord_event ev = {
        .kind = COORD_EV_NODE_REFUSED,
        .u.node_refused = {.req = {req}, .attempt = attempt, .is_timeout = is_timeout}};
    desk_event(desk, &ev);
}

void desk_remove(struct desk *desk, uint32_t engine)
{
    const struct coord_event ev = {.kind = COORD_EV_ENGINE_REMOVED,
                                   .u.engine_removed = {.engine = {engine}}};
    desk_event(desk, &ev);
}

void desk_tick(struct desk *desk, uint64_t later_us)
{
    desk->now_us += later_us;
    const struct coord_event ev = {.kind = COORD_EV_TICK};
    desk_event(desk, &ev);
}

const struct coord_effect *
desk_effect(const struct desk *desk, enum coord_effect_kind kind, uint32_t n)
{
    for (uint32_t i = 0; i < desk->effects->count; i++) {
        if (desk->effects->items[i].kind == kind && n-- == 0) {
            return &desk->effects->items[i];
        }
    }
    return NULL;
}

uint32_t desk_sent_to(const struct desk *desk)
{
    const struct coord_effect *ef = desk_effect(desk, COORD_EF_SUBMIT, 0);
    assert_non_null(ef);
    assert_null(desk_effect(desk, COORD_EF_SUBMIT, 1));
    return ef->u.submit.engine.v;
}

void desk_label(const struct desk *desk, char ret[static COORD_LABEL_BYTES])
{
    const struct coord_effect *ef = desk_effect(desk, COORD_EF_SUBMIT, 0);
    assert_non_null(ef);
    (void)str_copy(ret, COORD_LABEL_BYTES, str_of(ef->u.submit.session));
}

uint64_t desk_born(const struct desk *desk)
{
    return coord_core_counters(desk->core)->sessions_born;
}

void desk_expect_refused(const struct desk *desk, enum coord_refuse why)
{
    const struct coord_effect *ef = desk_effect(desk, COORD_EF_REFUSE, 0);
    assert_non_null(ef);
    assert_int_equal(ef->u.refuse.why, why);
    assert_null(desk_effect(desk, COORD_EF_SUBMIT, 0));
}

uint32_t desk_whole_step(struct desk *desk, const char *session, const struct talk *talk)
{
    uint64_t req = desk_arrive(desk, session, talk);
    uint32_t engine = desk_sent_to(desk);
    desk_start(desk, req, 1);
    desk->now_us += 50000;
    desk_answer(desk, req, 1);
    desk->now_us += 150000;
    desk_done(desk, req, COORD_OUTCOME_OK);
    return engine;
}

/* The report's text from the engine's own object on; NULL when it is not listed. */
static const char *engine_text(const struct desk *desk, uint32_t engine)
{
    static char text[65536];
    char id[32];
    struct buf out;
    buf_init(&out, mem_heap(), sizeof(text) - 1);
    assert_status(coord_core_write_engines(desk->core, desk->now_us, &out), ST_OK);
    memcpy(text, out.p, out.len);
    text[out.len] = '\0';
    buf_fini(&out);
    (void)snprintf(id, sizeof(id), "{\"id\":%u,", engine);
    char *from = strstr(text, id);
    if (from != NULL) {
        char *next = strstr(from, "},{");
        *(next == NULL ? from + strlen(from) : next) = '\0';
    }
    return from;
}

double desk_engine_number(const struct desk *desk, uint32_t engine, const char *field)
{
    char key[64];
    const char *text = engine_text(desk, engine);
    assert_non_null(text);
    (void)snprintf(key, sizeof(key), "\"%s\":", field);
    const char *at = strstr(text, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

const char *desk_engine_state(const struct desk *desk, uint32_t engine)
{
    static char state[32];
    static const char key[] = "\"state\":\"";
    const char *text = engine_text(desk, engine);
    state[0] = '\0';
    if (text != NULL) {
        const char *at = strstr(text, key);
        assert_non_null(at);
        at += strlen(key);
        size_t len = strcspn(at, "\"");
        assert_true(len < sizeof(state));
        memcpy(state, at, len);
        state[len] = '\0';
    }
    return state;
}
