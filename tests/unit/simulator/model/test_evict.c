/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/kv.h"

static struct sim_kv *new_kv(const char *evict, uint32_t blocks)
{
    const struct sim_kv_opts opts = {
        .evict = sim_evict_find(str_of(evict)),
        .block_count = blocks,
        .block_s = 1e-3,
        .depth_s = 1e-4,
    };
    struct sim_kv *kv = NULL;
    assert_non_null(opts.evict);
    assert_status(sim_kv_new(&kv, mem_heap(), &opts), ST_OK);
    return kv;
}

/* A request of this chain that takes what is cached of hashes [n], computes the rest and ends. */
static void use(struct sim_kv *kv, uint64_t chain, const uint64_t *hashes, uint32_t n)
{
    uint32_t blocks[16];
    uint32_t hit = sim_kv_match(kv, hashes, n, NULL);
    sim_kv_take(kv, hashes, hit, blocks);
    assert_status(sim_kv_alloc(kv, n - hit, blocks + hit), ST_OK);
    for (uint32_t i = hit; i < n; i++) {
        sim_kv_store(kv, blocks[i], hashes[i], i == 0 ? SIM_BLOCK_NONE : blocks[i - 1]);
    }
    sim_kv_release(kv, blocks, n, chain);
    assert_true(sim_kv_check(kv));
}

static void hint(struct sim_kv *kv, uint64_t chain, double reuse_ratio, uint64_t next_use_at_us)
{
    const struct sim_chain_hint h = {.reuse_ratio = reuse_ratio, .next_use_at_us = next_use_at_us};
    sim_kv_hint(kv, chain, &h);
}

static void make_room(struct sim_kv *kv, uint32_t n)
{
    uint32_t blocks[16];
    assert_status(sim_kv_alloc(kv, n, blocks), ST_OK);
    sim_kv_release(kv, blocks, n, 0);
    assert_true(sim_kv_check(kv));
}

static const uint64_t a[6] = {11, 12, 13, 14, 15, 16};
static const uint64_t b[6] = {21, 22, 23, 24, 25, 26};

static void evict__each_policy__is_named_once_and_has_a_source(void **state)
{
    (void)state;
    size_t count = 0;
    for (; sim_evict_at(count) != NULL; count++) {
        assert_ptr_equal(sim_evict_find(str_of(sim_evict_at(count)->name)), sim_evict_at(count));
        assert_true(strlen(sim_evict_at(count)->source) > 0);
    }
    assert_int_equal(count, 4);
    assert_ptr_equal(sim_evict_find(STR("lru")), sim_evict_default());
    assert_null(sim_evict_find(STR("lr")));
}

/* 0.3 * 30/60 + 0.5 * (1 - 0.9) + 0.2 * 4/8 */
static void wa_lru__score__is_the_papers_sum(void **state)
{
    (void)state;
    const struct sim_evict *evict = sim_evict_find(STR("wa_lru"));
    const struct sim_evict_memory memory = {.idle_us = 60, .idle_blocks = 8};
    struct sim_evict_chain chain = {
        .hint = {.reuse_ratio = 0.9}, .idle_us = 30, .idle_blocks = 4, .tail_depth = 100};
    assert_close(evict->score(&chain, &memory), 0.3, 1e-12);
    const struct sim_evict_memory fresh = {.idle_us = 0, .idle_blocks = 8};
    chain.idle_us = 0;
    assert_close(evict->score(&chain, &fresh), 0.15, 1e-12);
}

/* A block on nothing 1 ms, each block before it 0.1 ms more: 0.5 * (1 + 0.1 * 10.5) = 1.025 ms. */
static void cost_based__score__is_the_expected_time_lost(void **state)
{
    (void)state;
    const struct sim_evict *evict = sim_evict_find(STR("cost_based"));
    const struct sim_evict_memory memory = {.block_s = 1e-3, .depth_s = 1e-4};
    const struct sim_evict_chain chain = {.hint = {.reuse_ratio = 0.5}, .tail_depth = 10};
    assert_close(evict->score(&chain, &memory), -1.025e-3, 1e-12);
}

static void wa_lru__older_chain_will_be_used__the_other_gives_its_tail(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv("wa_lru", 8);
    use(kv, 1, a, 4);
    sim_kv_set_now(kv, 1000);
    use(kv, 2, b, 4);
    sim_kv_set_now(kv, 2000);
    hint(kv, 1, 1.0, UINT64_MAX);
    hint(kv, 2, 0.0, UINT64_MAX);
    make_room(kv, 3); /* 0.3 + 0 + 0.2 against 0.15 + 0.5 + 0.2 */
    assert_int_equal(sim_kv_match(kv, a, 4, NULL), 4);
    assert_int_equal(sim_kv_match(kv, b, 4, NULL), 1);
    sim_kv_free(kv);
}

