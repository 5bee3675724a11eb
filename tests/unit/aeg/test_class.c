/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/class.h"

#include "tests/kit/kit.h"

#include <stdio.h>

static const struct aeg_limits small = {.max_classes = 8,
                                        .max_tenants = 4,
                                        .max_cells = 64,
                                        .max_kinds = 3,
                                        .tenant_share = 2,
                                        .half_life_us = 1000000};

static uint32_t open_class(struct aeg_table *table, uint64_t tenant, uint64_t fingerprint)
{
    const struct aeg_key key = {tenant, 1, fingerprint};
    uint32_t node = AEG_NONE;
    assert_status(aeg_table_open(table, &key, &node), ST_OK);
    return node;
}

static uint32_t open_tool(struct aeg_table *table, uint32_t node, const char *name, uint64_t now_us)
{
    uint32_t cell = AEG_NONE;
    uint64_t kind = aeg_kind_of_tool(str_of(name));
    assert_status(aeg_table_cell_open(table, node, kind, str_of(name), now_us, &cell), ST_OK);
    aeg_cell_at(table, cell)->return_n += 1.0f;
    return cell;
}

static void open__same_key__same_class(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    uint32_t a = open_class(&table, 1, 1);
    assert_int_equal(open_class(&table, 1, 1), a);
    assert_int_not_equal(open_class(&table, 1, 2), a);
    assert_int_not_equal(open_class(&table, 2, 1), a);
    assert_int_equal(table.class_count, 3);
    assert_int_equal(table.tenant_count, 2);
    aeg_table_fini(&table);
}

static void open__table_full__least_recent_is_forgotten(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    for (uint64_t i = 0; i < 8; i++) {
        (void)open_class(&table, i % 4, i);
    }
    (void)open_class(&table, 0, 0);
    (void)open_class(&table, 3, 100);
    const struct aeg_key oldest = {1, 1, 1};
    const struct aeg_key used = {0, 1, 0};
    assert_int_equal(aeg_table_find(&table, &oldest), AEG_NONE);
    assert_int_not_equal(aeg_table_find(&table, &used), AEG_NONE);
    assert_int_equal(table.class_count, 8);
    assert_int_equal(table.forgotten_count, 1);
    aeg_table_fini(&table);
}

static void open__tenant_over_its_share__only_its_own_are_forgotten(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    (void)open_class(&table, 7, 0);
    for (uint64_t i = 0; i < 100000; i++) {
        uint32_t node = open_class(&table, 1, i);
        char name[32];
        (void)snprintf(name, sizeof(name), "tool%u", (unsigned)i);
        (void)open_tool(&table, node, name, 5);
    }
    const struct aeg_key other = {7, 1, 0};
    assert_int_not_equal(aeg_table_find(&table, &other), AEG_NONE);
    assert_int_equal(table.class_count, 5);
    assert_true(table.cells.used_nodes <= small.max_cells);
    assert_true(aeg_table_bytes(&table) < 300000);
    aeg_table_fini(&table);
}

static void cells__class_forgotten__none_keeps_a_serial(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    uint32_t node = open_class(&table, 1, 0);
    const uint32_t cells[] = {open_tool(&table, node, "Read", 5),
                              open_tool(&table, node, "Bash", 5)};
    for (uint64_t i = 1; i < 8; i++) {
        (void)open_class(&table, 1, i);
    }
    assert_int_equal(table.cells.used_nodes, 0);
    assert_int_equal(aeg_cell_at(&table, cells[0])->serial, 0);
    assert_int_equal(aeg_cell_at(&table, cells[1])->serial, 0);
    aeg_table_fini(&table);
}

static void open__more_tenants_than_allowed__full_and_counted(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    for (uint64_t i = 0; i < 4; i++) {
        (void)open_class(&table, i, 0);
    }
    const struct aeg_key key = {99, 1, 0};
    uint32_t node = 12345;
    assert_status(aeg_table_open(&table, &key, &node), ST_FULL);
    assert_int_equal(node, 12345);
    assert_int_equal(table.no_tenant_count, 1);
    aeg_table_fini(&table);
}

