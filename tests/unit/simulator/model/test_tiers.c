/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"

/* A block is 16 kB; the host link moves one in 16 us after 100 us, the store's in 32 us after 1000.
 */
enum { HASHES = 16, BLOCKS = 8, BLOCK_TOKENS = 16, BLOCK_BYTES = 16000, ITERATION_US = 5000 };

struct fixture {
    uint64_t one[HASHES];
    uint64_t two[HASHES];
    struct sim_engine_opts opts;
    struct sim_engine *engine;
};

static void setup(struct fixture *f, uint64_t host_blocks)
{
    static const struct sim_profile machine = {
        .name = "test",
        .f_s = 5e-3,
        .kv_bytes_per_token = BLOCK_BYTES / BLOCK_TOKENS,
        .kv_tokens = BLOCKS * BLOCK_TOKENS,
        .max_running = 4,
        .budget_tokens = 512,
    };
    memset(f, 0, sizeof(*f));
    for (uint64_t i = 0; i < HASHES; i++) {
        f->one[i] = 100 + i;
        f->two[i] = 200 + i;
    }
    sim_engine_opts_init(&f->opts, &machine);
    f->opts.tiers.host_tokens = host_blocks * BLOCK_TOKENS;
    f->opts.tiers.host_link =
        (struct sim_link_opts){.bytes_per_s = UINT64_C(1000000000), .latency_us = 100};
    f->opts.tiers.store_link =
        (struct sim_link_opts){.bytes_per_s = UINT64_C(500000000), .latency_us = 1000};
}

static void start(struct fixture *f)
{
    assert_status(sim_engine_new(&f->engine, mem_heap(), &f->opts), ST_OK);
}

static struct sim_request_id
submit(struct sim_engine *engine, const uint64_t *hashes, uint32_t prompt, uint32_t output)
{
    const struct sim_request_spec spec = {
        .chain = hashes[0],
        .block_hashes = hashes,
        .block_hash_count = HASHES,
        .prompt_tokens = prompt,
        .output_tokens = output,
    };
    struct sim_request_id id = {0};
    assert_status(sim_engine_submit(engine, &spec, &id), ST_OK);
    return id;
}

static uint64_t begin(struct sim_engine *engine)
{
    uint64_t us = 0;
    assert_status(sim_engine_begin(engine, &us), ST_OK);
    assert_true(sim_engine_check(engine));
    return us;
}

/* Cached tokens of the last request that ended in it. */
static uint32_t end(struct sim_engine *engine)
{
    uint32_t cached_tokens = 0;
    size_t count = 0;
    const struct sim_event *events = sim_engine_end(engine, &count);
    for (size_t i = 0; i < count; i++) {
        cached_tokens =
            events[i].kind == SIM_EVENT_FINISHED ? events[i].cached_tokens : cached_tokens;
    }
    assert_true(sim_engine_check(engine));
    return cached_tokens;
}

static uint32_t run(struct sim_engine *engine, const uint64_t *hashes, uint32_t prompt)
{
    uint64_t us = 0;
    uint32_t cached_tokens = 0;
    (void)submit(engine, hashes, prompt, 1);
    while (sim_engine_begin(engine, &us) == ST_OK) {
        cached_tokens = end(engine);
    }
    return cached_tokens;
}

static void tiers__bad_links__are_refused(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 8);
    f.opts.tiers.host_link.bytes_per_s = 0;
    assert_status(sim_engine_new(&f.engine, mem_heap(), &f.opts), ST_INVAL);
    f.opts.tiers.host_link.bytes_per_s = SIM_LINK_BYTES_PER_S_MAX + 1;
    assert_status(sim_engine_new(&f.engine, mem_heap(), &f.opts), ST_INVAL);
    f.opts.tiers.host_link.bytes_per_s = 1;
    f.opts.tiers.host_tokens = BLOCK_TOKENS - 1;
    assert_status(sim_engine_new(&f.engine, mem_heap(), &f.opts), ST_INVAL);
}