static void wa_lru__no_hints_and_equal_sizes__is_lru(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv("wa_lru", 8);
    use(kv, 1, a, 4);
    sim_kv_set_now(kv, 1000);
    use(kv, 2, b, 4);
    sim_kv_set_now(kv, 2000);
    make_room(kv, 3);
    assert_int_equal(sim_kv_match(kv, a, 4, NULL), 1);
    assert_int_equal(sim_kv_match(kv, b, 4, NULL), 4);
    sim_kv_free(kv);
}

static void cost_based__equal_chances__the_shorter_chain_goes(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv("cost_based", 8);
    use(kv, 1, a, 6);
    use(kv, 2, b, 2);
    make_room(kv, 2);
    assert_int_equal(sim_kv_match(kv, a, 6, NULL), 6);
    assert_int_equal(sim_kv_match(kv, b, 2, NULL), 0);
    sim_kv_free(kv);
}

static void belady__next_uses_known__the_latest_goes(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv("belady", 8);
    use(kv, 1, a, 4);
    use(kv, 2, b, 4);
    hint(kv, 1, 0.5, 9000);
    hint(kv, 2, 0.5, 8000);
    make_room(kv, 2);
    assert_int_equal(sim_kv_match(kv, a, 4, NULL), 2);
    assert_int_equal(sim_kv_match(kv, b, 4, NULL), 4);
    sim_kv_free(kv);
}

static void hint__chain_has_run_again__is_forgotten(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv("belady", 8);
    use(kv, 1, a, 4);
    use(kv, 2, b, 4);
    hint(kv, 1, 0.5, 1);
    hint(kv, 2, 0.5, 2);
    use(kv, 1, a, 4); /* no next use that is known */
    make_room(kv, 1);
    assert_int_equal(sim_kv_match(kv, a, 4, NULL), 3);
    assert_int_equal(sim_kv_match(kv, b, 4, NULL), 4);
    sim_kv_free(kv);
}

/* Chain 2 went on from the first two blocks, which nobody wants any more by themselves. If
 * it went first, the rest would lie there and never be hit. */
static void evict__shared_prefix_has_the_worst_score__outlives_what_depends_on_it(void **state)
{
    (void)state;
    static const uint64_t fork[4] = {11, 12, 33, 34};
    for (size_t i = 0; sim_evict_at(i) != NULL; i++) {
        struct sim_kv *kv = new_kv(sim_evict_at(i)->name, 4);
        use(kv, 2, fork, 4);
        sim_kv_set_now(kv, 1000);
        use(kv, 1, fork, 2);
        sim_kv_set_now(kv, 2000);
        hint(kv, 1, 0.0, UINT64_MAX);
        hint(kv, 2, 1.0, 3000);
        for (uint32_t n = 4; n-- > 0;) {
            make_room(kv, 4 - n);
            assert_int_equal(sim_kv_match(kv, fork, 4, NULL), n);
        }
        sim_kv_free(kv);
    }
}

static void evict__reset__forgets_chains_too(void **state)
{
    (void)state;
    struct sim_kv *kv = new_kv("wa_lru", 8);
    use(kv, 1, a, 4);
    use(kv, 2, b, 3);
    sim_kv_reset(kv);
    assert_true(sim_kv_check(kv));
    assert_int_equal(sim_kv_match(kv, a, 4, NULL), 0);
    use(kv, 1, a, 6);
    make_room(kv, 3);
    assert_int_equal(sim_kv_match(kv, a, 6, NULL), 5);
    sim_kv_free(kv);
}

/* A plain reference: every block in one array, everything found by looking at all of them. */
enum { BLOCKS = 32, DEPTH = 8, HOLDERS = 3, CHAINS = 6, STEPS = 12000, SEED = 11 };

struct entry {
    uint64_t hash; /* 0 = not there */
    uint64_t parent;
    uint32_t depth;
    uint32_t chain;
    uint32_t refs;
    uint64_t idle_nr; /* order of last releases */
};

struct reference {
    const struct sim_evict *evict;
    struct entry entries[BLOCKS];
    struct sim_chain_hint hints[CHAINS];
    uint64_t used_at_us[CHAINS];
    uint64_t idle_nr;
    uint64_t now_us;
    uint64_t held[HOLDERS][DEPTH]; /* hashes; [0] 0 = free */
    uint32_t held_chain[HOLDERS];
};