static void cell__more_tools_than_kinds__other(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    uint32_t node = open_class(&table, 1, 1);
    uint32_t read = open_tool(&table, node, "Read", 5);
    (void)open_tool(&table, node, "Grep", 5);
    (void)open_tool(&table, node, "Bash", 5);
    uint32_t fourth = open_tool(&table, node, "Edit", 5);
    assert_int_equal(open_tool(&table, node, "Glob", 5), fourth);
    assert_int_equal(open_tool(&table, node, "Read", 5), read);
    assert_int_equal(table.other_count, 2);
    assert_int_equal(aeg_table_cell(&table, node, aeg_kind_of_tool(STR("never seen"))), fourth);
    assert_int_equal(aeg_table_cell(&table, node, AEG_KIND_ANSWER), AEG_NONE);
    aeg_table_fini(&table);
}

static void cell__a_kind_has_faded__a_new_one_takes_its_place(void **state)
{
    (void)state;
    struct aeg_table table;
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    uint32_t node = open_class(&table, 1, 1);
    uint32_t read = open_tool(&table, node, "Read", 0);
    uint32_t serial = aeg_cell_at(&table, read)->serial;
    (void)open_tool(&table, node, "Grep", 5000000);
    (void)open_tool(&table, node, "Bash", 5000000);
    assert_int_equal(open_tool(&table, node, "Edit", 5000000), read);
    assert_int_not_equal(aeg_cell_at(&table, read)->serial, serial);
    assert_memory_equal(aeg_cell_at(&table, read)->name, "Edit", 4);
    assert_int_equal(table.replaced_count, 1);
    aeg_table_fini(&table);
}

static void cell__endless_name__cut(void **state)
{
    (void)state;
    struct aeg_table table;
    char name[1000];
    memset(name, '"', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_status(aeg_table_init(&table, mem_heap(), &small), ST_OK);
    uint32_t cell = open_tool(&table, open_class(&table, 1, 1), name, 5);
    assert_int_equal(aeg_cell_at(&table, cell)->name_len, AEG_NAME_BYTES);
    aeg_table_fini(&table);
}

static void init__limits_out_of_range__refused(void **state)
{
    (void)state;
    struct aeg_table table;
    struct aeg_limits limits = small;
    limits.max_kinds = AEG_KINDS_MAX + 1;
    assert_status(aeg_table_init(&table, mem_heap(), &limits), ST_INVAL);
    limits = small;
    limits.half_life_us = 0;
    assert_status(aeg_table_init(&table, mem_heap(), &limits), ST_INVAL);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    struct aeg_table table;
    bool is_fine = true;
    (void)ctx;
    if (aeg_table_init(&table, mem, &small) != ST_OK) {
        return false;
    }
    for (uint64_t i = 0; i < 20 && is_fine; i++) {
        const struct aeg_key key = {i % 3, 1, i};
        uint32_t node = AEG_NONE;
        uint32_t cell = AEG_NONE;
        uint32_t classes = table.class_count;
        is_fine = aeg_table_open(&table, &key, &node) == ST_OK;
        if (!is_fine) {
            assert_int_equal(aeg_table_find(&table, &key), AEG_NONE);
            assert_true(table.class_count <= classes);
        } else {
            is_fine = aeg_table_cell_open(&table, node, 100 + i, STR("x"), 1, &cell) == ST_OK;
        }
    }
    aeg_table_fini(&table);
    return is_fine;
}

static void table__each_allocation_fails__nothing_is_left(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open__same_key__same_class),
        cmocka_unit_test(open__table_full__least_recent_is_forgotten),
        cmocka_unit_test(open__tenant_over_its_share__only_its_own_are_forgotten),
        cmocka_unit_test(cells__class_forgotten__none_keeps_a_serial),
        cmocka_unit_test(open__more_tenants_than_allowed__full_and_counted),
        cmocka_unit_test(cell__more_tools_than_kinds__other),
        cmocka_unit_test(cell__a_kind_has_faded__a_new_one_takes_its_place),
        cmocka_unit_test(cell__endless_name__cut),
        cmocka_unit_test(init__limits_out_of_range__refused),
        cmocka_unit_test(table__each_allocation_fails__nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
