/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/record.h"

#include "tests/unit/coordinator/core/desk.h"

enum { LOG_MAX = 1 << 20 };

static struct coord_limits limits(void)
{
    struct coord_limits l = desk_limits();
    l.max_sessions = 5;
    l.max_workflows = 5;
    l.max_workflow_bytes = 100000;
    return l;
}

/* What a recording shell does. */
static void
play(struct coord_core *core, const struct coord_event *ev, uint64_t now_us, struct buf *log)
{
    const struct coord_effects *effects = NULL;
    assert_status(coord_core_step(core, ev, now_us, &effects), ST_OK);
    assert_status(coord_record_event(ev, now_us, log), ST_OK);
    assert_status(coord_record_effects(effects, log), ST_OK);
}

static const struct str models[] = {{"m", 1}, {"q\"uo\\te\n\x01", 8}};

static void play_engines(struct coord_core *core, struct buf *log)
{
    for (uint32_t e = 1; e <= 2; e++) {
        const struct coord_event added = {
            .kind = COORD_EV_ENGINE_ADDED,
            .u.engine_added = {.engine = {e},
                               .name = e == 1 ? STR("one") : STR("t\xc3\xbcwo"),
                               .max_running = 3},
        };
        const struct coord_event probed = {
            .kind = COORD_EV_ENGINE_PROBED,
            .u.engine_probed = {.engine = {e},
                                .is_up = true,
                                .kind = COORD_ENGINE_VLLM,
                                .models = models,
                                .model_count = 2},
        };
        play(core, &added, 10 + e, log);
        play(core, &probed, 20 + e, log);
    }
}

static void play_arrivals(struct coord_core *core, struct buf *log)
{
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "a", 5000);
    talk_say(&talk, "b", 300);
    talk.is_end[0] = 0;
    for (uint64_t req = 1; req <= 12; req++) {
        struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
        ev.u.arrived = (struct coord_step_arrived){
            .req = {UINT64_MAX - req},
            .name = STR("na\"me"),
            .tenant = STR("t"),
            .session = req % 2 == 0 ? STR("s\x7f\xff") : STR(""),
            .schema = STR("agent_hint"),
            .parent = STR("p\"\xc3\xbc"),
            .branch = STR("b"),
            .hints = {.class_hint = STR("c"),
                      .step_hint = STR("\\"),
                      .priority = INT32_MIN,
                      .output_tokens = UINT32_MAX,
                      .deadline_us = UINT64_MAX,
                      .retention_us = 1,
                      .is_final = req % 2 == 0,
                      .expects_resume = true},
            .model = models[req % 2],
            .route = COORD_ROUTE_MESSAGES,
            .chain = talk.chain,
            .chain_bytes = talk.bytes,
            .chain_is_end = talk.is_end,
            .chain_count = talk.count,
            .prompt_bytes = 5300,
            .max_output_tokens = 77,
            .is_stream = true,
        };
        talk.chain[1]++;
        play(core, &ev, 100 + req, log);
        const struct coord_event started = {
            .kind = COORD_EV_STEP_STARTED,
            .u.started = {.req = {UINT64_MAX - req}, .attempt = 1},
        };
        play(core, &started, 200 + req, log);
    }
}