static struct entry *ref_find(struct reference *ref, uint64_t hash)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (ref->entries[i].hash == hash) {
            return &ref->entries[i];
        }
    }
    return NULL;
}

static bool ref_is_leaf(const struct reference *ref, const struct entry *entry)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (ref->entries[i].hash != 0 && ref->entries[i].parent == entry->hash) {
            return false;
        }
    }
    return true;
}

/* The idle block that was released first, of one chain or (CHAINS) of all. */
static struct entry *ref_oldest(struct reference *ref, uint32_t chain)
{
    struct entry *best = NULL;
    for (int i = 0; i < BLOCKS; i++) {
        struct entry *e = &ref->entries[i];
        if (e->hash != 0 && e->refs == 0 && (chain == CHAINS || e->chain == chain) &&
            (best == NULL || e->idle_nr < best->idle_nr)) {
            best = e;
        }
    }
    return best;
}

static struct sim_evict_chain ref_facts(struct reference *ref, uint32_t chain)
{
    struct sim_evict_chain facts = {.hint = ref->hints[chain]};
    for (int i = 0; i < BLOCKS; i++) {
        const struct entry *e = &ref->entries[i];
        facts.idle_blocks += e->hash != 0 && e->refs == 0 && e->chain == chain;
    }
    facts.idle_us = facts.idle_blocks > 0 ? ref->now_us - ref->used_at_us[chain] : 0;
    return facts;
}

static struct entry *ref_victim(struct reference *ref, uint32_t likely_chain)
{
    if (ref->evict->score == NULL) {
        return ref_oldest(ref, CHAINS);
    }
    struct entry *best = likely_chain < CHAINS ? ref_oldest(ref, likely_chain) : NULL;
    if (best != NULL && ref_is_leaf(ref, best)) {
        return best;
    }
    struct sim_evict_memory memory = {.block_s = 1e-3, .depth_s = 1e-4};
    for (uint32_t c = 0; c < CHAINS; c++) {
        struct sim_evict_chain facts = ref_facts(ref, c);
        memory.idle_us = facts.idle_us > memory.idle_us ? facts.idle_us : memory.idle_us;
        memory.idle_blocks =
            facts.idle_blocks > memory.idle_blocks ? facts.idle_blocks : memory.idle_blocks;
    }
    double best_score = 0.0;
    uint64_t best_idle_us = 0;
    best = NULL;
    for (uint32_t c = 0; c < CHAINS; c++) {
        struct entry *e = ref_oldest(ref, c);
        if (e == NULL || !ref_is_leaf(ref, e)) {
            continue;
        }
        struct sim_evict_chain facts = ref_facts(ref, c);
        facts.tail_depth = e->depth;
        double score = ref->evict->score(&facts, &memory);
        if (best == NULL || score > best_score ||
            (score == best_score && facts.idle_us > best_idle_us)) {
            best = e;
            best_score = score;
            best_idle_us = facts.idle_us;
        }
    }
    return best;
}

/* A chain without idle blocks has no hint. */
static void ref_forget_hints(struct reference *ref)
{
    for (uint32_t c = 0; c < CHAINS; c++) {
        if (ref_oldest(ref, c) == NULL) {
            ref->hints[c] = SIM_CHAIN_UNKNOWN;
        }
    }
}

/* Number of leading hashes that are hit. */
static uint32_t
ref_acquire(struct reference *ref, int holder, uint32_t chain, const uint64_t *hashes)
{
    uint32_t hit = 0;
    uint32_t likely_chain = CHAINS;
    for (; hit < DEPTH && ref_find(ref, hashes[hit]) != NULL; hit++) {
        ref_find(ref, hashes[hit])->refs++;
    }
    ref_forget_hints(ref);
    struct entry *taken[DEPTH] = {NULL};
    for (uint32_t i = hit; i < DEPTH; i++) {
        taken[i] = ref_find(ref, 0);
        if (taken[i] == NULL) {
            taken[i] = ref_victim(ref, likely_chain);
            likely_chain = taken[i]->chain;
        }
        *taken[i] = (struct entry){.hash = 1, .refs = 1, .parent = 1}; /* no content yet */
        ref_forget_hints(ref);
    }
    for (uint32_t i = hit; i < DEPTH; i++) {
        taken[i]->hash = hashes[i];
        taken[i]->parent = i == 0 ? 0 : hashes[i - 1];
        taken[i]->depth = i;
    }
    memcpy(ref->held[holder], hashes, sizeof(ref->held[holder]));
    ref->held_chain[holder] = chain;
    return hit;
}