/* One takes 5 blocks, two all 8: one's tail goes to the host, then loads of 5 blocks. */
static void write_back__evicted_blocks__are_loaded_and_forgotten_there(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    start(&f);
    assert_int_equal(run(f.engine, f.one, 5 * 16), 0);
    assert_int_equal(sim_engine_host(f.engine).blocks, 0);
    assert_int_equal(run(f.engine, f.two, 8 * 16), 0);
    assert_int_equal(sim_engine_host(f.engine).blocks, 5);
    (void)submit(f.engine, f.one, 5 * 16 + 1, 1);
    assert_int_equal(begin(f.engine), 100 + 5 * 16); /* nothing to compute meanwhile */
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 0);
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 6 - 1);
    (void)end(f.engine);
    assert_int_equal(begin(f.engine), ITERATION_US);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 1);
    assert_int_equal(end(f.engine), 5 * 16);
    /* two lost 6 blocks, and one's five are back */
    assert_int_equal(sim_engine_host(f.engine).blocks, 6);
    struct sim_tiers_counts n = sim_engine_tiers(f.engine);
    assert_int_equal(n.host_hit_tokens, 5 * 16);
    assert_int_equal(n.host_loaded_bytes, 5 * BLOCK_BYTES);
    assert_int_equal(n.host_written_bytes, 11 * BLOCK_BYTES);
    assert_int_equal(sim_engine_counters(f.engine)->load_wait_us, 180);
    assert_int_equal(sim_engine_counters(f.engine)->iteration_count, 3);
    sim_engine_free(f.engine);
}

static void write_through__computed_blocks__are_there_at_once_and_stay(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    f.opts.tiers.host_mode = SIM_TIER_WRITE_THROUGH;
    start(&f);
    (void)run(f.engine, f.one, 5 * 16);
    assert_int_equal(sim_engine_host(f.engine).blocks, 5);
    (void)run(f.engine, f.two, 8 * 16);
    assert_int_equal(sim_engine_host(f.engine).blocks, 13);
    assert_int_equal(run(f.engine, f.one, 5 * 16 + 1), 5 * 16);
    assert_int_equal(sim_engine_host(f.engine).blocks, 13);
    assert_int_equal(sim_engine_tiers(f.engine).host_written_bytes, 13 * BLOCK_BYTES);
    sim_engine_free(f.engine);
}

/* The tail has gone from a tier of 3 blocks: the prefix is what is left. */
static void tiers__host_is_small__keeps_the_prefix(void **state)
{
    (void)state;
    for (int mode = SIM_TIER_WRITE_BACK; mode <= SIM_TIER_WRITE_THROUGH; mode++) {
        struct fixture f;
        setup(&f, 3);
        f.opts.tiers.host_mode = (enum sim_tier_mode)mode;
        start(&f);
        (void)run(f.engine, f.one, 5 * 16);
        (void)run(f.engine, f.two, 8 * 16);
        bool is_back = mode == SIM_TIER_WRITE_BACK;
        (void)submit(f.engine, is_back ? f.one : f.two, 5 * 16 + 1, 1);
        assert_int_equal(begin(f.engine), is_back ? 100 + 3 * 16 : ITERATION_US);
        assert_int_equal(end(f.engine), is_back ? 0 : 5 * 16);
        sim_engine_free(f.engine);
    }
}

/* GPU first, then what follows in the host. */
static void tiers__prefix_is_in_the_gpu__only_the_rest_is_loaded(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    start(&f);
    (void)run(f.engine, f.one, 5 * 16);
    (void)run(f.engine, f.two, 5 * 16); /* takes two blocks of one */
    (void)submit(f.engine, f.one, 5 * 16 + 1, 1);
    assert_int_equal(begin(f.engine), 100 + 2 * 16);
    (void)end(f.engine);
    (void)begin(f.engine);
    assert_int_equal(end(f.engine), 5 * 16);
    sim_engine_free(f.engine);
}

