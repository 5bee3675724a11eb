/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/registry.h"

#include "common/base/hash.h"
#include "tests/kit/kit.h"

enum { ENGINES_MAX = 8 };

static struct route_engine engines[ENGINES_MAX];
static double costs_us[ENGINES_MAX];
static struct route_state state;

static int setup(void **ctx)
{
    (void)ctx;
    state = (struct route_state){.turn = 0};
    rng_init(&state.rng, 1);
    for (uint32_t i = 0; i < ENGINES_MAX; i++) {
        engines[i] = (struct route_engine){.key = hash_mix(7, i), .id = i, .slots = 64};
    }
    return 0;
}

static uint32_t place(const char *name, uint32_t count, uint64_t key)
{
    const struct route_view view = {engines, count};
    const struct route_step step = {
        .key = key, .prompt_bytes = 1000, .home = ROUTE_NONE, .margin_steps = 4};
    struct route_choice choice;
    const struct route_policy *policy = route_policy_find(str_of(name));
    assert_non_null(policy);
    assert_status(policy->place(&view, &step, &state, costs_us, &choice), ST_OK);
    assert_true(choice.idx < count);
    return choice.idx;
}

static void registry__each_entry__is_found_by_its_name(void **ctx)
{
    (void)ctx;
    size_t count = 0;
    for (; route_policy_at(count) != NULL; count++) {
        const struct route_policy *policy = route_policy_at(count);
        assert_ptr_equal(route_policy_find(str_of(policy->name)), policy);
        assert_true(policy->text[0] != '\0' && policy->source[0] != '\0');
    }
    assert_int_equal(count, 20);
    assert_string_equal(route_policy_at(0)->name, "saga");
    assert_null(route_policy_find(STR("sag")));
}

/* The values of the key in configurations, which coord_limits_of takes as places in the registry.
 */
static const char *const config_policies =
#define BOOL(key, field, def, reload, text)
#define U64(key, field, def, min, max, unit, reload, text)
#define F64(key, field, def, min, max, unit, reload, text)
#define TEXT(key, field, def, max_len, reload, text)
#define LIST(key, field, def, max_count, max_len, reload, text)
#define ENUM(key, field, def, allowed, reload, text) key ":" allowed ";"
#include "common/base/config.def"
    ;

static void registry__in_the_order_of_the_configuration(void **ctx)
{
    (void)ctx;
    static const char key[] = "routing.policy:";
    const char *at = strstr(config_policies, key);
    assert_non_null(at);
    at += strlen(key);
    struct str rest = {at, strcspn(at, ";")};
    struct str name;
    size_t count = 0;
    while (str_split(&rest, '|', &name)) {
        assert_ptr_equal(route_policy_find(name), route_policy_at(count));
        assert_non_null(route_policy_at(count));
        count++;
    }
    assert_null(route_policy_at(count));
}

static void policies__no_engine__notfound(void **ctx)
{
    (void)ctx;
    const struct route_view view = {engines, 0};
    const struct route_step step = {.home = ROUTE_NONE};
    struct route_choice choice = {.idx = 77};
    for (size_t i = 0; route_policy_at(i) != NULL; i++) {
        assert_status(route_policy_at(i)->place(&view, &step, &state, costs_us, &choice),
                      ST_NOTFOUND);
        assert_int_equal(choice.idx, 77);
    }
}

static void round_robin__goes_round(void **ctx)
{
    (void)ctx;
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(place("round_robin", 3, 5), i % 3);
    }
}

static void least_request__fewest_running_and_waiting(void **ctx)
{
    (void)ctx;
    engines[0].running = 3;
    engines[1].running = 1;
    engines[1].waiting = 1;
    engines[2].running = 4;
    assert_int_equal(place("least_request", 3, 5), 1);
    engines[1].waiting = 9;
    assert_int_equal(place("least_request", 3, 5), 0);
}

static void power_of_two__never_the_fullest_and_both_others(void **ctx)
{
    (void)ctx;
    uint32_t seen[3] = {0};
    engines[2].running = 50;
    for (uint32_t i = 0; i < 300; i++) {
        seen[place("power_of_two", 3, i)]++;
    }
    assert_int_equal(seen[2], 0);
    assert_true(seen[0] > 100 && seen[1] > 100);
    assert_int_equal(place("power_of_two", 1, 5), 0);
}

static void consistent_hash__only_a_lost_engines_keys_move(void **ctx)
{
    (void)ctx;
    for (uint64_t key = 0; key < 200; key++) {
        uint32_t before = place("consistent_hash", 8, key);
        engines[before].running = 1000; /* load means nothing to it */
        assert_int_equal(place("consistent_hash", 8, key), before);
        uint32_t after = place("consistent_hash", 7, key); /* the last one is lost */
        assert_true(before == 7 ? after < 7 : after == before);
    }
}

static void prefix_affinity__most_of_the_prompt_held__until_overloaded(void **ctx)
{
    (void)ctx;
    engines[1].reuse_bytes = 500;
    engines[2].hint_bytes = 600;
    assert_int_equal(place("prefix_affinity", 4, 5), 2);
    engines[0].running = engines[1].running = engines[3].running = 10;
    engines[2].running = 26; /* 16 more: not above */
    assert_int_equal(place("prefix_affinity", 4, 5), 2);
    engines[2].running = 27; /* more than 16 above 10, and 2.7 times as many */
    engines[3].running = 9;
    assert_int_equal(place("prefix_affinity", 4, 5), 3);
    engines[0].running = engines[1].running = engines[3].running = 40;
    engines[2].running = 57; /* 17 above, but not 1.5 times as many */
    assert_int_equal(place("prefix_affinity", 4, 5), 2);
}

static void prefix_affinity__nothing_held__fewest_steps(void **ctx)
{
    (void)ctx;
    engines[0].running = engines[1].running = 2;
    assert_int_equal(place("prefix_affinity", 3, 5), 2);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        T(registry__each_entry__is_found_by_its_name),
        T(registry__in_the_order_of_the_configuration),
        T(policies__no_engine__notfound),
        T(round_robin__goes_round),
        T(least_request__fewest_running_and_waiting),
        T(power_of_two__never_the_fullest_and_both_others),
        T(consistent_hash__only_a_lost_engines_keys_move),
        T(prefix_affinity__most_of_the_prompt_held__until_overloaded),
        T(prefix_affinity__nothing_held__fewest_steps),
    };
#undef T
    return cmocka_run_group_tests(tests, NULL, NULL);
}
