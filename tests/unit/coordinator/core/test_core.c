/* SPDX-License-Identifier: Apache-2.0 */
/* The core as a whole: same events same effects, memory that runs out, limits. */
#include "coordinator/core/record.h"

#include "common/base/rng.h"
#include "tests/unit/coordinator/core/desk.h"

#include <stdio.h>

/* A seeded mix of everything, recorded. */
static void random_run(uint64_t seed, struct buf *log)
{
    struct desk desk;
    struct coord_limits limits = desk_limits();
    struct rng rng;
    static struct talk talks[20];
    rng_init(&rng, seed);
    desk_open(&desk, &limits);
    desk_fleet(&desk, 5);
    memset(talks, 0, sizeof(talks));
    for (int i = 0; i < 3000; i++) {
        struct talk *talk = &talks[rng_below(&rng, 20)];
        desk.now_us += rng_below(&rng, 30000);
        uint64_t some =
            desk.last_req == 0
                ? 1
                : desk.last_req - rng_below(&rng, desk.last_req < 20 ? desk.last_req : 20);
        char text[32];
        (void)snprintf(text, sizeof(text), "say %u", (unsigned)rng_below(&rng, 1000));
        switch (rng_below(&rng, 8)) {
        case 0:
        case 1:
            if (talk->count >= 30) {
                talk_begin(talk);
            }
            talk_say(talk, text, (uint32_t)rng_below(&rng, 5000));
            (void)desk_arrive(&desk, rng_below(&rng, 3) == 0 ? text : NULL, talk);
            break;
        case 2:
            desk_start(&desk, some, 1);
            break;
        case 3:
            desk_answer(&desk, some, 1);
            break;
        case 4:
        case 5:
            desk_done(&desk, some,
                      rng_below(&rng, 5) == 0 ? COORD_OUTCOME_ENGINE_ERROR : COORD_OUTCOME_OK);
            break;
        case 6:
            desk_fail(&desk, some, 1, (enum coord_fail)rng_below(&rng, 5), 502);
            break;
        default:
            desk_tick(&desk, 100000);
            break;
        }
        assert_status(coord_record_effects(desk.effects, log), ST_OK);
    }
    desk_close(&desk);
}

static void run__same_seed_twice__same_effects(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct buf one;
        struct buf two;
        buf_init(&one, mem_heap(), 1 << 24);
        buf_init(&two, mem_heap(), 1 << 24);
        random_run(seed, &one);
        random_run(seed, &two);
        print_message("seed %u: %zu bytes of effects\n", (unsigned)seed, one.len);
        assert_int_equal(one.len, two.len);
        assert_memory_equal(one.p, two.p, one.len);
        buf_fini(&one);
        buf_fini(&two);
    }
}

/* What a failed step must not have changed. */
struct snapshot {
    uint32_t in_flight;
    uint32_t sessions;
    uint64_t arrived;
    uint64_t refused;
};

static struct snapshot snap(const struct coord_core *core)
{
    return (struct snapshot){
        .in_flight = coord_core_in_flight(core),
        .sessions = coord_core_session_count(core),
        .arrived = coord_core_counters(core)->steps_arrived,
        .refused = coord_core_counters(core)->steps_refused,
    };
}