static void tiers__two_loads__go_one_after_the_other_while_others_compute(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 32);
    f.opts.profile.kv_tokens = 16 * BLOCK_TOKENS;
    f.opts.tiers.host_link.latency_us = 8000;
    start(&f);
    uint64_t three[HASHES];
    for (uint64_t i = 0; i < HASHES; i++) {
        three[i] = 300 + i;
    }
    (void)run(f.engine, f.one, 3 * 16);
    (void)run(f.engine, f.two, 3 * 16);
    (void)run(f.engine, three, 16 * 16);
    three[0] = 900; /* not there: computed */
    (void)submit(f.engine, f.one, 3 * 16 + 1, 1);
    (void)submit(f.engine, f.two, 3 * 16 + 1, 1);
    (void)submit(f.engine, three, 16, 4);
    uint64_t finished = sim_engine_counters(f.engine)->finished_count;
    static const uint32_t chunks[5] = {16, 0, 1, 0, 1}; /* one there at 8048 us, two at 16096 */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(begin(f.engine), ITERATION_US);
        assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, chunks[i]);
        (void)end(f.engine);
    }
    assert_int_equal(sim_engine_counters(f.engine)->finished_count, finished + 3);
    assert_int_equal(sim_engine_counters(f.engine)->load_wait_us, 0);
    sim_engine_free(f.engine);
}

/* Making room for two blocks writes two: 32 us. The load takes 4,950 + 32 us, an iteration 5,000.
 */
static void tiers__writes_share_the_link__a_load_waits_for_them(void **state)
{
    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct fixture f;
        setup(&f, 16);
        f.opts.tiers.host_link.latency_us = 4950;
        f.opts.tiers.host_link.has_write_time = is_shared != 0;
        start(&f);
        (void)run(f.engine, f.one, 8 * 16);
        (void)run(f.engine, f.two, 8 * 16);
        const uint64_t three[HASHES] = {301, 302};
        (void)submit(f.engine, three, 2 * 16, 3);
        (void)submit(f.engine, f.one, 2 * 16 + 1, 1);
        (void)begin(f.engine);
        assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 32);
        (void)end(f.engine);
        (void)begin(f.engine);
        assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, is_shared ? 0 : 1);
        (void)end(f.engine);
        sim_engine_free(f.engine);
    }
}

static void tiers__pause_is_cut__another_request_goes_on_at_once(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    start(&f);
    (void)run(f.engine, f.one, 5 * 16);
    (void)run(f.engine, f.two, 8 * 16);
    (void)submit(f.engine, f.one, 5 * 16 + 1, 1);
    uint64_t us = 0;
    assert_status(sim_engine_begin_run(f.engine, UINT64_MAX, &us), ST_OK);
    assert_int_equal(us, 180);
    assert_int_equal(sim_engine_cut_run(f.engine, 70), 70);
    (void)submit(f.engine, f.two, 15, 1);
    (void)end(f.engine);
    assert_int_equal(begin(f.engine), ITERATION_US);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 15);
    (void)end(f.engine);
    assert_int_equal(begin(f.engine), ITERATION_US);
    assert_int_equal(end(f.engine), 5 * 16);
    assert_int_equal(sim_engine_counters(f.engine)->load_wait_us, 70);
    sim_engine_free(f.engine);
}

static void tiers__aborted_while_loading__blocks_are_free_and_still_in_the_host(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    start(&f);
    (void)run(f.engine, f.one, 5 * 16);
    (void)run(f.engine, f.two, 8 * 16);
    struct sim_request_id id = submit(f.engine, f.one, 5 * 16 + 1, 1);
    (void)begin(f.engine);
    assert_true(sim_engine_abort(f.engine, id));
    assert_true(sim_engine_check(f.engine));
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 0);
    (void)end(f.engine);
    assert_int_equal(run(f.engine, f.one, 5 * 16 + 1), 5 * 16);
    sim_engine_free(f.engine);
}

static void submit_at(struct fixture *f, uint64_t key, uint32_t prompt, int64_t priority)
{
    const struct sim_request_spec spec = {
        .chain = key, .prompt_tokens = prompt, .output_tokens = 30, .priority = priority};
    struct sim_request_id id;
    assert_status(sim_engine_submit(f->engine, &spec, &id), ST_OK);
}

/* Four blocks are being loaded, a request of the worst priority takes the other four and needs a
 * fifth; another one waits for room. */
