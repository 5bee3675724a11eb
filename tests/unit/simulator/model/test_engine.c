/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/engine.h"

enum { HASHES = 64 };

/* Chains of two sessions that share nothing; a third shares the first four blocks of the first one.
 */
struct fixture {
    uint64_t one[HASHES];
    uint64_t two[HASHES];
    uint64_t fork[HASHES];
    struct sim_engine_opts opts;
    struct sim_engine *engine;
};

static void setup(struct fixture *f, uint32_t kv_blocks)
{
    static const struct sim_profile machine = {
        .name = "test",
        .a_s = 1e-3,
        .b_s_per_token = 10e-6,
        .d_s_per_pair = 1e-9,
        .f_s = 5e-3,
        .g_s_per_request = 0.1e-3,
        .h_s_per_token = 50e-9,
        .max_running = 4,
        .budget_tokens = 64,
    };
    for (uint64_t i = 0; i < HASHES; i++) {
        f->one[i] = 1000 + i;
        f->two[i] = 2000 + i;
        f->fork[i] = i < 4 ? f->one[i] : 3000 + i;
    }
    sim_engine_opts_init(&f->opts, &machine);
    f->opts.profile.kv_tokens = kv_blocks * 16;
    f->engine = NULL;
}

static void start(struct fixture *f)
{
    assert_status(sim_engine_new(&f->engine, mem_heap(), &f->opts), ST_OK);
}

static struct sim_request_id
submit(struct fixture *f, const uint64_t *hashes, uint32_t prompt, uint32_t output)
{
    struct sim_request_spec spec = {
        .owner = f,
        .block_hashes = hashes,
        .block_hash_count = HASHES,
        .prompt_tokens = prompt,
        .output_tokens = output,
    };
    struct sim_request_id id = {0};
    assert_status(sim_engine_submit(f->engine, &spec, &id), ST_OK);
    assert_true(id.v != 0);
    return id;
}

static uint64_t begin(struct fixture *f)
{
    uint64_t us = 0;
    assert_status(sim_engine_begin(f->engine, &us), ST_OK);
    assert_true(sim_engine_check(f->engine));
    return us;
}

static size_t end(struct fixture *f, const struct sim_event **ret)
{
    size_t count = 0;
    *ret = sim_engine_end(f->engine, &count);
    assert_true(sim_engine_check(f->engine));
    return count;
}

/* Runs until idle; the number of iterations. */
static uint64_t drain(struct fixture *f)
{
    uint64_t us = 0;
    uint64_t count = 0;
    const struct sim_event *events = NULL;
    while (sim_engine_begin(f->engine, &us) == ST_OK) {
        (void)end(f, &events);
        count++;
    }
    return count;
}

static void engine__idle__has_nothing_to_do(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 64);
    start(&f);
    uint64_t us = 0;
    assert_status(sim_engine_begin(f.engine, &us), ST_AGAIN);
    assert_false(sim_engine_is_iterating(f.engine));
    sim_engine_free(f.engine);
}

static void engine__bad_options__are_refused(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 64);
    struct sim_engine_opts bad = f.opts;
    bad.block_tokens = 0;
    assert_status(sim_engine_new(&f.engine, mem_heap(), &bad), ST_INVAL);
    bad = f.opts;
    bad.profile.budget_tokens = 3; /* less than the batch: decodes would starve */
    assert_status(sim_engine_new(&f.engine, mem_heap(), &bad), ST_INVAL);
    bad = f.opts;
    bad.profile.kv_tokens = 15;
    assert_status(sim_engine_new(&f.engine, mem_heap(), &bad), ST_INVAL);
}

/* 100 tokens in chunks of 64 and 36, then two more tokens: times by hand. */
static void engine__one_request__takes_the_computed_times(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    struct sim_request_id id = submit(&f, f.one, 100, 3);
    /* max(5000, 1000 + 640) + 1e-3 * 64 * 32 = 5002.048 us, rounded up */
    assert_int_equal(begin(&f), 5003);
    assert_int_equal(end(&f, &ev), 0);
    /* 5000 + 1e-3 * 36 * (64 + 18) = 5002.952 */
    assert_int_equal(begin(&f), 5003);
    assert_int_equal(end(&f, &ev), 1);
    assert_int_equal(ev[0].kind, SIM_EVENT_TOKEN);
    assert_int_equal(ev[0].token_idx, 0);
    assert_int_equal(ev[0].cached_tokens, 0);
    assert_int_equal(ev[0].id.v, id.v);
    assert_ptr_equal(ev[0].owner, &f);
    /* f + g + h * 100 = 5000 + 100 + 5 */
    assert_int_equal(begin(&f), 5105);
    assert_int_equal(end(&f, &ev), 1);
    /* 5000 + 100 + 5.05, rounded up */
    assert_int_equal(begin(&f), 5106);
    assert_int_equal(end(&f, &ev), 2);
    assert_int_equal(ev[0].kind, SIM_EVENT_TOKEN);
    assert_int_equal(ev[0].token_idx, 2);
    assert_int_equal(ev[1].kind, SIM_EVENT_FINISHED);
    const struct sim_engine_counters *n = sim_engine_counters(f.engine);
    assert_int_equal(n->busy_us, 5003 + 5003 + 5105 + 5106);
    assert_int_equal(n->prompt_tokens, 100);
    assert_int_equal(n->generated_tokens, 3);
    assert_int_equal(n->computed_tokens, 100);
    /* 102 tokens had KV: six full blocks stay. */
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 6);
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 0);
    sim_engine_free(f.engine);
}

