/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/scenario.h"

#include "tests/kit/kit.h"

static struct scenario scenario;

static enum status read_text(const char *text, struct err *err)
{
    return scenario_read(&scenario, "f.yaml", str_of(text), err);
}

static void read__everything__is_there(void **state)
{
    (void)state;
    struct err err = {0};
    assert_status(read_text("text: all of it\n"
                            "load: [{from_s: 0, share: 1.5}, {from_s: 60, share: 0.5}]\n"
                            "models:\n"
                            "  - {name: a, engines_share: 0.25}\n"
                            "  - {name: b, engines_share: 0.75}\n"
                            "tenants:\n"
                            "  - {name: x, load: 0.1, model: b, workload: claude-code}\n"
                            "  - {name: y, share: 0.5}\n"
                            "  - {name: z}\n"
                            "events:\n"
                            "  - {at_s: 1.5, kind: crash, engines: 2, for_s: 3}\n"
                            "  - {at_s: 2, kind: slow, engines: 0-3, factor: 2.5}\n"
                            "  - {at_s: 3, kind: lose-cache, engines: all}\n"
                            "network: {latency_ms: 5, jitter_ms: 1, loss: 0.1, duplicate: 0.2}\n"
                            "stale_s: 2.5\n",
                            &err),
                  ST_OK);
    assert_string_equal(scenario.text, "all of it");
    assert_int_equal(scenario.load_count, 2);
    assert_close(scenario.loads[1].share, 0.5, 0);
    assert_string_equal(scenario.models[1].name, "b");
    assert_int_equal(scenario.tenant_count, 3);
    assert_int_equal(scenario.tenants[0].model, 1);
    assert_true(scenario.tenants[0].has_workload && !scenario.tenants[1].has_workload);
    assert_int_equal(scenario.tenants[0].workload, WORKLOAD_CLAUDE_CODE);
    assert_int_equal(scenario.fault_count, 3);
    assert_int_equal(scenario.faults[0].kind, LAB_FAULT_CRASH);
    assert_int_equal(scenario.faults[0].at_us, 1500000);
    assert_int_equal(scenario.faults[0].until_us, 4500000);
    assert_int_equal(scenario.faults[0].engine_first, 2);
    assert_int_equal(scenario.faults[0].engine_count, 1);
    assert_int_equal(scenario.faults[1].engine_count, 4);
    assert_int_equal(scenario.faults[1].slow_per_mille, 2500);
    assert_int_equal(scenario.faults[1].until_us, 0);
    assert_int_equal(scenario.faults[2].engine_count, UINT32_MAX);
    assert_int_equal(scenario.latency_us, 5000);
    assert_int_equal(scenario.net.jitter_us, 1000);
    assert_int_equal(scenario.net.retransmit_us, 200000);
    assert_close(scenario.net.duplicate_ratio, 0.2, 0);
    assert_int_equal(scenario.stale_us, 2500000);
}

static void read__wrong__says_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says;
    } rows[] = {
        {"", "f.yaml:1: it is empty"},
        {"[1]\n", "f.yaml:1: a mapping of keys and values is expected here"},
        {"text: x\nlod: []\n", "f.yaml:2: unknown key \"lod\""},
        {"stale_s: 1\nstale_s: 2\n", "f.yaml:2: stale_s is there twice"},
        {"stale_s: soon\n", "f.yaml:1: stale_s must be a number from 0 to 3600"},
        {"load: 3\n", "f.yaml:1: a list is expected here"},
        {"load:\n  - {from_s: 5, share: 1}\n",
         "f.yaml:2: from_s must be 0 in the first entry and grow from there"},
        {"load:\n  - {from_s: 0}\n", "f.yaml:2: share is missing: of L*, from from_s on"},
        {"models:\n  - {name: a, engines_share: 0.5}\n",
         "f.yaml:2: the models' engines_share must be 1 together"},
        {"tenants:\n  - {name: a}\n  - {name: a}\n",
         "f.yaml:3: a tenant of this name is there already"},
        {"tenants:\n  - {name: a, load: 1, share: 1}\n",
         "f.yaml:2: a tenant has a name, and a load or a share or neither"},
        {"tenants:\n  - {name: a, model: m}\n", "f.yaml:2: no model of this name above"},
        {"tenants:\n  - {name: a, workload: chat}\n",
         "f.yaml:2: workload must be swe, claude-code or mix"},
        {"tenants:\n  - {name: a, share: 0.6}\n  - {name: b, share: 0.6}\n",
         "f.yaml:2: the tenants' shares are more than 1 together"},
        {"events:\n  - {at_s: 1, kind: crash}\n", "f.yaml:2: an event has at_s, kind and engines"},
        {"events:\n  - {at_s: 1, kind: flood, engines: 1}\n",
         "f.yaml:2: kind must be crash, slow, lose-cache, drain or partition"},
        {"events:\n  - {at_s: 1, kind: crash, engines: 3-1}\n",
         "f.yaml:2: engines must be all, one number from 0, or a range like 0-3"},
        {"events:\n  - {at_s: 1, kind: crash, engines: 1-}\n",
         "f.yaml:2: engines must be all, one number from 0, or a range like 0-3"},
        {"events:\n  - {at_s: 1, kind: slow, engines: 1}\n",
         "f.yaml:2: factor belongs to slow, and slow needs one"},
        {"events:\n  - {at_s: 1, kind: partition, engines: 1}\n",
         "f.yaml:2: a partition needs for_s"},
        {"events:\n  - {at_s: 1, kind: lose-cache, engines: 1, for_s: 1}\n",
         "f.yaml:2: lose-cache has no for_s"},
        {"network: {loss: 1}\n", "f.yaml:1: loss must be a number from 0 to 0.9"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        assert_status(read_text(rows[i].text, &err), ST_INVAL);
        assert_string_equal(err.text, rows[i].says);
    }
    struct err err = {0};
    assert_status(read_text("load: [\n", &err), ST_INVAL);
    assert_non_null(strstr(err.text, "not valid YAML"));
    assert_status(scenario_load(&scenario, "/no/such/file", &err), ST_NOTFOUND);
}

