/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/rng.h"

/* Worked out apart from this code, from the definitions of splitmix64 and xoshiro256**. */
static void rng__seed_zero__gives_the_published_sequence(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 0);
    assert_true(rng.s[0] == UINT64_C(0xE220A8397B1DCDAF)); /* first output of splitmix64 from 0 */
    assert_true(rng.s[1] == UINT64_C(0x6E789E6AA1B965F4));
    assert_true(rng_u64(&rng) == UINT64_C(0x99EC5F36CB75F2B4));
    assert_true(rng_u64(&rng) == UINT64_C(0xBF6E1F784956452A));
}

static void rng_below__small_n__hits_all_about_equally(void **state)
{
    (void)state;
    struct rng rng;
    uint32_t counts[6] = {0};
    rng_init(&rng, 3);
    for (int i = 0; i < 60000; i++) {
        uint64_t v = rng_below(&rng, 6);
        assert_in_range(v, 0, 5);
        counts[v]++;
    }
    for (int i = 0; i < 6; i++) {
        assert_in_range(counts[i], 9600, 10400); /* 4 standard deviations */
    }
    assert_int_equal(rng_below(&rng, 1), 0);
    expect_assert_failure((void)rng_below(&rng, 0));
}

static void rng_unit_and_exp__many_draws__have_the_right_mean(void **state)
{
    (void)state;
    struct rng rng;
    double sum_unit = 0;
    double sum_exp = 0;
    rng_init(&rng, 5);
    for (int i = 0; i < 100000; i++) {
        double u = rng_unit(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        double e = rng_exp(&rng, 7.0);
        assert_true(e >= 0.0);
        sum_unit += u;
        sum_exp += e;
    }
    assert_close(sum_unit / 100000, 0.5, 0.005);
    assert_close(sum_exp / 100000, 7.0, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng__seed_zero__gives_the_published_sequence),
        cmocka_unit_test(rng_below__small_n__hits_all_about_equally),
        cmocka_unit_test(rng_unit_and_exp__many_draws__have_the_right_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
