/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/heap.h"
#include "common/base/rng.h"

enum { NODES = 200, STEPS = 20000, SEED = 11 };

struct timer {
    int label;
    struct heap_node node;
};

static void heap__same_keys__come_out_by_tie(void **state)
{
    (void)state;
    struct heap heap;
    struct timer timers[4] = {{.label = 0}, {.label = 1}, {.label = 2}, {.label = 3}};
    heap_init(&heap, mem_heap(), 10);
    assert_status(heap_insert(&heap, &timers[0].node, 5, 2), ST_OK);
    assert_status(heap_insert(&heap, &timers[1].node, 5, 1), ST_OK);
    assert_status(heap_insert(&heap, &timers[2].node, 4, 9), ST_OK);
    assert_status(heap_insert(&heap, &timers[3].node, 5, 3), ST_OK);
    static const int order[] = {2, 1, 0, 3};
    for (int i = 0; i < 4; i++) {
        struct heap_node *min = heap_min(&heap);
        assert_int_equal(HEAP_OWNER(min, struct timer, node)->label, order[i]);
        heap_remove(&heap, min);
        assert_false(heap_node_is_linked(min));
    }
    assert_null(heap_min(&heap));
    heap_fini(&heap);
    heap_fini(NULL);
}

static struct heap_node *scan_min(struct heap_node *nodes)
{
    struct heap_node *best = NULL;
    for (int i = 0; i < NODES; i++) {
        struct heap_node *n = &nodes[i];
        if (heap_node_is_linked(n) &&
            (best == NULL || n->key < best->key || (n->key == best->key && n->tie < best->tie))) {
            best = n;
        }
    }
    return best;
}

static void heap__random_steps__min_agrees_with_a_scan(void **state)
{
    (void)state;
    struct kit_mem km;
    struct heap heap;
    struct rng rng;
    struct heap_node nodes[NODES] = {0};
    kit_mem_init(&km);
    heap_init(&heap, &km.mem, NODES);
    rng_init(&rng, SEED);
    print_message("seed %d\n", SEED);
    for (int step = 0; step < STEPS; step++) {
        uint64_t i = rng_below(&rng, NODES);
        uint64_t key = rng_below(&rng, 50);
        if (!heap_node_is_linked(&nodes[i])) {
            assert_status(heap_insert(&heap, &nodes[i], key, i), ST_OK);
        } else if (rng_below(&rng, 2) == 0) {
            heap_update(&heap, &nodes[i], key, i);
        } else {
            heap_remove(&heap, &nodes[i]);
        }
        assert_ptr_equal(heap_min(&heap), scan_min(nodes));
    }
    heap_fini(&heap);
    kit_mem_expect_empty(&km);
}

static void heap_insert__limit_reached__is_full_and_counted(void **state)
{
    (void)state;
    struct heap heap;
    struct heap_node nodes[2] = {0};
    heap_init(&heap, mem_heap(), 1);
    assert_status(heap_insert(&heap, &nodes[0], 1, 1), ST_OK);
    assert_status(heap_insert(&heap, &nodes[1], 0, 1), ST_FULL);
    assert_int_equal(heap.full_count, 1);
    assert_false(heap_node_is_linked(&nodes[1]));
    heap_fini(&heap);
}

static void heap_remove__node_of_no_heap__is_our_bug(void **state)
{
    (void)state;
    struct heap heap;
    struct heap_node node = {0};
    heap_init(&heap, mem_heap(), 1);
    expect_assert_failure(heap_remove(&heap, &node));
    heap_fini(&heap);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct heap heap;
    struct heap_node nodes[100] = {0};
    heap_init(&heap, mem, 100);
    bool is_done = true;
    for (uint32_t i = 0; i < 100 && is_done; i++) {
        is_done = heap_insert(&heap, &nodes[i], 100 - i, i) == ST_OK;
        assert_int_equal(heap.count, is_done ? i + 1 : i);
        assert_int_equal(heap_node_is_linked(&nodes[i]), is_done);
    }
    heap_fini(&heap);
    return is_done;
}

static void heap__each_allocation_fails__nothing_changes(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap__same_keys__come_out_by_tie),
        cmocka_unit_test(heap__random_steps__min_agrees_with_a_scan),
        cmocka_unit_test(heap_insert__limit_reached__is_full_and_counted),
        cmocka_unit_test(heap_remove__node_of_no_heap__is_our_bug),
        cmocka_unit_test(heap__each_allocation_fails__nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