static void tiers__last_to_compute_is_preempted__who_waits_goes_on_at_once(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    f.opts.tiers.host_link.latency_us = 200000;
    start(&f);
    (void)run(f.engine, f.one, 5 * 16);
    (void)run(f.engine, f.two, 8 * 16);
    (void)submit(f.engine, f.one, 4 * 16 + 1, 1);
    submit_at(&f, 900, 3 * 16, 1);
    for (int i = 0; i < 2; i++) {
        (void)begin(f.engine);
        (void)end(f.engine);
    }
    submit_at(&f, 901, 16, 0);
    while (sim_engine_counters(f.engine)->preempted_count == 0) {
        assert_int_equal(begin(f.engine), ITERATION_US);
        assert_int_equal(sim_engine_waiting(f.engine), 1);
        bool is_over = sim_engine_counters(f.engine)->preempted_count > 0;
        assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, is_over ? 16 : 0);
        (void)end(f.engine);
    }
    assert_int_equal(sim_engine_counters(f.engine)->load_wait_us, 0);
    sim_engine_free(f.engine);
}

static void tiers__cache_is_reset__host_is_empty(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 16);
    start(&f);
    (void)run(f.engine, f.one, 8 * 16);
    (void)run(f.engine, f.two, 8 * 16);
    assert_true(sim_engine_reset_cache(f.engine));
    assert_int_equal(sim_engine_host(f.engine).blocks, 0);
    assert_int_equal(run(f.engine, f.one, 5 * 16), 0);
    sim_engine_free(f.engine);
}

/* What one engine computed, the other loads: 4 blocks in 32 us each, after a millisecond. */
static void store__computed_by_another_engine__is_loaded(void **state)
{
    (void)state;
    struct fixture f;
    struct sim_engine *other = NULL;
    setup(&f, 0);
    assert_status(sim_store_new(&f.opts.tiers.store, mem_heap(), 1024, 16), ST_OK);
    start(&f);
    assert_status(sim_engine_new(&other, mem_heap(), &f.opts), ST_OK);
    (void)run(f.engine, f.one, 4 * 16 + 1);
    (void)submit(other, f.one, 4 * 16 + 1, 1);
    assert_int_equal(begin(other), 1000 + 4 * 32);
    (void)end(other);
    (void)begin(other);
    assert_int_equal(end(other), 4 * 16);
    assert_int_equal(sim_engine_tiers(other).store_hit_tokens, 64);
    assert_int_equal(sim_engine_tiers(other).store_written_bytes, 0);
    assert_int_equal(sim_engine_tiers(f.engine).store_written_bytes, 4 * BLOCK_BYTES);
    assert_int_equal(sim_store_counts(f.opts.tiers.store).blocks, 4);
    sim_engine_free(f.engine);
    sim_engine_free(other);
    sim_store_free(f.opts.tiers.store);
}

static void store__host_has_some__both_links_load_at_once(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 2);
    assert_status(sim_store_new(&f.opts.tiers.store, mem_heap(), 1024, 16), ST_OK);
    start(&f);
    (void)run(f.engine, f.one, 5 * 16);
    (void)run(f.engine, f.two, 8 * 16);
    (void)submit(f.engine, f.one, 5 * 16 + 1, 1);
    assert_int_equal(begin(f.engine), 1000 + 3 * 32);
    assert_int_equal(sim_engine_tiers(f.engine).host_hit_tokens, 2 * 16);
    assert_int_equal(sim_engine_tiers(f.engine).store_hit_tokens, 3 * 16);
    (void)end(f.engine);
    sim_engine_free(f.engine);
    sim_store_free(f.opts.tiers.store);
}

/* --- against a plain reference: one request at a time, every list an array, oldest first --- */

enum { LIST_MAX = 256, SESSIONS = 10, REQUESTS = 1500, SEEDS = 8, LONGEST = 12 };

struct lru {
    uint64_t hashes[LIST_MAX];
    uint32_t count;
    uint32_t cap;
};

struct session {
    uint64_t hashes[HASHES];
    uint32_t tokens;
};

struct world {
    struct rng rng;
    struct fixture f;
    struct session sessions[SESSIONS];
    struct lru gpu; /* unreferenced, cap: all blocks */
    struct lru host;
    struct lru store;
    uint32_t used; /* blocks of the request */
    bool is_through;
    uint64_t loaded;
    uint64_t written;
};

static bool lru_take(struct lru *lru, uint64_t hash)
{
    for (uint32_t i = 0; i < lru->count; i++) {
        if (lru->hashes[i] == hash) {
            memmove(&lru->hashes[i], &lru->hashes[i + 1],
                    (lru->count - i - 1) * sizeof(lru->hashes[0]));
            lru->count--;
            return true;
        }
    }
    return false;
}