static void play_ends(struct coord_core *core, struct buf *log)
{
    static const struct str tools[] = {STR("bash"), STR("\"\\\x01\xff")};
    static const struct aeg_spec_node_input nodes[] = {
        {STR("\"a\""), 1, 2, 3, 4, 5},
        {STR("b"), AEG_SPEC_UNSAID, AEG_SPEC_UNSAID, AEG_SPEC_UNSAID, AEG_SPEC_UNSAID, 1}};
    static const struct aeg_spec_edge_input edges[] = {{STR("\"a\""), STR("b"), 999999}};
    const struct coord_event events[] = {
        {.kind = COORD_EV_ATTEMPT_FAILED,
         .u.failed =
             {.req = {UINT64_MAX - 1}, .attempt = 1, .why = COORD_FAIL_STATUS, .http_status = 503}},
        {.kind = COORD_EV_STEP_ANSWERED,
         .u.answered = {.req = {UINT64_MAX - 2}, .attempt = 1, .http_status = 200}},
        {.kind = COORD_EV_NODE_REFUSED,
         .u.node_refused = {.req = {UINT64_MAX - 3}, .attempt = 1, .is_timeout = true}},
        {.kind = COORD_EV_STEP_GONE, .u.gone = {.req = {UINT64_MAX - 4}}},
        {.kind = COORD_EV_STEP_DONE,
         .u.done = {.req = {UINT64_MAX - 5},
                    .outcome = COORD_OUTCOME_OK,
                    .http_status = 200,
                    .has_usage = true,
                    .prompt_tokens = 1,
                    .cached_tokens = 2,
                    .output_tokens = 3,
                    .finish = COORD_FINISH_TOOLS,
                    .tools = tools,
                    .tool_count = 2}},
        {.kind = COORD_EV_ENGINE_PROBED, .u.engine_probed = {.engine = {1}, .is_up = false}},
        {.kind = COORD_EV_ENGINE_REMOVED, .u.engine_removed = {.engine = {2}}},
        {.kind = COORD_EV_SESSION_RELEASED, .u.released = {.label = STR("s-\"\n")}},
        {.kind = COORD_EV_WORKFLOW_DECLARED,
         .u.workflow = {.tenant = STR("t"), .id = STR("w\"\\"), .spec = {nodes, edges, 2, 1}}},
        {.kind = COORD_EV_WORKFLOW_DECLARED,
         .u.workflow = {.id = STR("v"), .spec = {nodes, NULL, 1, 0}}},
        {.kind = COORD_EV_WORKFLOW_DROPPED,
         .u.workflow_dropped = {.tenant = STR("t"), .id = STR("w\"\\")}},
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        play(core, &events[i], 300 + i, log);
    }
    const struct coord_event tick = {.kind = COORD_EV_TICK};
    play(core, &tick, 99999999, log);
}

/* At least one event of each kind, with texts that need escaping. */
static void write_log(struct buf *log)
{
    struct coord_core *core = NULL;
    struct coord_limits l = limits();
    assert_status(coord_core_new(&core, mem_heap(), &l, 1), ST_OK);
    play_engines(core, log);
    play_arrivals(core, log);
    play_ends(core, log);
    coord_core_free(core);
}

static void log__replayed__gives_the_same_log(void **state)
{
    (void)state;
    struct buf log;
    struct buf again;
    struct arena arena;
    struct coord_core *core = NULL;
    struct coord_limits l = limits();
    buf_init(&log, mem_heap(), LOG_MAX);
    buf_init(&again, mem_heap(), LOG_MAX);
    arena_init(&arena, mem_heap(), 4096, LOG_MAX);
    write_log(&log);
    assert_status(coord_core_new(&core, mem_heap(), &l, 1), ST_OK);
    struct str rest = buf_str(&log);
    struct str line;
    uint32_t events = 0;
    while (str_split(&rest, '\n', &line)) {
        struct coord_event ev;
        uint64_t now_us = 0;
        arena_reset(&arena);
        if (line.len == 0 || coord_record_read(line, &arena, &ev, &now_us) == ST_NOTFOUND) {
            continue;
        }
        assert_status(coord_record_read(line, &arena, &ev, &now_us), ST_OK);
        play(core, &ev, now_us, &again);
        events++;
    }
    coord_core_free(core);
    assert_int_equal(events, 40);
    assert_int_equal(again.len, log.len);
    assert_memory_equal(again.p, log.p, log.len);
    arena_fini(&arena);
    buf_fini(&log);
    buf_fini(&again);
}