static void ref_release(struct reference *ref, int holder)
{
    uint32_t chain = ref->held_chain[holder];
    for (uint32_t i = DEPTH; i-- > 0;) {
        struct entry *e = ref_find(ref, ref->held[holder][i]);
        if (--e->refs == 0) {
            e->chain = chain;
            e->idle_nr = ++ref->idle_nr;
            ref->used_at_us[chain] = ref->now_us;
        }
    }
    ref->held[holder][0] = 0;
}

/* Chains share their first blocks and fork at several depths. */
static void draw_hashes(struct rng *rng, uint32_t chain, uint64_t *hashes)
{
    uint64_t parent = 7;
    uint64_t turn = rng_below(rng, 3);
    for (uint32_t i = 0; i < DEPTH; i++) {
        uint64_t own = i < 2 ? chain % 2 : i < 5 ? chain : chain * 8ULL + turn;
        parent = hash_mix(parent, own) | 1;
        hashes[i] = parent;
    }
}

static uint64_t compare_with_reference(const struct sim_evict *evict)
{
    struct sim_kv *kv = new_kv(evict->name, BLOCKS);
    struct reference ref = {.evict = evict};
    uint32_t blocks[HOLDERS][DEPTH];
    uint64_t hits = 0;
    struct rng rng;
    rng_init(&rng, SEED);
    print_message("%s, seed %d\n", evict->name, SEED);
    for (uint32_t step = 0; step < STEPS; step++) {
        int holder = (int)rng_below(&rng, HOLDERS);
        uint32_t chain = (uint32_t)rng_below(&rng, CHAINS);
        ref.now_us += 1 + rng_below(&rng, 1000);
        sim_kv_set_now(kv, ref.now_us);
        if (ref.held[holder][0] != 0) {
            chain = ref.held_chain[holder];
            ref_release(&ref, holder);
            sim_kv_release(kv, blocks[holder], DEPTH, chain);
            struct sim_chain_hint h = {.reuse_ratio = (double)rng_below(&rng, 5) / 4.0,
                                       .next_use_at_us = ref.now_us + rng_below(&rng, 9000)};
            ref.hints[chain] = h;
            ref_forget_hints(&ref);
            sim_kv_hint(kv, chain, &h);
        } else {
            uint64_t hashes[DEPTH];
            draw_hashes(&rng, chain, hashes);
            uint32_t hit = sim_kv_match(kv, hashes, DEPTH, NULL);
            sim_kv_take(kv, hashes, hit, blocks[holder]);
            assert_status(sim_kv_alloc(kv, DEPTH - hit, blocks[holder] + hit), ST_OK);
            assert_int_equal(hit, ref_acquire(&ref, holder, chain, hashes));
            for (uint32_t i = hit; i < DEPTH; i++) {
                uint32_t parent = i == 0 ? SIM_BLOCK_NONE : blocks[holder][i - 1];
                sim_kv_store(kv, blocks[holder][i], hashes[i], parent);
            }
            hits += hit;
        }
        assert_true(sim_kv_check(kv));
    }
    sim_kv_free(kv);
    return hits;
}

static void evict__random_requests__hit_what_a_plain_reference_hits(void **state)
{
    (void)state;
    uint64_t hits[8];
    for (size_t i = 0; sim_evict_at(i) != NULL; i++) {
        hits[i] = compare_with_reference(sim_evict_at(i));
        assert_true(hits[i] > STEPS / 2); /* else nothing was tested */
        assert_true(i == 0 || hits[i] != hits[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evict__each_policy__is_named_once_and_has_a_source),
        cmocka_unit_test(wa_lru__score__is_the_papers_sum),
        cmocka_unit_test(cost_based__score__is_the_expected_time_lost),
        cmocka_unit_test(wa_lru__older_chain_will_be_used__the_other_gives_its_tail),
        cmocka_unit_test(wa_lru__no_hints_and_equal_sizes__is_lru),
        cmocka_unit_test(cost_based__equal_chances__the_shorter_chain_goes),
        cmocka_unit_test(belady__next_uses_known__the_latest_goes),
        cmocka_unit_test(hint__chain_has_run_again__is_forgotten),
        cmocka_unit_test(evict__shared_prefix_has_the_worst_score__outlives_what_depends_on_it),
        cmocka_unit_test(evict__reset__forgets_chains_too),
        cmocka_unit_test(evict__random_requests__hit_what_a_plain_reference_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