static void builtin__each__can_be_read(void **state)
{
    (void)state;
    size_t count = 0;
    for (; scenario_builtin_at(count) != NULL; count++) {
        struct err err = {0};
        assert_status(scenario_load(&scenario, scenario_builtin_at(count)->name, &err), ST_OK);
        assert_true(scenario.text[0] != '\0');
    }
    assert_int_equal(count, 8);
}

static void load__over_time__stretches_the_time(void **state)
{
    (void)state;
    struct err err = {0};
    assert_status(scenario_load(&scenario, "pulse", &err), ST_OK);
    assert_close(scenario_mean_load(&scenario, 0.5), 1.5, 1e-12);
    assert_close(scenario_mean_load(&scenario, 1), (1.5 + 0.6) / 2, 1e-12);
    /* In the first half of an hour 1.5 / 2.1 of all sessions come. */
    assert_close(scenario_warp_s(&scenario, 1, 0), 0, 0);
    assert_close(scenario_warp_s(&scenario, 1, 3600 * 1.5 / 2.1), 1800, 1e-6);
    assert_close(scenario_warp_s(&scenario, 1, 1800 * 1.5 / 2.1), 900, 1e-6);
    assert_close(scenario_warp_s(&scenario, 1, 3600), 3600, 1e-6);
    assert_status(scenario_load(&scenario, "lose-caches", &err), ST_OK);
    assert_close(scenario_mean_load(&scenario, 1), 0, 0);
    assert_close(scenario_warp_s(&scenario, 1, 123), 123, 0);
}

static void tenants__of_a_load__bring_what_they_say(void **state)
{
    (void)state;
    static const double limits[WORKLOAD_KIND_COUNT] = {2, 3, 5, 7};
    struct scenario_part parts[SCENARIO_TENANTS_MAX];
    struct err err = {0};
    assert_status(scenario_load(&scenario, "three-tenants-flooder", &err), ST_OK);
    assert_status(scenario_parts(&scenario, 1.5, limits, WORKLOAD_SWE, parts, &err), ST_OK);
    assert_close(parts[0].rate_per_s, 0.2, 1e-12);
    assert_close(parts[1].rate_per_s, 0.5, 1e-12);
    assert_close(parts[2].rate_per_s, 2 * (1.5 - 0.35), 1e-12);
    assert_status(scenario_parts(&scenario, 0.3, limits, WORKLOAD_SWE, parts, &err), ST_INVAL);
    assert_status(read_text("tenants:\n"
                            "  - {name: a, share: 0.5, workload: claude-code}\n"
                            "  - {name: b}\n"
                            "  - {name: c}\n",
                            &err),
                  ST_OK);
    assert_status(scenario_parts(&scenario, 2, limits, WORKLOAD_SWE, parts, &err), ST_OK);
    assert_close(parts[0].rate_per_s, 3, 1e-12);
    assert_int_equal(parts[0].workload, WORKLOAD_CLAUDE_CODE);
    assert_close(parts[1].rate_per_s, 1, 1e-12);
    assert_close(parts[2].rate_per_s, 1, 1e-12);
}

static void models__divide_the_engines(void **state)
{
    (void)state;
    static struct scenario_run run;
    struct err err = {0};
    assert_status(read_text("models:\n"
                            "  - {name: a, engines_share: 0.3}\n"
                            "  - {name: b, engines_share: 0.7}\n",
                            &err),
                  ST_OK);
    scenario_run_init(&run, &scenario, 16);
    assert_int_equal(run.lab.model_count, 2);
    assert_int_equal(run.lab.model_engines[0], 5);
    assert_int_equal(run.lab.model_engines[1], 11);
    assert_true(str_eq(run.lab.model_names[1], STR("b")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__everything__is_there),
        cmocka_unit_test(read__wrong__says_where_and_what),
        cmocka_unit_test(builtin__each__can_be_read),
        cmocka_unit_test(load__over_time__stretches_the_time),
        cmocka_unit_test(tenants__of_a_load__bring_what_they_say),
        cmocka_unit_test(models__divide_the_engines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