/* Steps; on ST_NOMEM checks that nothing changed. */
static bool try_step(struct coord_core *core,
                     const struct coord_event *ev,
                     const struct coord_effects **effects)
{
    struct snapshot before = snap(core);
    enum status st = coord_core_step(core, ev, 1000000, effects);
    if (st == ST_OK) {
        return true;
    }
    struct snapshot after = snap(core);
    assert_int_equal(st, ST_NOMEM);
    assert_memory_equal(&before, &after, sizeof(before));
    return false;
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct coord_core *core = NULL;
    struct coord_limits limits = desk_limits();
    if (coord_core_new(&core, mem, &limits, 7) != ST_OK) {
        return false;
    }
    const struct coord_effects *effects = NULL;
    const struct str models[] = {STR("m"), STR("n")};
    bool is_ok = true;
    for (uint32_t e = 1; is_ok && e <= 10; e++) {
        const struct coord_event add = {
            .kind = COORD_EV_ENGINE_ADDED,
            .u.engine_added = {.engine = {e}, .name = STR("e"), .max_running = 4}};
        const struct coord_event probed = {
            .kind = COORD_EV_ENGINE_PROBED,
            .u.engine_probed = {.engine = {e}, .is_up = true, .models = models, .model_count = 2}};
        is_ok = try_step(core, &add, &effects) && try_step(core, &probed, &effects);
    }
    for (uint64_t req = 1; is_ok && req <= 300; req++) {
        uint64_t chain[] = {req * 77, req * 78};
        const uint32_t bytes[] = {10, 20};
        const uint8_t is_end[] = {1, 1};
        char id[16];
        (void)snprintf(id, sizeof(id), "id%u", (unsigned)req);
        struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
        ev.u.arrived = (struct coord_step_arrived){.req = {req},
                                                   .name = str_of(id),
                                                   .model = STR("m"),
                                                   .session = req % 2 == 0 ? str_of(id) : STR(""),
                                                   .chain = chain,
                                                   .chain_bytes = bytes,
                                                   .chain_is_end = is_end,
                                                   .chain_count = 2,
                                                   .prompt_bytes = 20};
        is_ok = try_step(core, &ev, &effects);
        if (is_ok && req % 3 != 0) {
            const struct coord_event done = {.kind = COORD_EV_STEP_DONE, .u.done = {.req = {req}}};
            assert_true(try_step(core, &done, &effects)); /* ends cannot fail */
        }
    }
    const struct coord_event tick = {.kind = COORD_EV_TICK};
    assert_true(try_step(core, &tick, &effects));
    coord_core_free(core);
    return is_ok;
}

static void torture__any_allocation_fails__nothing_changed_nothing_leaked(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 50);
}

static void arrival__same_request_twice__first_one_counts(void **state)
{
    (void)state;
    struct desk desk;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    desk_fleet(&desk, 1);
    (void)desk_arrive(&desk, "task", NULL);
    desk.last_req = 0;
    (void)desk_arrive(&desk, "task", NULL);
    assert_int_equal(desk.effects->count, 0);
    assert_int_equal(coord_core_in_flight(desk.core), 1);
    desk_close(&desk);
}

static void arrival__texts_beyond_their_limits__no_harm(void **state)
{
    (void)state;
    static char text[2000];
    struct desk desk;
    struct coord_limits limits = desk_limits();
    memset(text, 'a', sizeof(text) - 1);
    desk_open(&desk, &limits);
    desk_fleet(&desk, 1);
    (void)desk_arrive(&desk, text, NULL); /* too long to be an id: no session */
    assert_int_equal(desk_sent_to(&desk), 1);
    assert_int_equal(coord_core_session_count(desk.core), 0);
    (void)desk_arrive_as(&desk, NULL, NULL, text, COORD_ROUTE_CHAT);
    desk_expect_refused(&desk, COORD_REFUSE_NO_MODEL);
    desk_close(&desk);
}

static void rehome__more_than_the_effects_hold__goes_on_with_the_next_events(void **state)
{
    (void)state;
    struct desk desk;
    struct coord_limits limits = desk_limits();
    uint32_t moved = 0;
    desk_open(&desk, &limits);
    desk_fleet(&desk, 2);
    for (int i = 0; i < 900; i++) {
        (void)desk_arrive(&desk, NULL, NULL);
    }
    uint32_t waiting = (uint32_t)desk_engine_number(&desk, 1, "queued");
    desk_remove(&desk, 1);
    for (int i = 0; i < 4; i++) {
        assert_true(desk.effects->count <= desk.effects->cap);
        for (uint32_t n = 0; desk_effect(&desk, COORD_EF_SUBMIT, n) != NULL; n++) {
            moved++;
        }
        desk_tick(&desk, 0);
    }
    assert_int_equal(moved, waiting);
    assert_string_equal(desk_engine_state(&desk, 1), "");
    assert_int_equal((int)desk_engine_number(&desk, 2, "queued"), 900);
    desk_close(&desk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__same_seed_twice__same_effects),
        cmocka_unit_test(torture__any_allocation_fails__nothing_changed_nothing_leaked),
        cmocka_unit_test(arrival__same_request_twice__first_one_counts),
        cmocka_unit_test(arrival__texts_beyond_their_limits__no_harm),
        cmocka_unit_test(rehome__more_than_the_effects_hold__goes_on_with_the_next_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