static bool lru_has(const struct lru *lru, uint64_t hash)
{
    for (uint32_t i = 0; i < lru->count; i++) {
        if (lru->hashes[i] == hash) {
            return true;
        }
    }
    return false;
}

static void lru_put(struct world *w, struct lru *lru, uint64_t hash)
{
    if (lru->cap == 0) {
        return;
    }
    w->written += lru == &w->host && !lru_has(lru, hash);
    if (!lru_take(lru, hash) && lru->count == lru->cap) {
        (void)lru_take(lru, lru->hashes[0]);
    }
    lru->hashes[lru->count++] = hash;
}

static void lru_touch(struct lru *lru, uint64_t hash)
{
    if (lru_take(lru, hash)) {
        lru->hashes[lru->count++] = hash;
    }
}

static void ref_alloc(struct world *w, uint32_t blocks)
{
    for (; w->used < blocks; w->used++) {
        if (w->used + w->gpu.count == w->gpu.cap) {
            uint64_t hash = w->gpu.hashes[0];
            (void)lru_take(&w->gpu, hash);
            if (!w->is_through) {
                lru_put(w, &w->host, hash);
            }
        }
    }
}

static void ref_arrived(struct world *w, uint64_t hash)
{
    if (w->is_through) {
        lru_put(w, &w->host, hash);
    } else {
        (void)lru_take(&w->host, hash);
    }
}

static void ref_computed(struct world *w, uint64_t hash)
{
    ref_arrived(w, hash);
    lru_put(w, &w->store, hash);
}

static void ref_touch_back(struct world *w, const uint64_t *hashes, uint32_t from, uint32_t to)
{
    for (uint32_t i = to; i-- > from;) {
        lru_touch(&w->host, hashes[i]);
        lru_touch(&w->store, hashes[i]);
    }
}