static void engine__decodes_and_a_prefill__share_the_budget_decodes_first(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 60, 10);
    (void)begin(&f);
    (void)end(&f, &ev);
    (void)submit(&f, f.two, 200, 1);
    (void)begin(&f);
    assert_int_equal(sim_engine_batch(f.engine)->decode_requests, 1);
    assert_int_equal(sim_engine_batch(f.engine)->decode_tokens, 60);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 63);
    assert_int_equal(end(&f, &ev), 1);
    sim_engine_free(f.engine);
}

static void engine__same_prompt_again__computes_only_what_is_not_cached(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 50, 1);
    (void)drain(&f);
    (void)submit(&f, f.one, 50, 1);
    (void)begin(&f);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 2);
    assert_int_equal(end(&f, &ev), 2);
    assert_int_equal(ev[0].cached_tokens, 48);
    assert_int_equal(sim_engine_counters(f.engine)->query_tokens, 100);
    assert_int_equal(sim_engine_counters(f.engine)->hit_tokens, 48);
    sim_engine_free(f.engine);
}

static void engine__whole_prompt_is_cached__computes_its_last_block(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 48, 1);
    (void)drain(&f);
    (void)submit(&f, f.one, 48, 1);
    (void)begin(&f);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 16);
    assert_int_equal(end(&f, &ev), 2);
    assert_int_equal(ev[0].cached_tokens, 32);
    sim_engine_free(f.engine);
}

static void engine__reply_comes_back_as_prompt__is_cached_too(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 40, 30); /* KV of 69 tokens: four blocks */
    (void)drain(&f);
    (void)submit(&f, f.one, 100, 1);
    (void)begin(&f);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 36);
    assert_int_equal(end(&f, &ev), 2);
    assert_int_equal(ev[0].cached_tokens, 64);
    sim_engine_free(f.engine);
}

static void engine__shared_prefix__is_hit_up_to_the_fork(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 112, 1);
    (void)drain(&f);
    (void)submit(&f, f.fork, 112, 1);
    (void)begin(&f);
    (void)end(&f, &ev);
    assert_int_equal(sim_engine_counters(f.engine)->hit_tokens, 64);
    sim_engine_free(f.engine);
}

static void engine__equal_prompts_in_one_iteration__do_not_hit_each_other(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 32, 1);
    (void)submit(&f, f.one, 32, 1);
    (void)begin(&f);
    assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, 64);
    (void)end(&f, &ev);
    assert_int_equal(sim_engine_counters(f.engine)->hit_tokens, 0);
    sim_engine_free(f.engine);
}

static void engine__cache_is_off__nothing_is_hit(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 64);
    f.opts.has_prefix_cache = false;
    start(&f);
    (void)submit(&f, f.one, 50, 1);
    (void)drain(&f);
    (void)submit(&f, f.one, 50, 1);
    (void)drain(&f);
    assert_int_equal(sim_engine_counters(f.engine)->hit_tokens, 0);
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 0);
    sim_engine_free(f.engine);
}

/* 100 tokens of which 70 are given take the time of 30; with everything given the last one is
 * computed. Without keeps_all nothing is given. */
static void engine__keeps_all__given_tokens_are_not_computed(void **state)
{
    (void)state;
    const uint32_t given[3] = {70, 100, 70};
    const uint32_t computed[3] = {30, 1, 64};
    for (int i = 0; i < 3; i++) {
        struct fixture f;
        struct sim_request_id id;
        setup(&f, 64);
        f.opts.keeps_all = i < 2;
        start(&f);
        const struct sim_request_spec spec = {.block_hashes = f.one,
                                              .block_hash_count = HASHES,
                                              .prompt_tokens = 100,
                                              .output_tokens = 1,
                                              .given_tokens = given[i]};
        assert_status(sim_engine_submit(f.engine, &spec, &id), ST_OK);
        (void)begin(&f);
        assert_int_equal(sim_engine_batch(f.engine)->prefill_tokens, computed[i]);
        assert_int_equal(sim_engine_counters(f.engine)->hit_tokens, i < 2 ? 100 - computed[i] : 0);
        assert_int_equal(sim_engine_kv(f.engine).used_blocks, i < 2 ? 7 : 4);
        sim_engine_free(f.engine);
    }
}

