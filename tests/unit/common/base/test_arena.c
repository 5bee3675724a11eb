/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/arena.h"

#include <string.h>

static void arena_alloc__many_sizes__are_aligned_and_apart(void **state)
{
    (void)state;
    struct kit_mem km;
    struct arena arena;
    kit_mem_init(&km);
    arena_init(&arena, &km.mem, 256, 1 << 20);
    unsigned char *blocks[100];
    for (size_t i = 0; i < 100; i++) {
        blocks[i] = arena_alloc(&arena, i * 7);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)i, i * 7);
    }
    for (size_t i = 0; i < 100; i++) {
        for (size_t j = 0; j < i * 7; j++) {
            assert_int_equal(blocks[i][j], i);
        }
    }
    arena_fini(&arena);
    kit_mem_expect_empty(&km);
}

static void arena_alloc__more_than_a_chunk__leaves_the_head_in_use(void **state)
{
    (void)state;
    struct kit_mem km;
    struct arena arena;
    kit_mem_init(&km);
    arena_init(&arena, &km.mem, 256, 1 << 20);
    unsigned char *first = arena_alloc(&arena, 16);
    assert_non_null(arena_alloc(&arena, 1000));
    unsigned char *second = arena_alloc(&arena, 16);
    assert_ptr_equal(second, first + 16);
    assert_int_equal(km.live_count, 2);
    arena_fini(&arena);
    kit_mem_expect_empty(&km);
}

static void arena_alloc__limit_reached__is_null_and_smaller_ones_still_fit(void **state)
{
    (void)state;
    struct kit_mem km;
    struct arena arena;
    kit_mem_init(&km);
    arena_init(&arena, &km.mem, 64, 160);
    assert_non_null(arena_alloc(&arena, 64));
    assert_non_null(arena_alloc(&arena, 64));
    assert_null(arena_alloc(&arena, 64));
    assert_non_null(arena_alloc(&arena, 32));
    assert_null(arena_alloc(&arena, 1));
    assert_int_equal(arena.held_bytes, 160);
    assert_int_equal(arena.used_bytes, 160);
    arena_fini(&arena);
    kit_mem_expect_empty(&km);
}

static void arena_reset__several_chunks__keeps_one(void **state)
{
    (void)state;
    struct kit_mem km;
    struct arena arena;
    kit_mem_init(&km);
    arena_init(&arena, &km.mem, 128, 1 << 20);
    for (int i = 0; i < 20; i++) {
        assert_non_null(arena_alloc(&arena, 100));
    }
    assert_non_null(arena_alloc(&arena, 5000));
    arena_reset(&arena);
    assert_int_equal(km.live_count, 1);
    assert_int_equal(arena.used_bytes, 0);
    assert_int_equal(arena.held_bytes, 128);
    uint64_t calls = km.call_count;
    assert_non_null(arena_alloc(&arena, 100));
    assert_int_equal(km.call_count, calls);
    arena_fini(&arena);
    kit_mem_expect_empty(&km);
}

static void arena_alloc__huge_or_overflowing__is_null(void **state)
{
    (void)state;
    struct kit_mem km;
    struct arena arena;
    kit_mem_init(&km);
    arena_init(&arena, &km.mem, 128, SIZE_MAX);
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 20));
    assert_null(arena_calloc(&arena, SIZE_MAX / 2, 4));
    assert_null(arena_copy(&arena, "x", SIZE_MAX));
    arena_fini(&arena);
    kit_mem_expect_empty(&km);
}

static void arena_copy__bytes__are_terminated(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, mem_heap(), 128, 4096);
    char *copy = arena_copy(&arena, "abcdef", 3);
    assert_string_equal(copy, "abc");
    assert_string_equal(arena_copy(&arena, NULL, 0), "");
    uint64_t *zeros = arena_calloc(&arena, 3, 8);
    assert_int_equal(zeros[0] | zeros[1] | zeros[2], 0);
    arena_fini(&arena);
    arena_fini(NULL);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct arena arena;
    arena_init(&arena, mem, 64, 4096);
    bool is_done = true;
    for (int i = 0; i < 10 && is_done; i++) {
        size_t used = arena.used_bytes;
        is_done = arena_alloc(&arena, 50) != NULL;
        assert_true(is_done || arena.used_bytes == used);
    }
    arena_fini(&arena);
    return is_done;
}

static void arena__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_alloc__many_sizes__are_aligned_and_apart),
        cmocka_unit_test(arena_alloc__more_than_a_chunk__leaves_the_head_in_use),
        cmocka_unit_test(arena_alloc__limit_reached__is_null_and_smaller_ones_still_fit),
        cmocka_unit_test(arena_reset__several_chunks__keeps_one),
        cmocka_unit_test(arena_alloc__huge_or_overflowing__is_null),
        cmocka_unit_test(arena_copy__bytes__are_terminated),
        cmocka_unit_test(arena__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
