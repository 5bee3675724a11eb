/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/workflows.h"

#include "tests/unit/coordinator/core/desk.h"

#include <stdio.h>

#define U AEG_SPEC_UNSAID

static const struct aeg_spec_node_input nodes[] = {
    {{"plan", 4}, 2000, 800, 1500, 4000, 1},
    {{"co\"de", 5}, U, U, U, U, 3},
};
static const struct aeg_spec_edge_input edges[] = {{{"plan", 4}, {"co\"de", 5}, 900000}};
static const struct aeg_spec_input two = {nodes, edges, 2, 1};
static const struct aeg_spec_input one = {nodes, NULL, 1, 0};
static const struct aeg_spec_input wrong = {nodes, NULL, 0, 0};

static const struct str no_tenant = {"", 0};

struct table {
    struct kit_mem km;
    struct coord_workflows workflows;
};

static void open_table(struct table *table, uint32_t max_count, uint64_t max_bytes)
{
    kit_mem_init(&table->km);
    coord_workflows_init(&table->workflows, &table->km.mem, max_count, max_bytes);
}

static void close_table(struct table *table)
{
    coord_workflows_fini(&table->workflows);
    kit_mem_expect_empty(&table->km);
}

static enum status declare(struct table *table, const char *id, const struct aeg_spec_input *input)
{
    return coord_workflows_declare(&table->workflows, no_tenant, str_of(id), input);
}

static const struct aeg_spec *take(struct table *table, const char *id)
{
    return coord_workflows_take(&table->workflows, no_tenant, str_of(id));
}

static bool is_known(struct table *table, const char *id)
{
    return coord_workflows_find(&table->workflows, no_tenant, str_of(id)) != NULL;
}

static void declare__then_take__by_tenant_and_id(void **state)
{
    (void)state;
    struct table table;
    open_table(&table, 10, 100000);
    assert_status(declare(&table, "w", &two), ST_OK);
    assert_null(take(&table, "x"));
    assert_null(coord_workflows_take(&table.workflows, STR("acme"), STR("w")));
    /* Tenant and id are not simply put behind one another. */
    assert_status(coord_workflows_declare(&table.workflows, STR("a"), STR("bw"), &one), ST_OK);
    assert_null(coord_workflows_take(&table.workflows, STR("ab"), STR("w")));
    const struct aeg_spec *spec = take(&table, "w");
    assert_non_null(spec);
    assert_int_equal(spec->node_count, 2);
    coord_workflows_give(&table.workflows, spec);
    coord_workflows_give(&table.workflows, NULL);
    close_table(&table);
}

static void declare__wrong__is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct table table;
    open_table(&table, 10, 100000);
    assert_status(declare(&table, "w", &two), ST_OK);
    assert_status(declare(&table, "w", &wrong), ST_INVAL);
    assert_status(declare(&table, "", &one), ST_INVAL);
    assert_int_equal(take(&table, "w")->node_count, 2);
    close_table(&table);
}

static void declare__again__sessions_keep_what_they_have(void **state)
{
    (void)state;
    struct table table;
    open_table(&table, 10, 100000);
    assert_status(declare(&table, "w", &two), ST_OK);
    const struct aeg_spec *old = take(&table, "w");
    assert_status(declare(&table, "w", &one), ST_OK);
    const struct aeg_spec *now = take(&table, "w");
    assert_int_equal(old->node_count, 2);
    assert_int_equal(now->node_count, 1);
    assert_int_equal(table.workflows.slab.used_nodes, 2);
    coord_workflows_give(&table.workflows, old);
    assert_int_equal(table.workflows.slab.used_nodes, 1);
    coord_workflows_give(&table.workflows, now);
    assert_true(is_known(&table, "w"));
    assert_status(declare(&table, "w", &two), ST_OK);
    assert_int_equal(table.workflows.slab.used_nodes, 1);
    close_table(&table);
}

static void drop__in_use__goes_with_its_last_session(void **state)
{
    (void)state;
    struct table table;
    open_table(&table, 10, 100000);
    assert_status(declare(&table, "w", &two), ST_OK);
    const struct aeg_spec *spec = take(&table, "w");
    assert_ptr_equal(take(&table, "w"), spec);
    assert_true(coord_workflows_drop(&table.workflows, no_tenant, STR("w")));
    assert_false(coord_workflows_drop(&table.workflows, no_tenant, STR("w")));
    assert_null(take(&table, "w"));
    coord_workflows_give(&table.workflows, spec);
    assert_int_equal(spec->node_count, 2);
    assert_int_equal(table.workflows.gone_count, 1);
    coord_workflows_give(&table.workflows, spec);
    assert_int_equal(table.workflows.gone_count, 0);
    assert_int_equal(table.workflows.bytes, 0);
    close_table(&table);
}

static void table__full__the_longest_unused_is_forgotten(void **state)
{
    (void)state;
    struct table table;
    open_table(&table, 3, 100000);
    assert_status(declare(&table, "a", &one), ST_OK);
    assert_status(declare(&table, "b", &one), ST_OK);
    assert_status(declare(&table, "c", &one), ST_OK);
    const struct aeg_spec *b = take(&table, "b");
    const struct aeg_spec *a = take(&table, "a");
    coord_workflows_give(&table.workflows, a);
    assert_status(declare(&table, "d", &one), ST_OK);
    assert_true(is_known(&table, "a") && is_known(&table, "b") && is_known(&table, "d"));
    assert_false(is_known(&table, "c"));
    assert_int_equal(table.workflows.forgotten_count, 1);
    a = take(&table, "a");
    const struct aeg_spec *d = take(&table, "d");
    assert_status(declare(&table, "e", &one), ST_FULL);
    assert_status(declare(&table, "d", &two), ST_FULL);
    assert_int_equal(table.workflows.slab.used_nodes, 3);
    coord_workflows_give(&table.workflows, a);
    coord_workflows_give(&table.workflows, b);
    coord_workflows_give(&table.workflows, d);
    close_table(&table);
}