static void engine__first_in_the_queue_does_not_fit__later_ones_wait_too(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 8);
    start(&f);
    (void)submit(&f, f.one, 60, 40);
    (void)submit(&f, f.two, 100, 1); /* needs 7 blocks, 4 are left */
    (void)submit(&f, f.fork, 16, 1);
    (void)begin(&f);
    (void)end(&f, &ev);
    (void)begin(&f);
    (void)end(&f, &ev);
    assert_int_equal(sim_engine_running(f.engine), 1);
    assert_int_equal(sim_engine_waiting(f.engine), 2);
    sim_engine_free(f.engine);
}

static void engine__watermark__keeps_blocks_free_beside_others_only(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 8);
    f.opts.watermark_blocks = 4;
    start(&f);
    (void)submit(&f, f.one, 100, 4); /* 7 of 8 blocks: nothing else runs, so it may */
    (void)begin(&f);
    (void)end(&f, &ev);
    assert_int_equal(sim_engine_running(f.engine), 1);
    sim_engine_free(f.engine);
    setup(&f, 8);
    f.opts.watermark_blocks = 4;
    start(&f);
    (void)submit(&f, f.one, 30, 4);
    (void)submit(&f, f.two, 40, 4); /* 3 + 4 > 6 left */
    (void)begin(&f);
    (void)end(&f, &ev);
    assert_int_equal(sim_engine_running(f.engine), 1);
    assert_int_equal(sim_engine_waiting(f.engine), 1);
    sim_engine_free(f.engine);
}

/* Two requests fill 4 blocks; the older needs a fifth token block, the younger goes and comes back.
 */
static void engine__blocks_run_out__the_latest_arrival_is_recomputed(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 4);
    start(&f);
    struct sim_request_id old = submit(&f, f.one, 31, 20);
    struct sim_request_id young = submit(&f, f.two, 31, 3);
    (void)begin(&f); /* both prompts: 2 blocks each */
    assert_int_equal(end(&f, &ev), 2);
    (void)begin(&f); /* token 32 of each fits */
    assert_int_equal(end(&f, &ev), 2);
    (void)begin(&f); /* token 33 of the older does not */
    assert_int_equal(sim_engine_batch(f.engine)->decode_requests, 1);
    assert_int_equal(end(&f, &ev), 2);
    assert_int_equal(ev[0].kind, SIM_EVENT_PREEMPTED);
    assert_int_equal(ev[0].id.v, young.v);
    assert_int_equal(ev[1].kind, SIM_EVENT_TOKEN);
    assert_int_equal(ev[1].id.v, old.v);
    assert_int_equal(sim_engine_waiting(f.engine), 1);
    (void)drain(&f);
    const struct sim_engine_counters *n = sim_engine_counters(f.engine);
    assert_int_equal(n->finished_count, 2);
    assert_int_equal(n->preempted_count, 1);
    assert_int_equal(n->generated_tokens, 23);
    assert_int_equal(n->prompt_tokens, 62); /* counted once */
    assert_true(n->recomputed_tokens > 0);
    sim_engine_free(f.engine);
}

static void engine__preempted_request__starts_before_later_arrivals(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 4);
    start(&f);
    (void)submit(&f, f.one, 31, 20);
    struct sim_request_id young = submit(&f, f.two, 31, 3);
    (void)begin(&f);
    (void)end(&f, &ev);
    (void)submit(&f, f.fork, 10, 1);
    while (sim_engine_counters(f.engine)->finished_count == 0) {
        (void)begin(&f);
        (void)end(&f, &ev);
    }
    uint64_t second = 0;
    while (second == 0) {
        (void)begin(&f);
        size_t count = end(&f, &ev);
        for (size_t i = 0; i < count; i++) {
            second = second == 0 && ev[i].kind == SIM_EVENT_TOKEN ? ev[i].id.v : second;
        }
    }
    assert_int_equal(second, young.v);
    sim_engine_free(f.engine);
}

static void engine__abort_while_iterating__frees_blocks_and_says_nothing(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    struct sim_request_id id = submit(&f, f.one, 50, 5);
    (void)begin(&f);
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 4);
    assert_true(sim_engine_abort(f.engine, id));
    assert_int_equal(sim_engine_kv(f.engine).used_blocks, 0);
    assert_int_equal(end(&f, &ev), 0);
    assert_false(sim_engine_abort(f.engine, id));
    assert_int_equal(sim_engine_counters(f.engine)->aborted_count, 1);
    /* What was never computed is not in the cache. */
    assert_int_equal(sim_engine_kv(f.engine).cached_blocks, 0);
    sim_engine_free(f.engine);
}