/* Blocks of the prompt that need not be computed. */
static uint32_t ref_run(struct world *w, const uint64_t *hashes, uint32_t prompt, uint32_t output)
{
    uint32_t full = prompt / BLOCK_TOKENS;
    uint32_t hit = 0;
    while (hit < full && lru_take(&w->gpu, hashes[hit])) {
        hit++;
    }
    uint32_t to = hit;
    while (to < full && (lru_has(&w->host, hashes[to]) || lru_has(&w->store, hashes[to]))) {
        to++;
    }
    w->loaded += to - hit;
    w->used = hit;
    ref_touch_back(w, hashes, hit, to);
    ref_alloc(w, to);
    for (uint32_t i = hit; i < to; i++) {
        ref_arrived(w, hashes[i]);
    }
    ref_alloc(w, (prompt + BLOCK_TOKENS - 1) / BLOCK_TOKENS);
    for (uint32_t i = to; i < full; i++) {
        ref_computed(w, hashes[i]);
    }
    for (uint32_t tokens = prompt + 1; tokens < prompt + output; tokens++) {
        ref_alloc(w, (tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS);
        if (tokens % BLOCK_TOKENS == 0) {
            ref_computed(w, hashes[full++]);
        }
    }
    ref_touch_back(w, hashes, 0, full);
    w->used = 0;
    for (uint32_t i = full; i-- > 0;) {
        w->gpu.hashes[w->gpu.count++] = hashes[i];
    }
    return to;
}

/* Goes on from its last answer, or from an early place in it, or anew. */
static void next_prompt(struct world *w, struct session *s, uint32_t *ret_prompt)
{
    uint32_t most = LONGEST * BLOCK_TOKENS;
    uint32_t prompt = s->tokens + 1 + (uint32_t)rng_below(&w->rng, 60);
    if (s->tokens == 0 || prompt > most || rng_below(&w->rng, 12) == 0) {
        uint32_t from = s->tokens == 0 || prompt > most ? 0 : (uint32_t)rng_below(&w->rng, 4);
        uint64_t nonce = rng_u64(&w->rng);
        for (uint32_t i = from; i < HASHES; i++) {
            s->hashes[i] = i < 2 ? 1 + i : hash_mix(nonce, i) | 1;
        }
        prompt = from * BLOCK_TOKENS + 40 + (uint32_t)rng_below(&w->rng, 60);
    }
    *ret_prompt = prompt + (prompt % BLOCK_TOKENS == 0);
}

static void compare(struct world *w)
{
    struct session *s = &w->sessions[rng_below(&w->rng, SESSIONS)];
    uint32_t prompt = 0;
    next_prompt(w, s, &prompt);
    uint32_t output = 1 + (uint32_t)rng_below(&w->rng, 30);
    s->tokens = prompt + output;
    uint64_t us = 0;
    uint32_t cached_tokens = 0;
    (void)submit(w->f.engine, s->hashes, prompt, output);
    while (sim_engine_begin(w->f.engine, &us) == ST_OK) {
        cached_tokens = end(w->f.engine);
    }
    assert_int_equal(cached_tokens, ref_run(w, s->hashes, prompt, output) * BLOCK_TOKENS);
    struct sim_tiers_counts n = sim_engine_tiers(w->f.engine);
    assert_int_equal(n.host_hit_blocks + n.store_hit_blocks, w->loaded);
    assert_int_equal(n.host_written_blocks, w->written);
    assert_int_equal(sim_engine_host(w->f.engine).blocks, w->host.count);
    assert_int_equal(sim_engine_kv(w->f.engine).cached_blocks, w->gpu.count);
}

static void tiers__random_sessions__hit_what_a_plain_reference_hits(void **state)
{
    (void)state;
    static struct world w;
    uint64_t loaded = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        memset(&w, 0, sizeof(w));
        rng_init(&w.rng, seed);
        w.host.cap = seed % 4 == 3 ? 0 : 4 + (uint32_t)rng_below(&w.rng, 40);
        w.store.cap = seed % 4 == 1 ? 0 : 4 + (uint32_t)rng_below(&w.rng, 100);
        w.gpu.cap = HASHES + (uint32_t)rng_below(&w.rng, 24);
        w.is_through = seed % 2 == 0;
        setup(&w.f, w.host.cap);
        w.f.opts.tiers.host_mode = w.is_through ? SIM_TIER_WRITE_THROUGH : SIM_TIER_WRITE_BACK;
        w.f.opts.profile.kv_tokens = w.gpu.cap * BLOCK_TOKENS;
        w.f.opts.tiers.host_link.has_write_time = rng_below(&w.rng, 2) == 0;
        if (w.store.cap > 0) {
            assert_status(sim_store_new(&w.f.opts.tiers.store, mem_heap(),
                                        (uint64_t)w.store.cap * BLOCK_TOKENS, BLOCK_TOKENS),
                          ST_OK);
        }
        start(&w.f);
        for (int i = 0; i < REQUESTS; i++) {
            compare(&w);
        }
        print_message("%llu blocks loaded\n", (unsigned long long)w.loaded);
        loaded += w.loaded;
        sim_engine_free(w.f.engine);
        sim_store_free(w.f.opts.tiers.store);
    }
    assert_true(loaded > 2000); /* else nothing was tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiers__bad_links__are_refused),
        cmocka_unit_test(write_back__evicted_blocks__are_loaded_and_forgotten_there),
        cmocka_unit_test(write_through__computed_blocks__are_there_at_once_and_stay),
        cmocka_unit_test(tiers__host_is_small__keeps_the_prefix),
        cmocka_unit_test(tiers__prefix_is_in_the_gpu__only_the_rest_is_loaded),
        cmocka_unit_test(tiers__two_loads__go_one_after_the_other_while_others_compute),
        cmocka_unit_test(tiers__writes_share_the_link__a_load_waits_for_them),
        cmocka_unit_test(tiers__pause_is_cut__another_request_goes_on_at_once),
        cmocka_unit_test(tiers__aborted_while_loading__blocks_are_free_and_still_in_the_host),
        cmocka_unit_test(tiers__last_to_compute_is_preempted__who_waits_goes_on_at_once),
        cmocka_unit_test(tiers__cache_is_reset__host_is_empty),
        cmocka_unit_test(store__computed_by_another_engine__is_loaded),
        cmocka_unit_test(store__host_has_some__both_links_load_at_once),
        cmocka_unit_test(tiers__random_sessions__hit_what_a_plain_reference_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
