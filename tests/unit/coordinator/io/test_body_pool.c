/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/body_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const size_t large = 400000;

static void take__after_give__gets_the_same_memory(void **state)
{
    (void)state;
    struct body_pool pool;
    struct buf body;
    body_pool_init(&pool);
    buf_init(&body, mem_heap(), large * 2);
    assert_int_equal(body_pool_take(&pool, &body, large), ST_OK);
    const char *memory = body.p;
    body_pool_give(&pool, &body);
    assert_null(body.p);
    assert_int_equal(body.max_bytes, large * 2);
    assert_int_equal(body_pool_take(&pool, &body, large - 1), ST_OK);
    assert_ptr_equal(body.p, memory);
    assert_int_equal(body.len, 0);
    buf_fini(&body);
    body_pool_fini(&pool);
}

static void take__small_body__leaves_the_large_buffer(void **state)
{
    (void)state;
    struct body_pool pool;
    struct buf body;
    body_pool_init(&pool);
    buf_init(&body, mem_heap(), large);
    assert_int_equal(body_pool_take(&pool, &body, large), ST_OK);
    body_pool_give(&pool, &body);
    assert_int_equal(body_pool_take(&pool, &body, 100), ST_OK);
    assert_true(body.cap < large);
    buf_fini(&body);
    body_pool_fini(&pool);
}

static void give__more_than_places__keeps_the_largest(void **state)
{
    (void)state;
    struct body_pool pool;
    struct buf bodies[BODY_POOL_COUNT + 2];
    body_pool_init(&pool);
    for (size_t i = 0; i < BODY_POOL_COUNT + 2; i++) {
        buf_init(&bodies[i], mem_heap(), large);
        assert_int_equal(buf_reserve(&bodies[i], BODY_POOL_MIN_BYTES + i * 1000), ST_OK);
    }
    for (size_t i = 0; i < BODY_POOL_COUNT + 2; i++) {
        body_pool_give(&pool, &bodies[i]);
    }
    for (int i = 0; i < BODY_POOL_COUNT; i++) {
        assert_true(pool.bufs[i].cap >= BODY_POOL_MIN_BYTES + 2000);
    }
    body_pool_fini(&pool);
}

static void give__too_large__is_freed(void **state)
{
    (void)state;
    struct body_pool pool;
    struct buf body;
    body_pool_init(&pool);
    buf_init(&body, mem_heap(), (size_t)BODY_POOL_MAX_BYTES * 4);
    assert_int_equal(buf_reserve(&body, (size_t)BODY_POOL_MAX_BYTES * 2), ST_OK);
    body_pool_give(&pool, &body);
    for (int i = 0; i < BODY_POOL_COUNT; i++) {
        assert_int_equal(pool.bufs[i].cap, 0);
    }
    body_pool_fini(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__after_give__gets_the_same_memory),
        cmocka_unit_test(take__small_body__leaves_the_large_buffer),
        cmocka_unit_test(give__more_than_places__keeps_the_largest),
        cmocka_unit_test(give__too_large__is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
