/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "coordinator/core/classes.h"

enum { TENANT = 7, MODEL = 9 };

/* A sketch that differs from base in the lowest n bits. */
static uint64_t off_by(uint64_t base, uint32_t n)
{
    return base ^ ((UINT64_C(1) << n) - 1);
}

static uint64_t resolve(struct coord_classes *classes, uint64_t opening, uint64_t sketch)
{
    return coord_classes_resolve(classes, TENANT, MODEL, opening, sketch);
}

static void classes__openings_that_read_alike__are_one_class(void **state)
{
    (void)state;
    struct coord_classes classes;
    const uint64_t sketch = UINT64_C(0x5a5a1234deadbeef);
    coord_classes_init(&classes, mem_heap(), 100);
    assert_int_equal(resolve(&classes, 0, sketch), 0);
    assert_int_equal(resolve(&classes, 11, sketch), 11);
    assert_int_equal(resolve(&classes, 12, off_by(sketch, COORD_CLASSES_BITS)), 11);
    assert_int_equal(resolve(&classes, 13, off_by(sketch, COORD_CLASSES_BITS + 1)), 13);
    assert_int_equal(classes.founded_count, 2);
    assert_int_equal(classes.joined_count, 1);
    /* 14 lies nearer to 13 than to 11; 12 stays where it was found first */
    assert_int_equal(resolve(&classes, 14, off_by(sketch, COORD_CLASSES_BITS)), 13);
    assert_int_equal(resolve(&classes, 12, off_by(sketch, COORD_CLASSES_BITS)), 11);
    coord_classes_fini(&classes);
}

static void classes__two_as_near__the_older_takes_it(void **state)
{
    (void)state;
    struct coord_classes classes;
    coord_classes_init(&classes, mem_heap(), 100);
    assert_int_equal(resolve(&classes, 1, 0x3FFF), 1); /* 14 bits apart, and 7 from what comes */
    assert_int_equal(resolve(&classes, 2, 0), 2);
    assert_int_equal(resolve(&classes, 1, 0x3FFF), 1); /* used last */
    assert_int_equal(resolve(&classes, 3, 0x7F), 1);
    assert_int_equal(resolve(&classes, 2, 0), 2);
    assert_int_equal(resolve(&classes, 4, 0x3F80), 1);
    coord_classes_fini(&classes);
}

static void classes__other_tenants_and_models__share_nothing(void **state)
{
    (void)state;
    struct coord_classes classes;
    coord_classes_init(&classes, mem_heap(), 100);
    assert_int_equal(coord_classes_resolve(&classes, 1, 1, 11, 5), 11);
    assert_int_equal(coord_classes_resolve(&classes, 1, 2, 12, 5), 12);
    assert_int_equal(coord_classes_resolve(&classes, 2, 1, 13, 5), 13);
    assert_int_equal(coord_classes_resolve(&classes, 2, 2, 14, 5), 14);
    assert_int_equal(coord_classes_resolve(&classes, 2, 1, 12, 5), 13);
    assert_int_equal(classes.founded_count, 4);
    coord_classes_fini(&classes);
}

static void classes__a_forgotten_opening__finds_its_class_again(void **state)
{
    (void)state;
    struct coord_classes classes;
    coord_classes_init(&classes, mem_heap(), 8);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(resolve(&classes, i, 77), 1); /* far more than the cache holds */
    }
    assert_int_equal(resolve(&classes, 2, 77), 1);
    assert_int_equal(classes.founded_count, 1);
    assert_int_equal(classes.slab.used_nodes, 1);
    coord_classes_fini(&classes);
}

static void classes__one_tenant_with_a_million_openings__leaves_the_others_theirs(void **state)
{
    (void)state;
    struct coord_classes classes;
    struct kit_mem km;
    struct rng rng;
    kit_mem_init(&km);
    rng_init(&rng, 5);
    coord_classes_init(&classes, &km.mem, 10000);
    for (uint64_t tenant = 1; tenant <= 50; tenant++) {
        (void)coord_classes_resolve(&classes, tenant, MODEL, tenant, tenant * 0x123456789);
    }
    size_t most_bytes = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        uint64_t model = i < 500000 ? MODEL : rng_u64(&rng);
        (void)coord_classes_resolve(&classes, 99, model, rng_u64(&rng) | 1, rng_u64(&rng));
        if (i == 600000) {
            most_bytes = km.live_bytes;
        }
    }
    assert_int_equal(km.live_bytes, most_bytes);
    assert_true(classes.slab.used_nodes <= 10000 / COORD_CLASSES_SHARE + 50);
    assert_true(classes.groups.used_nodes <= 2 * classes.slab.used_nodes);
    uint64_t founded = classes.founded_count;
    for (uint64_t tenant = 1; tenant <= 50; tenant++) {
        assert_int_equal(coord_classes_resolve(&classes, tenant, MODEL, 1000, tenant * 0x123456789),
                         tenant);
    }
    assert_int_equal(classes.founded_count, founded);
    coord_classes_fini(&classes);
    kit_mem_expect_empty(&km);
}

static void classes__one_model_with_many__keeps_those_used_last(void **state)
{
    (void)state;
    struct coord_classes classes;
    coord_classes_init(&classes, mem_heap(), 10000);
    for (uint64_t i = 1; i <= UINT64_C(2) * COORD_CLASSES_SCAN; i++) {
        assert_int_equal(resolve(&classes, i, hash_mix(i, 0)), i);
        assert_int_equal(resolve(&classes, 1, hash_mix(1, 0)), 1);
    }
    assert_int_equal(classes.slab.used_nodes, COORD_CLASSES_SCAN);
    assert_int_equal(classes.forgotten_count, COORD_CLASSES_SCAN);
    assert_int_equal(resolve(&classes, 9999, hash_mix(1, 0)), 1);
    coord_classes_fini(&classes);
}

static void classes__many_tenants__never_hold_more_than_the_limit(void **state)
{
    (void)state;
    struct coord_classes classes;
    coord_classes_init(&classes, mem_heap(), 10);
    for (uint64_t i = 1; i <= 1000; i++) {
        assert_int_equal(coord_classes_resolve(&classes, i % 13, i % 3, i, hash_mix(i, 0)), i);
        assert_true(classes.slab.used_nodes <= 10);
    }
    assert_int_equal(classes.founded_count, classes.forgotten_count + classes.slab.used_nodes);
    coord_classes_fini(&classes);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct coord_classes classes;
    bool is_all = true;
    coord_classes_init(&classes, mem, 3);
    for (uint64_t i = 1; i <= 20; i++) {
        uint64_t class = coord_classes_resolve(&classes, i % 2, i % 5, i, hash_mix(i, 0));
        assert_int_equal(class, i);
        is_all = is_all && classes.slab.used_nodes > 0;
    }
    coord_classes_fini(&classes);
    return is_all;
}

static void classes__no_memory__gives_the_opening_itself(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes__openings_that_read_alike__are_one_class),
        cmocka_unit_test(classes__two_as_near__the_older_takes_it),
        cmocka_unit_test(classes__other_tenants_and_models__share_nothing),
        cmocka_unit_test(classes__a_forgotten_opening__finds_its_class_again),
        cmocka_unit_test(classes__one_tenant_with_a_million_openings__leaves_the_others_theirs),
        cmocka_unit_test(classes__one_model_with_many__keeps_those_used_last),
        cmocka_unit_test(classes__many_tenants__never_hold_more_than_the_limit),
        cmocka_unit_test(classes__no_memory__gives_the_opening_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