static void engine__abort_while_waiting__leaves_the_queue(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 64);
    start(&f);
    struct sim_request_id id = submit(&f, f.one, 50, 5);
    assert_int_equal(sim_engine_waiting(f.engine), 1);
    assert_true(sim_engine_abort(f.engine, id));
    assert_int_equal(sim_engine_waiting(f.engine), 0);
    assert_int_equal(drain(&f), 0);
    sim_engine_free(f.engine);
}

static void engine__limits__are_told_apart(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 4);
    f.opts.queue_max = 1;
    start(&f);
    struct sim_request_id id = {0};
    struct sim_request_spec spec = {.block_hashes = f.one, .prompt_tokens = 60, .output_tokens = 6};
    assert_status(sim_engine_submit(f.engine, &spec, &id), ST_TOOBIG); /* KV of 65 tokens */
    spec.output_tokens = 5;
    assert_status(sim_engine_submit(f.engine, &spec, &id), ST_OK);
    assert_status(sim_engine_submit(f.engine, &spec, &id), ST_FULL);
    spec.prompt_tokens = 0;
    assert_status(sim_engine_submit(f.engine, &spec, &id), ST_INVAL);
    assert_int_equal(sim_engine_counters(f.engine)->refused_count, 2);
    assert_int_equal(drain(&f), 5);
    sim_engine_free(f.engine);
}

static void engine__batch_is_full__the_rest_waits_in_arrival_order(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    struct sim_request_id ids[6];
    for (int i = 0; i < 6; i++) {
        ids[i] = submit(&f, f.one, 8, 1);
    }
    (void)begin(&f);
    assert_int_equal(end(&f, &ev), 8);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ev[2 * i].id.v, ids[i].v);
    }
    assert_int_equal(sim_engine_waiting(f.engine), 2);
    (void)begin(&f);
    assert_int_equal(end(&f, &ev), 4);
    assert_int_equal(ev[0].id.v, ids[4].v);
    sim_engine_free(f.engine);
}

static void engine__reset_cache__waits_for_an_idle_engine(void **state)
{
    (void)state;
    struct fixture f;
    const struct sim_event *ev = NULL;
    setup(&f, 64);
    start(&f);
    (void)submit(&f, f.one, 50, 2);
    (void)begin(&f);
    assert_false(sim_engine_reset_cache(f.engine));
    (void)end(&f, &ev);
    (void)drain(&f);
    assert_true(sim_engine_reset_cache(f.engine));
    (void)submit(&f, f.one, 50, 1);
    (void)drain(&f);
    assert_int_equal(sim_engine_counters(f.engine)->hit_tokens, 0);
    sim_engine_free(f.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine__idle__has_nothing_to_do),
        cmocka_unit_test(engine__bad_options__are_refused),
        cmocka_unit_test(engine__one_request__takes_the_computed_times),
        cmocka_unit_test(engine__decodes_and_a_prefill__share_the_budget_decodes_first),
        cmocka_unit_test(engine__same_prompt_again__computes_only_what_is_not_cached),
        cmocka_unit_test(engine__whole_prompt_is_cached__computes_its_last_block),
        cmocka_unit_test(engine__reply_comes_back_as_prompt__is_cached_too),
        cmocka_unit_test(engine__shared_prefix__is_hit_up_to_the_fork),
        cmocka_unit_test(engine__equal_prompts_in_one_iteration__do_not_hit_each_other),
        cmocka_unit_test(engine__cache_is_off__nothing_is_hit),
        cmocka_unit_test(engine__keeps_all__given_tokens_are_not_computed),
        cmocka_unit_test(engine__first_in_the_queue_does_not_fit__later_ones_wait_too),
        cmocka_unit_test(engine__watermark__keeps_blocks_free_beside_others_only),
        cmocka_unit_test(engine__blocks_run_out__the_latest_arrival_is_recomputed),
        cmocka_unit_test(engine__preempted_request__starts_before_later_arrivals),
        cmocka_unit_test(engine__abort_while_iterating__frees_blocks_and_says_nothing),
        cmocka_unit_test(engine__abort_while_waiting__leaves_the_queue),
        cmocka_unit_test(engine__limits__are_told_apart),
        cmocka_unit_test(engine__batch_is_full__the_rest_waits_in_arrival_order),
        cmocka_unit_test(engine__reset_cache__waits_for_an_idle_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
