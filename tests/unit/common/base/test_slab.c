/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/slab.h"

#include <string.h>

struct node {
    uint64_t a;
    uint32_t b;
};

static void slab__many_nodes__keep_address_and_content(void **state)
{
    (void)state;
    struct kit_mem km;
    struct slab slab;
    kit_mem_init(&km);
    slab_init(&slab, &km.mem, sizeof(struct node), 1000);
    struct node *nodes[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t idx;
        nodes[i] = slab_alloc(&slab, &idx);
        assert_non_null(nodes[i]);
        assert_int_equal(idx, i);
        assert_int_equal(nodes[i]->a, 0);
        nodes[i]->a = i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_ptr_equal(slab_at(&slab, i), nodes[i]);
        assert_int_equal(nodes[i]->a, i);
    }
    assert_int_equal(slab.used_nodes, 1000);
    slab_fini(&slab);
    kit_mem_expect_empty(&km);
}

static void slab_alloc__full__is_counted_and_freed_ones_come_back_zeroed(void **state)
{
    (void)state;
    struct slab slab;
    slab_init(&slab, mem_heap(), sizeof(struct node), 3);
    for (int i = 0; i < 3; i++) {
        struct node *node = slab_alloc(&slab, NULL);
        assert_non_null(node);
        memset(node, 0xFF, sizeof(*node));
    }
    assert_null(slab_alloc(&slab, NULL));
    assert_int_equal(slab.full_count, 1);
    slab_free(&slab, 1);
    slab_free(&slab, 2);
    uint32_t idx;
    struct node *again = slab_alloc(&slab, &idx);
    assert_int_equal(idx, 2);
    assert_int_equal(again->a, 0);
    again = slab_alloc(&slab, &idx);
    assert_int_equal(idx, 1);
    assert_int_equal(again->b, 0);
    assert_int_equal(slab.used_nodes, 3);
    slab_fini(&slab);
}

static void slab_at__index_never_given__is_our_bug(void **state)
{
    (void)state;
    struct slab slab;
    slab_init(&slab, mem_heap(), 8, 3);
    expect_assert_failure((void)slab_at(&slab, 0));
    slab_fini(&slab);
    slab_fini(NULL);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct slab slab;
    slab_init(&slab, mem, 100, 2000);
    bool is_done = true;
    uint32_t made = 0;
    while (made < 1500 && is_done) {
        is_done = slab_alloc(&slab, NULL) != NULL;
        made += is_done ? 1 : 0;
        assert_int_equal(slab.used_nodes, made);
    }
    if (!is_done) { /* it still works after the failure */
        assert_non_null(slab_alloc(&slab, NULL));
    }
    slab_fini(&slab);
    return is_done;
}

static void slab__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slab__many_nodes__keep_address_and_content),
        cmocka_unit_test(slab_alloc__full__is_counted_and_freed_ones_come_back_zeroed),
        cmocka_unit_test(slab_at__index_never_given__is_our_bug),
        cmocka_unit_test(slab__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
