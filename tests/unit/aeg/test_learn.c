/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/learn.h"

#include "tests/kit/kit.h"

#define SECOND UINT64_C(1000000)

static const struct aeg_limits roomy = {.max_classes = 100,
                                        .max_tenants = 10,
                                        .max_cells = 2000,
                                        .max_kinds = 16,
                                        .tenant_share = 1,
                                        .half_life_us = 86400 * SECOND};

static const struct aeg_key key = {1, 2, 3};

static const struct str bash = STR("Bash");
static const struct str read_tool = STR("Read");

/* A session with one step behind it. */
static void begin(struct aeg *aeg, struct aeg_session *session)
{
    const struct aeg_step ended = {.new_tokens = 1000, .out_tokens = 100, .context_tokens = 3000};
    assert_status(aeg_init(aeg, mem_heap(), &roomy), ST_OK);
    assert_status(aeg_observe_start(aeg, session, &key, 0), ST_OK);
    aeg_observe_step(aeg, session, &ended, 0);
}

static const struct aeg_cell *class_cell(const struct aeg *aeg, uint64_t kind)
{
    uint32_t idx = aeg_table_cell(&aeg->table, aeg_table_find(&aeg->table, &key), kind);
    assert_true(idx != AEG_NONE);
    return aeg_cell_at(&aeg->table, idx);
}

static void gap__still_open__counts_as_censored_until_it_closes(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    begin(&aeg, &session);
    assert_status(aeg_observe_gap_opened(&aeg, &session, &bash, 1, 0), ST_OK);
    aeg_observe_gap_censored(&aeg, &session, 60 * SECOND);
    aeg_observe_gap_censored(&aeg, &session, 120 * SECOND);
    const struct aeg_cell *cell = aeg_ref_cell(&aeg, session.cells[2]);
    assert_close((double)cell->return_risk[0], 1.0, 0.01);
    assert_close((double)(cell->return_n - cell->return_ended_n), 1.0, 0.01);
    aeg_observe_gap_closed(&aeg, &session, 130 * SECOND);
    assert_close((double)cell->return_risk[0], 1.0, 0.01);
    assert_close((double)cell->return_risk[DIST_BINS - 1], 0.0, 1e-6);
    assert_close((double)cell->return_n, (double)cell->return_ended_n, 1e-6);
    aeg_fini(&aeg);
}

static void gap_named__opened_as_an_answer__closes_as_the_tool(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    begin(&aeg, &session);
    assert_status(aeg_observe_gap_opened(&aeg, &session, NULL, 0, 10 * SECOND), ST_OK);
    aeg_observe_gap_censored(&aeg, &session, 70 * SECOND);
    assert_status(aeg_observe_gap_named(&aeg, &session, &bash, 1, 90 * SECOND), ST_OK);
    aeg_observe_gap_closed(&aeg, &session, 90 * SECOND);
    uint32_t bin = dist_bin(&dist_axis_time_us, 80.0 * 1e6);
    const struct aeg_cell *named = class_cell(&aeg, aeg_kind_of_tool(bash));
    assert_close((double)named->return_ended[bin], 1.0, 0.01);
    assert_close((double)named->return_n, 1.0, 0.01);
    const struct aeg_cell *before = class_cell(&aeg, AEG_KIND_ANSWER);
    assert_close((double)before->return_n, 0.0, 1e-6);
    assert_close((double)before->return_risk[0], 0.0, 1e-6);
    /* One gap, counted once for all kinds. */
    const struct aeg_cell *any = class_cell(&aeg, AEG_KIND_ANY);
    assert_close((double)any->return_n, 1.0, 0.01);
    assert_close((double)any->return_risk[0], 1.0, 0.01);
    assert_int_equal(session.recent_count, 1);
    assert_int_equal(session.recent[0].kind, (uint16_t)aeg_kind_of_tool(bash));
    assert_int_equal(session.recent[0].wait_bin, bin);
    assert_int_equal(aeg.gap_count, 1);
    aeg_fini(&aeg);
}

static void gap_named__same_kind__its_mark_stays(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    begin(&aeg, &session);
    assert_status(aeg_observe_gap_opened(&aeg, &session, &bash, 1, 0), ST_OK);
    aeg_observe_gap_censored(&aeg, &session, 60 * SECOND);
    assert_status(aeg_observe_gap_named(&aeg, &session, &bash, 1, 90 * SECOND), ST_OK);
    assert_true(session.is_marked);
    assert_close((double)class_cell(&aeg, session.kind)->return_n, 1.0, 0.01);
    aeg_fini(&aeg);
}

static void gap_named__no_gap_open__nothing_happens(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    begin(&aeg, &session);
    uint32_t cells = aeg.table.cells.used_nodes;
    assert_status(aeg_observe_gap_named(&aeg, &session, &bash, 1, SECOND), ST_OK);
    assert_int_equal(session.kind, AEG_KIND_START);
    assert_int_equal(session.recent_count, 0);
    assert_int_equal(aeg.table.cells.used_nodes, cells);
    aeg_fini(&aeg);
}

static void gap_dropped__marked_before__leaves_no_trace(void **state)
{
    (void)state;
    struct aeg aeg;
    struct aeg_session session;
    begin(&aeg, &session);
    assert_status(aeg_observe_gap_opened(&aeg, &session, &read_tool, 1, 0), ST_OK);
    aeg_observe_gap_censored(&aeg, &session, 60 * SECOND);
    aeg_observe_gap_dropped(&aeg, &session);
    aeg_observe_gap_closed(&aeg, &session, 90 * SECOND);
    aeg_observe_gap_dropped(&aeg, &session);
    const uint64_t kinds[] = {AEG_KIND_ANY, session.kind};
    for (size_t i = 0; i < 2; i++) {
        const struct aeg_cell *cell = class_cell(&aeg, kinds[i]);
        if (cell->return_n > 1e-6f || cell->return_risk[0] > 1e-6f) {
            fail_msg("kind %zu counts %g", i, (double)cell->return_n);
        }
    }
    assert_int_equal(session.recent[0].wait_bin, AEG_BIN_NONE);
    assert_int_equal(aeg.gap_count, 0);
    aeg_fini(&aeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gap__still_open__counts_as_censored_until_it_closes),
        cmocka_unit_test(gap_named__opened_as_an_answer__closes_as_the_tool),
        cmocka_unit_test(gap_named__same_kind__its_mark_stays),
        cmocka_unit_test(gap_named__no_gap_open__nothing_happens),
        cmocka_unit_test(gap_dropped__marked_before__leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
