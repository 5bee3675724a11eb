/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/pick.h"

#include "common/base/hash.h"
#include "tests/kit/kit.h"

enum { ENGINES_MAX = 8 };

static struct route_engine engines[ENGINES_MAX];
static double costs_us[ENGINES_MAX];

static struct route_view idle_view(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        engines[i] = (struct route_engine){.key = hash_mix(7, i), .id = i, .slots = 64};
    }
    return (struct route_view){engines, count};
}

static struct route_choice pick(const struct route_view *view, const struct route_step *step)
{
    struct route_choice choice;
    assert_status(route_pick(view, step, costs_us, &choice), ST_OK);
    return choice;
}

static void pick__empty_view__notfound(void **state)
{
    (void)state;
    const struct route_view view = {engines, 0};
    const struct route_step step = {.home = ROUTE_NONE};
    struct route_choice choice = {.idx = 77};
    assert_status(route_pick(&view, &step, costs_us, &choice), ST_NOTFOUND);
    assert_int_equal(choice.idx, 77);
}

static void pick__home_within_margin__stays(void **state)
{
    (void)state;
    struct route_view view = idle_view(4);
    engines[2].waiting = 4;
    engines[2].running = 64;
    const struct route_step step = {.key = 1, .prompt_bytes = 1000, .home = 2, .margin_steps = 4};
    struct route_choice choice = pick(&view, &step);
    assert_int_equal(choice.idx, 2);
    assert_true(choice.is_home);
}

static void pick__home_queue_beyond_margin__least_wait(void **state)
{
    (void)state;
    struct route_view view = idle_view(4);
    engines[2].waiting = 5;
    engines[2].running = 64;
    engines[0].running = engines[3].running = 10;
    const struct route_step step = {.key = 1, .prompt_bytes = 1000, .home = 2, .margin_steps = 4};
    struct route_choice choice = pick(&view, &step);
    assert_int_equal(choice.idx, 1);
    assert_false(choice.is_home);
}

static void pick__all_queues_long__home_kept_by_the_difference(void **state)
{
    (void)state;
    struct route_view view = idle_view(4);
    for (uint32_t i = 0; i < 4; i++) {
        engines[i].waiting = 100;
        engines[i].running = 64;
    }
    engines[2].waiting = 104;
    const struct route_step step = {.key = 1, .prompt_bytes = 1000, .home = 2, .margin_steps = 4};
    assert_int_equal(pick(&view, &step).idx, 2);
}

static void pick__home_behind_but_holds_a_long_prompt__still_cheapest(void **state)
{
    (void)state;
    struct route_view view = idle_view(2);
    engines[0].waiting = 5;
    engines[0].running = 64;
    engines[0].reuse_bytes = 800000; /* 16 s of prefill elsewhere against 2.2 s of queue */
    const struct route_step step = {.key = 1, .prompt_bytes = 800000, .home = 0, .margin_steps = 4};
    assert_true(pick(&view, &step).is_home);
}

static void pick__equal_engines__key_decides_the_same_way_each_time(void **state)
{
    (void)state;
    struct route_view view = idle_view(8);
    uint32_t counts[8] = {0};
    for (uint64_t key = 0; key < 800; key++) {
        const struct route_step step = {.key = hash_mix(key, 1), .home = ROUTE_NONE};
        uint32_t idx = pick(&view, &step).idx;
        assert_int_equal(pick(&view, &step).idx, idx);
        counts[idx]++;
    }
    for (uint32_t i = 0; i < 8; i++) {
        assert_in_range(counts[i], 65, 140);
    }
}

/* Births one after the other, each placement seen by the next; returns max/mean. */
static double births(uint32_t count, uint32_t births_count, uint32_t prompt_bytes)
{
    struct route_view view = idle_view(count);
    uint32_t placed[ENGINES_MAX] = {0};
    uint32_t max = 0;
    for (uint32_t i = 0; i < births_count; i++) {
        const struct route_step step = {.key = hash_mix(i, 99),
                                        .prompt_bytes = prompt_bytes,
                                        .home = ROUTE_NONE,
                                        .is_birth = true};
        uint32_t idx = pick(&view, &step).idx;
        engines[idx].running++;
        engines[idx].sessions++;
        engines[idx].pending_bytes += prompt_bytes;
        placed[idx]++;
        max = placed[idx] > max ? placed[idx] : max;
    }
    return (double)max * count / births_count;
}

static void b081_births__400_at_once_on_8_engines__spread(void **state)
{
    (void)state;
    assert_true(births(8, 400, 4000) <= 1.1);
}

static void b080_births__40_long_prompts_on_4_engines__spread(void **state)
{
    (void)state;
    assert_true(births(4, 40, 128000) <= 1.3);
}

static void b079_cold_prompt__busy_small_against_idle_large__idle_one(void **state)
{
    (void)state;
    struct route_view view = idle_view(2);
    engines[0].running = 64;
    engines[0].waiting = 20;
    engines[1].sessions = 3;
    const struct route_step step = {.key = 5, .prompt_bytes = 4000, .home = ROUTE_NONE};
    assert_int_equal(pick(&view, &step).idx, 1);
}

static void pick__engine_that_fails_fast__is_not_cheap(void **state)
{
    (void)state;
    struct route_view view = idle_view(2);
    engines[0].fail_ratio = 0.5;
    engines[1].running = 40;
    const struct route_step step = {.key = 5, .prompt_bytes = 4000, .home = ROUTE_NONE};
    assert_int_equal(pick(&view, &step).idx, 1);
}

static void pick__engine_of_twice_the_slots__gets_twice_the_sessions(void **state)
{
    (void)state;
    struct route_view view = idle_view(2);
    engines[0].slots = 128;
    for (uint32_t i = 0; i < 300; i++) {
        const struct route_step step = {
            .key = hash_mix(i, 3), .home = ROUTE_NONE, .is_birth = true};
        engines[pick(&view, &step).idx].sessions++;
    }
    assert_in_range(engines[0].sessions, 195, 205);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pick__empty_view__notfound),
        cmocka_unit_test(pick__home_within_margin__stays),
        cmocka_unit_test(pick__home_queue_beyond_margin__least_wait),
        cmocka_unit_test(pick__all_queues_long__home_kept_by_the_difference),
        cmocka_unit_test(pick__home_behind_but_holds_a_long_prompt__still_cheapest),
        cmocka_unit_test(pick__equal_engines__key_decides_the_same_way_each_time),
        cmocka_unit_test(b081_births__400_at_once_on_8_engines__spread),
        cmocka_unit_test(b080_births__40_long_prompts_on_4_engines__spread),
        cmocka_unit_test(b079_cold_prompt__busy_small_against_idle_large__idle_one),
        cmocka_unit_test(pick__engine_that_fails_fast__is_not_cheap),
        cmocka_unit_test(pick__engine_of_twice_the_slots__gets_twice_the_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
