/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/tenants.h"
#include "bench/lab/tenants_shares.h"
#include "tests/kit/kit.h"

static struct scenario scenario;

static void make__two_tenants__each_has_its_own_numbers(void **state)
{
    (void)state;
    static const struct lab_session sessions[] = {
        {.tenant = 0}, {.tenant = 1}, {.tenant = 1}, {.tenant = 1}, {.tenant = 0}};
    static const struct lab_arrival arrivals[] = {
        {.session = 0}, {.session = 1}, {.session = 2}, {.session = 3}, {.session = 4}};
    static const struct metrics_session scored[] = {
        {.tct_s = 2, .alone_s = 1, .is_finished = true},
        {.tct_s = 2, .alone_s = 1, .is_finished = true},
        {.tct_s = 6, .alone_s = 1, .is_finished = true},
        {.tct_s = 1, .alone_s = 1, .is_given_up = true},
        {.tct_s = 1, .alone_s = 1},
    };
    static const struct lab_scenario lab = {.tenant_count = 2};
    const struct lab_plan plan = {.sessions = sessions,
                                  .session_count = 5,
                                  .arrivals = arrivals,
                                  .arrival_count = 5,
                                  .scenario = &lab};
    struct tenants tenants;
    struct buf out;
    assert_status(tenants_make(&plan, scored, &tenants), ST_OK);
    assert_int_equal(tenants.count, 2);
    assert_int_equal(tenants.of[1].sessions, 3);
    assert_close(tenants.of[0].mean_slowdown, 1.5, 1e-12);
    assert_close(tenants.of[0].share_within_2p5x, 0.5, 1e-12); /* the other has not ended */
    assert_close(tenants.of[1].mean_slowdown, 4, 1e-12);
    assert_close(tenants.of[1].p99_slowdown, 6, 1e-12);
    assert_close(tenants.of[1].share_within_2p5x, 1.0 / 3, 1e-12);
    assert_close(tenants.of[1].refused_share, 1.0 / 3, 1e-12);
    assert_close(tenants.worst_slowdown, 4, 1e-12);
    scenario.tenant_count = 2;
    (void)str_copy(scenario.tenants[0].name, SCENARIO_NAME_BYTES, STR("a\"b"));
    (void)str_copy(scenario.tenants[1].name, SCENARIO_NAME_BYTES, STR("c"));
    buf_init(&out, mem_heap(), 4096);
    assert_status(tenants_json(&tenants, &scenario, &out), ST_OK);
    static const char wanted[] =
        ",\"worst_tenant_slowdown\":4,\"tenants\":[{\"tenant\":\"a\\\"b\",\"sessions\":2,"
        "\"mean_slowdown\":1.5,\"p99_slowdown\":2,\"share_within_2p5x\":0.5,\"refused_share\":0},"
        "{\"tenant\":\"c\",\"sessions\":3,\"mean_slowdown\":4,\"p99_slowdown\":6,"
        "\"share_within_2p5x\":0.333333,\"refused_share\":0.333333}]";
    assert_true(str_eq(buf_str(&out), str_of(wanted)));
    buf_fini(&out);
}

static enum status read_shares(const char *text, struct err *err)
{
    struct lines *lines = NULL;
    scenario = (struct scenario){0};
    assert_status(lines_open_mem(&lines, str_of(text), err), ST_OK);
    enum status st = tenants_shares_read(&scenario, "f.csv", lines, err);
    lines_close(lines);
    return st;
}

static void shares__of_windows__add_up_by_client(void **state)
{
    (void)state;
    struct err err = {0};
    assert_status(read_shares("pool,client,t_s,rate_rps\n"
                              "p,0,0,1\np,1,0,3\nq,0,0,2\np,0,600,4\n",
                              &err),
                  ST_OK);
    assert_int_equal(scenario.tenant_count, 3);
    assert_string_equal(scenario.tenants[0].name, "p/0");
    assert_close(scenario.tenants[0].share, 0.5, 1e-12);
    assert_string_equal(scenario.tenants[1].name, "p/1");
    assert_close(scenario.tenants[2].share, 0.2, 1e-12);
}

static void shares__of_many_clients__the_small_ones_are_the_rest(void **state)
{
    (void)state;
    struct err err = {0};
    struct buf text;
    double sum = 0;
    buf_init(&text, mem_heap(), 4096);
    assert_status(buf_add_str(&text, STR("pool,client,rate_rps\n")), ST_OK);
    for (int i = 0; i < 40; i++) {
        assert_status(buf_add_fmt(&text, "p,%d,%d\n", i, i + 1), ST_OK);
    }
    assert_status(buf_add(&text, "", 1), ST_OK);
    assert_status(read_shares(text.p, &err), ST_OK);
    assert_int_equal(scenario.tenant_count, SCENARIO_TENANTS_MAX);
    assert_string_equal(scenario.tenants[0].name, "p/39");
    assert_string_equal(scenario.tenants[SCENARIO_TENANTS_MAX - 1].name, "rest");
    for (uint32_t i = 0; i < scenario.tenant_count; i++) {
        sum += scenario.tenants[i].share;
    }
    assert_close(sum, 1, 1e-9);
    buf_fini(&text);
}

static void shares__wrong__says_where(void **state)
{
    (void)state;
    struct err err = {0};
    assert_status(read_shares("pool,rate_rps\np,1\n", &err), ST_INVAL);
    assert_string_equal(err.text, "f.csv:1: a heading with pool, client and rate_rps is missing");
    assert_status(read_shares("pool,client,rate_rps\np,1\n", &err), ST_INVAL);
    assert_string_equal(err.text, "f.csv:2: no rate of a client");
    assert_status(read_shares("pool,client,rate_rps\np,1,0\n", &err), ST_INVAL);
    assert_string_equal(err.text, "f.csv: all rates are 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make__two_tenants__each_has_its_own_numbers),
        cmocka_unit_test(shares__of_windows__add_up_by_client),
        cmocka_unit_test(shares__of_many_clients__the_small_ones_are_the_rest),
        cmocka_unit_test(shares__wrong__says_where),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