static void table__bytes__are_bounded(void **state)
{
    (void)state;
    struct table table;
    open_table(&table, 1000, 1000);
    for (int i = 0; i < 100; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "w%d", i);
        assert_status(declare(&table, id, &two), ST_OK);
        assert_true(table.workflows.bytes <= 1000);
    }
    assert_true(table.workflows.slab.used_nodes >= 2);
    assert_int_equal(table.workflows.slab.used_nodes + table.workflows.forgotten_count, 100);
    close_table(&table);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct coord_workflows workflows;
    coord_workflows_init(&workflows, mem, 4, 100000);
    enum status st = coord_workflows_declare(&workflows, no_tenant, STR("w"), &one);
    const struct aeg_spec *spec = coord_workflows_take(&workflows, no_tenant, STR("w"));
    assert_true((st == ST_OK) == (spec != NULL));
    enum status again = coord_workflows_declare(&workflows, no_tenant, STR("w"), &two);
    const struct coord_workflow *now = coord_workflows_find(&workflows, no_tenant, STR("w"));
    if (again != ST_OK && spec != NULL) {
        assert_non_null(now);
        assert_int_equal(now->spec->node_count, 1);
    }
    coord_workflows_give(&workflows, spec);
    coord_workflows_fini(&workflows);
    return st == ST_OK && again == ST_OK;
}

static void declare__each_allocation_fails__what_was_known_still_is(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 4);
}

/* --- by events, and what the admin port says --- */

static void expect_text(struct buf *out, const char *text)
{
    assert_status(buf_add(out, "", 1), ST_OK);
    assert_string_equal(out->p, text);
    out->len = 0;
}

static void events__declare_and_drop__seen_in_the_answers(void **state)
{
    (void)state;
    struct desk desk;
    struct coord_limits limits = desk_limits();
    limits.max_workflows = 10;
    limits.max_workflow_bytes = 100000;
    desk_open(&desk, &limits);
    struct coord_event ev = {.kind = COORD_EV_WORKFLOW_DECLARED};
    ev.u.workflow = (struct coord_workflow_declared){.id = STR("w"), .spec = two};
    desk_event(&desk, &ev);
    assert_int_equal(desk.effects->count, 0);
    ev.u.workflow.id = STR("v");
    ev.u.workflow.spec = one;
    desk_event(&desk, &ev);
    assert_true(coord_core_has_workflow(desk.core, no_tenant, STR("w")));

    struct buf out;
    buf_init(&out, mem_heap(), 100000);
    assert_status(coord_core_write_workflows(desk.core, 10, &out), ST_OK);
    expect_text(&out, "[{\"id\":\"v\",\"sessions\":0,\"nodes\":1,\"edges\":0,\"steps\":1.000,"
                      "\"work_ms\":4000},"
                      "{\"id\":\"w\",\"sessions\":0,\"nodes\":2,\"edges\":1,\"steps\":3.700,"
                      "\"work_ms\":4000}]");
    assert_status(coord_core_write_workflows(desk.core, 0, &out), ST_OK);
    expect_text(&out, "[]");
    assert_status(coord_core_write_workflow(desk.core, no_tenant, STR("w"), &out), ST_OK);
    expect_text(&out, "{\"id\":\"w\",\"sessions\":0,\"nodes\":2,\"edges\":1,\"steps\":3.700,"
                      "\"work_ms\":4000,\"workflow\":{\"id\":\"w\",\"nodes\":[{\"name\":\"plan\","
                      "\"new_tokens\":2000,\"output_tokens\":800,\"gap_ms\":1500,\"work_ms\":4000},"
                      "{\"name\":\"co\\\"de\",\"visits\":3}],\"edges\":[{\"from\":\"plan\","
                      "\"to\":\"co\\\"de\",\"probability\":0.9}]}}");

    struct coord_event drop = {.kind = COORD_EV_WORKFLOW_DROPPED};
    drop.u.workflow_dropped.id = STR("w");
    desk_event(&desk, &drop);
    desk_event(&desk, &drop);
    assert_status(coord_core_write_workflow(desk.core, no_tenant, STR("w"), &out), ST_NOTFOUND);
    assert_false(coord_core_has_workflow(desk.core, no_tenant, STR("w")));
    buf_fini(&out);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(declare__then_take__by_tenant_and_id),
        cmocka_unit_test(declare__wrong__is_refused_and_changes_nothing),
        cmocka_unit_test(declare__again__sessions_keep_what_they_have),
        cmocka_unit_test(drop__in_use__goes_with_its_last_session),
        cmocka_unit_test(table__full__the_longest_unused_is_forgotten),
        cmocka_unit_test(table__bytes__are_bounded),
        cmocka_unit_test(declare__each_allocation_fails__what_was_known_still_is),
        cmocka_unit_test(events__declare_and_drop__seen_in_the_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