static void line__cut_or_changed_anywhere__refused_or_read_never_worse(void **state)
{
    (void)state;
    struct buf log;
    struct arena arena;
    buf_init(&log, mem_heap(), LOG_MAX);
    arena_init(&arena, mem_heap(), 4096, LOG_MAX);
    write_log(&log);
    struct str rest = buf_str(&log);
    struct str line;
    while (str_split(&rest, '\n', &line)) {
        if (!str_starts(line, STR("{\"ev\""))) {
            continue;
        }
        struct coord_event ev;
        uint64_t now_us = 0;
        for (size_t len = 0; len < line.len; len++) {
            /* A copy of exactly that size, so that ASan sees a read past it. */
            char *copy = test_malloc(len + 1);
            memcpy(copy, line.p, len);
            arena_reset(&arena);
            assert_status(coord_record_read((struct str){copy, len}, &arena, &ev, &now_us),
                          ST_INVAL);
            copy[len / 2] = '7';
            arena_reset(&arena);
            status_ignore(coord_record_read((struct str){copy, len}, &arena, &ev, &now_us),
                          "only that it ends");
            test_free(copy);
        }
    }
    arena_fini(&arena);
    buf_fini(&log);
}

static void limits__written__are_read_back_and_nothing_else(void **state)
{
    (void)state;
    struct coord_limits wrote = limits();
    struct coord_limits read = {0};
    struct buf line;
    uint64_t seed = 0;
    wrote.retry_budget_ratio = 0.1;
    wrote.max_graph_bytes = UINT64_MAX;
    wrote.has_params = true;
    wrote.params[GATE_PARAMS_MAX - 1] = 0.3;
    buf_init(&line, mem_heap(), LOG_MAX);
    assert_status(coord_record_limits(&wrote, 77, &line), ST_OK);
    assert_status(coord_record_read_limits(buf_str(&line), &read, &seed), ST_OK);
    assert_int_equal(seed, 77);
    assert_int_equal(read.max_sessions, wrote.max_sessions);
    assert_true(read.max_graph_bytes == UINT64_MAX && read.retry_executed == wrote.retry_executed);
    assert_true(read.has_params);
    assert_memory_equal(read.params, wrote.params, sizeof(read.params));
    assert_memory_equal(&read.retry_budget_ratio, &wrote.retry_budget_ratio, sizeof(double));
    for (size_t len = 0; len + 2 < line.len; len++) {
        enum status st = coord_record_read_limits((struct str){line.p, len}, &read, &seed);
        assert_true(st == ST_INVAL || st == ST_NOTFOUND);
    }
    assert_status(coord_record_read_limits(STR("{\"ev\":\"tick\",\"at_us\":1}"), &read, &seed),
                  ST_NOTFOUND);
    buf_fini(&line);
}

static void line__not_ours__invalid(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "",
        "{}",
        "{\"ev\":\"nonsense\",\"at_us\":1}",
        "{\"ev\":\"tick\",\"at_us\":-1}",
        "{\"ev\":\"tick\",\"at_us\":99999999999999999999}",
        "{\"ev\":\"tick\",\"at_us\":1} ",
        "{\"ev\":\"gone\",\"at_us\":1,\"req\":}",
        "{\"ev\":\"engine_added\",\"at_us\":1,\"engine\":5000000000,\"name\":\"x\",\"max_running\":"
        "1}",
        "{\"ev\":\"engine_added\",\"at_us\":1,\"engine\":5,\"name\":\"\\u12\",\"max_running\":1}",
        "{\"ev\":\"engine_probed\",\"at_us\":1,\"engine\":5,\"is_up\":2,\"kind\":0,\"models\":"
        "null}",
        "{\"ev\":\"engine_probed\",\"at_us\":1,\"engine\":5,\"is_up\":1,\"kind\":99,\"models\":"
        "null}",
    };
    struct arena arena;
    arena_init(&arena, mem_heap(), 4096, LOG_MAX);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct coord_event ev;
        uint64_t now_us = 0;
        if (coord_record_read(str_of(lines[i]), &arena, &ev, &now_us) != ST_INVAL) {
            fail_msg("read: %s", lines[i]);
        }
    }
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log__replayed__gives_the_same_log),
        cmocka_unit_test(line__cut_or_changed_anywhere__refused_or_read_never_worse),
        cmocka_unit_test(limits__written__are_read_back_and_nothing_else),
        cmocka_unit_test(line__not_ours__invalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
