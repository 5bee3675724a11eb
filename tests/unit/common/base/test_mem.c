/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/mem.h"

#include <string.h>

static void mem_heap__alloc_resize_free__keeps_the_content(void **state)
{
    (void)state;
    const struct mem *mem = mem_heap();
    char *p = mem_alloc(mem, 4);
    assert_non_null(p);
    memcpy(p, "abc", 4);
    p = mem_resize(mem, p, 4, 4096);
    assert_non_null(p);
    assert_string_equal(p, "abc");
    mem_free(mem, p, 4096);
}

static void mem_calloc__any_size__is_zeroed(void **state)
{
    (void)state;
    struct kit_mem km;
    kit_mem_init(&km);
    unsigned char *p = mem_calloc(&km.mem, 10, 10);
    assert_non_null(p);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(p[i], 0);
    }
    mem_free(&km.mem, p, 100);
    kit_mem_expect_empty(&km);
}

static void mem_calloc__product_overflows__is_refused(void **state)
{
    (void)state;
    assert_null(mem_calloc(mem_heap(), SIZE_MAX / 2, 3));
}

static void mem_free__null__does_nothing(void **state)
{
    (void)state;
    mem_free(mem_heap(), NULL, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem_heap__alloc_resize_free__keeps_the_content),
        cmocka_unit_test(mem_calloc__any_size__is_zeroed),
        cmocka_unit_test(mem_calloc__product_overflows__is_refused),
        cmocka_unit_test(mem_free__null__does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
