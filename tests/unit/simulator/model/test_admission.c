/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"

enum { HASHES = 24, BLOCK_TOKENS = 16, BLOCKS = 4000 };

/* One at a time, in memory for all. */
struct fixture {
    uint64_t one[HASHES];
    uint64_t fork[HASHES]; /* shares three blocks with one, as others does */
    uint64_t others[HASHES];
    struct sim_engine_opts opts;
    struct sim_engine *engine;
};

static void setup(struct fixture *f, enum sim_admission admission)
{
    for (uint64_t i = 0; i < HASHES; i++) {
        f->one[i] = 100 + i;
        f->fork[i] = (i < 3 ? 100 : 200) + i;
        f->others[i] = (i < 3 ? 100 : 300) + i;
    }
    sim_engine_opts_init(&f->opts, sim_profile_at(0));
    f->opts.profile.kv_tokens = BLOCKS * BLOCK_TOKENS;
    f->opts.admission = admission;
    assert_status(sim_engine_new(&f->engine, mem_heap(), &f->opts), ST_OK);
}

/* Blocks that were cached. */
static uint32_t
run(struct sim_engine *engine, const uint64_t *hashes, uint32_t prompt, uint32_t output)
{
    const struct sim_request_spec spec = {.block_hashes = hashes,
                                          .block_hash_count = HASHES,
                                          .prompt_tokens = prompt,
                                          .output_tokens = output};
    struct sim_request_id id;
    uint64_t us = 0;
    size_t count = 0;
    uint32_t cached_tokens = 0;
    assert_status(sim_engine_submit(engine, &spec, &id), ST_OK);
    while (sim_engine_begin(engine, &us) == ST_OK) {
        const struct sim_event *events = sim_engine_end(engine, &count);
        assert_true(sim_engine_check(engine));
        cached_tokens = count > 0 ? events[count - 1].cached_tokens : 0;
    }
    return cached_tokens / BLOCK_TOKENS;
}

static void second__computed_once__is_not_kept(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, SIM_ADMIT_SECOND);
    assert_int_equal(run(f.engine, f.one, 5 * 16 + 1, 1), 0);
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 0);
    assert_int_equal(sim_engine_counters(f.engine)->unadmitted_blocks, 5);
    assert_int_equal(run(f.engine, f.one, 5 * 16 + 1, 1), 0);
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 5);
    assert_int_equal(run(f.engine, f.one, 8 * 16 + 1, 1), 5);
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 5);
    assert_int_equal(sim_engine_kv(f.engine).unstored_count, 0);
    sim_engine_free(f.engine);
}

static void states__conversation_goes_on__is_hit_from_where_it_ended(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, SIM_ADMIT_STATES);
    assert_int_equal(run(f.engine, f.one, 3 * 16, 2 * 16 + 1), 0);
    assert_int_equal(run(f.engine, f.one, 4 * 16 + 1, 1), 0); /* no state after four */
    assert_int_equal(run(f.engine, f.one, 8 * 16, 1), 5);
    assert_int_equal(run(f.engine, f.one, 9 * 16, 1), 8);
    sim_engine_free(f.engine);
}

/* First the end of what they have in common is found, then a state is kept there. */
static void states__second_branch__third_one_is_hit(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, SIM_ADMIT_STATES);
    assert_int_equal(run(f.engine, f.one, 5 * 16 + 1, 1), 0);
    assert_int_equal(run(f.engine, f.fork, 5 * 16 + 1, 1), 0);
    assert_int_equal(run(f.engine, f.others, 5 * 16 + 1, 1), 3);
    assert_int_equal(run(f.engine, f.fork, 6 * 16 + 1, 1), 5);
    sim_engine_free(f.engine);
}

static void states__with_tiers__is_refused(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, SIM_ADMIT_STATES);
    sim_engine_free(f.engine);
    f.opts.tiers.host_tokens = 1600;
    assert_status(sim_engine_new(&f.engine, mem_heap(), &f.opts), ST_INVAL);
}

/* --- against plain sets --- */

enum { REQUESTS = 300, SEEDS = 6, SET_MAX = REQUESTS * HASHES };

struct set {
    uint64_t hashes[SET_MAX];
    uint32_t count;
};

struct world {
    struct fixture f;
    struct rng rng;
    struct set stored;
    struct set states;
    struct set seen;
};

static bool has(const struct set *set, uint64_t hash)
{
    for (uint32_t i = 0; i < set->count; i++) {
        if (set->hashes[i] == hash) {
            return true;
        }
    }
    return false;
}

static void add(struct set *set, uint64_t hash)
{
    if (!has(set, hash)) {
        set->hashes[set->count++] = hash;
    }
}

static uint32_t ref_run(struct world *w, const uint64_t *hashes, uint32_t prompt, uint32_t output)
{
    bool is_second = w->f.opts.admission == SIM_ADMIT_SECOND;
    uint32_t match = 0;
    uint32_t hit = 0;
    while (match < (prompt - 1) / BLOCK_TOKENS && has(&w->stored, hashes[match])) {
        match++;
        hit = is_second || has(&w->states, hashes[match - 1]) ? match : hit;
    }
    uint32_t full = (prompt + output - 1) / BLOCK_TOKENS;
    bool is_whole = true; /* so far, in the cache */
    for (uint32_t i = hit; i < full; i++) {
        is_whole = is_whole && (!is_second || has(&w->seen, hashes[i]));
        add(&w->seen, hashes[i]);
        if (is_whole) {
            add(&w->stored, hashes[i]);
        }
        if (i + 1 == match || i + 1 == full) {
            add(&w->states, hashes[i]);
        }
    }
    if (full > 0) {
        add(&w->states, hashes[full - 1]);
    }
    return hit;
}

static void admission__random_requests__hit_what_a_plain_reference_hits(void **state)
{
    (void)state;
    static struct world w;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        enum sim_admission admission = seed % 2 == 0 ? SIM_ADMIT_SECOND : SIM_ADMIT_STATES;
        uint64_t hits = 0;
        print_message("seed %llu\n", (unsigned long long)seed);
        memset(&w, 0, sizeof(w));
        rng_init(&w.rng, seed);
        setup(&w.f, admission);
        for (int i = 0; i < REQUESTS; i++) {
            uint64_t hashes[HASHES];
            uint64_t parent = 5;
            for (int k = 0; k < HASHES; k++) {
                parent = hash_mix(parent, k % 5 == 4 ? rng_below(&w.rng, 2) : 0) | 1;
                hashes[k] = parent;
            }
            uint32_t prompt = 1 + (uint32_t)rng_below(&w.rng, 300);
            uint32_t output = 1 + (uint32_t)rng_below(&w.rng, 80);
            uint32_t hit = run(w.f.engine, hashes, prompt, output);
            assert_int_equal(hit, ref_run(&w, hashes, prompt, output));
            hits += hit;
        }
        assert_true(hits > REQUESTS); /* else nothing was tested */
        sim_engine_free(w.f.engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second__computed_once__is_not_kept),
        cmocka_unit_test(states__conversation_goes_on__is_hit_from_where_it_ended),
        cmocka_unit_test(states__second_branch__third_one_is_hit),
        cmocka_unit_test(states__with_tiers__is_refused),
        cmocka_unit_test(admission__random_requests__hit_what_a_plain_reference_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
