/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/bound.h"
#include "bench/replay/plan.h"
#include "bench/replay/sample.h"
#include "bench/replay/text.h"
#include "simulator/worker/prompt.h"

#include <yyjson.h>

/* Length of the common prefix of two texts. */
static size_t common(struct str a, struct str b)
{
    size_t n = 0;
    while (n < a.len && n < b.len && a.p[n] == b.p[n]) {
        n++;
    }
    return n;
}

/* A copy that stays while the prompt changes. */
static struct buf snapshot(struct str s)
{
    struct buf copy;
    buf_init(&copy, mem_heap(), PROMPT_BYTES_MAX);
    assert_status(buf_add_str(&copy, s), ST_OK);
    return copy;
}

static const struct prompt_step first = {
    .seed = 11, .sys_seed = 22, .sys_tokens = 300, .step = 0, .in_tokens = 1000};

static void
prompt_advance__first_step__has_the_recorded_length_and_the_shared_system_prompt(void **state)
{
    (void)state;
    struct prompt a;
    struct prompt b;
    struct prompt_step other = first;
    other.seed = 12;
    prompt_init(&a, mem_heap());
    prompt_init(&b, mem_heap());
    assert_status(prompt_advance(&a, &first, STR("")), ST_OK);
    assert_status(prompt_advance(&b, &other, STR("")), ST_OK);
    assert_int_equal(prompt_tokens(&a), 1000);
    assert_int_equal(a.count, 2);
    size_t shared = common(prompt_flat(&a), prompt_flat(&b)) / TEXT_TOKEN_BYTES;
    assert_in_range(shared, 300, 306);
    prompt_fini(&a);
    prompt_fini(&b);
}

static void prompt_advance__tool_step__keeps_all_and_adds_reply_call_and_result(void **state)
{
    (void)state;
    struct prompt prompt;
    struct prompt_step next = first;
    next.step = 1;
    next.in_tokens = 1200;
    next.keeps_all = true;
    next.is_tool = true;
    prompt_init(&prompt, mem_heap());
    assert_status(prompt_advance(&prompt, &first, STR("")), ST_OK);
    struct buf before = snapshot(prompt_flat(&prompt));
    assert_status(prompt_advance(&prompt, &next, STR("say \"hi\"")), ST_OK);
    assert_int_equal(prompt_tokens(&prompt), 1200);
    /* The token that opened the answer stands where the answer now does. */
    assert_int_equal(common(buf_str(&before), prompt_flat(&prompt)), before.len);
    assert_int_equal(prompt.count, 4);
    assert_int_equal(prompt.messages[2].role, PROMPT_ASSISTANT);
    assert_int_equal(prompt.messages[3].role, PROMPT_TOOL);
    assert_true(prompt.messages[2].tool_call != 0 &&
                prompt.messages[2].tool_call == prompt.messages[3].tool_call);
    assert_int_equal(prompt.answer_end, prompt.messages[2].text_end);
    buf_fini(&before);
    prompt_fini(&prompt);
}

static void prompt_advance__compaction__keeps_exactly_the_recorded_prefix(void **state)
{
    (void)state;
    const uint32_t cases[] = {1, 2, 5, 301, 302, 303, 304, 600, 998, 1000, 1003, 1190};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct prompt prompt;
        struct prompt_step grown = first;
        grown.step = 1;
        grown.in_tokens = 1200;
        grown.keeps_all = true;
        grown.is_tool = true;
        struct prompt_step cut = grown;
        cut.step = 2;
        cut.keeps_all = false;
        cut.reuse_tokens = cases[i];
        cut.in_tokens = cases[i] + 40;
        prompt_init(&prompt, mem_heap());
        assert_status(prompt_advance(&prompt, &first, STR("")), ST_OK);
        assert_status(prompt_advance(&prompt, &grown, STR("a reply of some length")), ST_OK);
        struct buf before = snapshot(prompt_flat(&prompt));
        assert_status(prompt_advance(&prompt, &cut, STR("unused")), ST_OK);
        size_t kept = common(buf_str(&before), prompt_flat(&prompt)) / TEXT_TOKEN_BYTES;
        /* Frames of messages are not cut through. */
        if (kept + 4 < cases[i] || kept > cases[i] + 4 || prompt_tokens(&prompt) != cases[i] + 40) {
            fail_msg("reuse %u: kept %zu, length %u", cases[i], kept, prompt_tokens(&prompt));
        }
        for (uint32_t m = 0; m + 1 < prompt.count; m++) {
            bool is_open =
                prompt.messages[m].role == PROMPT_ASSISTANT && prompt.messages[m].tool_call != 0;
            if (is_open && prompt.messages[m + 1].role != PROMPT_TOOL) {
                fail_msg("reuse %u: a tool call without its result", cases[i]);
            }
        }
        buf_fini(&before);
        prompt_fini(&prompt);
    }
}

static void prompt_advance__same_prompt_again__changes_nothing(void **state)
{
    (void)state;
    struct prompt prompt;
    struct prompt_step again = first;
    again.step = 1;
    again.reuse_tokens = first.in_tokens;
    prompt_init(&prompt, mem_heap());
    assert_status(prompt_advance(&prompt, &first, STR("")), ST_OK);
    struct buf before = snapshot(prompt_json(&prompt));
    assert_status(prompt_advance(&prompt, &again, STR("unused")), ST_OK);
    assert_true(str_eq(buf_str(&before), prompt_json(&prompt)));
    buf_fini(&before);
    prompt_fini(&prompt);
}

static void prompt_advance__cut_inside_a_reply__stays_utf8_and_json(void **state)
{
    (void)state;
    for (uint32_t reuse = 1001; reuse < 1010; reuse++) {
        struct prompt prompt;
        struct prompt_step grown = first;
        grown.step = 1;
        grown.in_tokens = 1200;
        grown.keeps_all = true;
        struct prompt_step cut = grown;
        cut.step = 2;
        cut.keeps_all = false;
        cut.reuse_tokens = reuse;
        cut.in_tokens = 1100;
        prompt_init(&prompt, mem_heap());
        assert_status(prompt_advance(&prompt, &first, STR("")), ST_OK);
        assert_status(
            prompt_advance(
                &prompt, &grown,
                STR("\xE2\x82\xAC\xE2\x82\xAC\"\n\\\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC")),
            ST_OK);
        assert_status(prompt_advance(&prompt, &cut, STR("")), ST_OK);
        struct buf body;
        buf_init(&body, mem_heap(), PROMPT_BYTES_MAX);
        assert_status(buf_add_str(&body, STR("[")), ST_OK);
        assert_status(buf_add_str(&body, prompt_json(&prompt)), ST_OK);
        assert_status(buf_add_str(&body, STR("]")), ST_OK);
        yyjson_doc *doc = yyjson_read(body.p, body.len, 0);
        if (doc == NULL) {
            fail_msg("reuse %u: no JSON", reuse);
        }
        yyjson_doc_free(doc);
        buf_fini(&body);
        prompt_fini(&prompt);
    }
}

/* What the simulated engine counts in the same prompt. */
static void ask_engine(const struct prompt *prompt, struct sim_ask *ret)
{
    struct buf body;
    struct sim_refusal refusal = {0};
    buf_init(&body, mem_heap(), PROMPT_BYTES_MAX);
    assert_status(buf_add_str(&body, STR("{\"messages\":[")), ST_OK);
    assert_status(buf_add_str(&body, prompt_json(prompt)), ST_OK);
    assert_status(buf_add_str(&body, STR("]}")), ST_OK);
    yyjson_doc *doc = yyjson_read(body.p, body.len, 0);
    assert_non_null(doc);
    assert_true(
        sim_ask_read(ret, SIM_API_CHAT, yyjson_doc_get_root(doc), STR("m"), mem_heap(), &refusal));
    yyjson_doc_free(doc);
    buf_fini(&body);
}

static void
prompt__whole_sample__lengths_and_shared_blocks_are_those_of_the_simulated_engine(void **state)
{
    (void)state;
    struct trace trace;
    struct lines *lines = NULL;
    struct err err = {0};
    struct plan plan;
    struct bound bound;
    struct map seen;
    struct replay_options opts = {
        .seed = 3, .scale_tokens = 0.05, .speed = 1, .burst = 1, .max_steps = 25};
    uint64_t steps = 0;
    assert_status(lines_open_mem(&lines, sample_data(), &err), ST_OK);
    assert_status(trace_load(&trace, mem_heap(), lines, &err), ST_OK);
    lines_close(lines);
    assert_status(plan_make(&plan, mem_heap(), &trace, &opts), ST_OK);
    bound_init(&bound, mem_heap());
    map_init(&seen, mem_heap(), BOUND_BLOCKS_MAX);
    for (uint32_t run = 0; run < plan.count; run++) {
        struct prompt prompt;
        prompt_init(&prompt, mem_heap());
        for (uint32_t i = 0; i < plan.runs[run].step_count; i++) {
            struct prompt_step step = plan_prompt_step(&plan, run, i);
            struct sim_ask ask;
            assert_status(prompt_advance(&prompt, &step, STR("Okay some words here")), ST_OK);
            ask_engine(&prompt, &ask);
            uint32_t hits = 0;
            while (hits < ask.chain.hash_count && map_get(&seen, ask.chain.hashes[hits]) != NULL) {
                hits++;
            }
            for (uint32_t b = hits; b < ask.chain.hash_count; b++) {
                assert_status(map_put(&seen, ask.chain.hashes[b], 0), ST_OK);
            }
            uint32_t ours = bound_offer(&bound, prompt_flat(&prompt));
            uint64_t most = (ask.chain.token_count - 1) / BOUND_BLOCK_TOKENS;
            uint64_t theirs = (hits < most ? hits : most) * BOUND_BLOCK_TOKENS;
            if (ask.chain.token_count != prompt_tokens(&prompt) || ours != theirs) {
                fail_msg("session %s step %u: %u tokens, engine %llu; %u shared, engine %llu",
                         trace.sessions[plan.runs[run].session].id, i, prompt_tokens(&prompt),
                         (unsigned long long)ask.chain.token_count, ours,
                         (unsigned long long)theirs);
            }
            steps++;
            sim_ask_fini(&ask);
        }
        prompt_fini(&prompt);
    }
    assert_true(steps > 1500);
    map_fini(&seen);
    bound_fini(&bound);
    plan_fini(&plan);
    trace_fini(&trace);
}

static bool advance_scenario(void *ctx, const struct mem *mem)
{
    struct prompt prompt;
    struct prompt_step grown = first;
    (void)ctx;
    grown.step = 1;
    grown.in_tokens = 3000;
    grown.keeps_all = true;
    grown.is_tool = true;
    prompt_init(&prompt, mem);
    enum status st = prompt_advance(&prompt, &first, STR(""));
    if (st == ST_OK) {
        st = prompt_advance(&prompt, &grown, STR("reply"));
    }
    prompt_fini(&prompt);
    return st == ST_OK;
}

static void prompt_advance__each_allocation_fails__leaves_nothing_behind(void **state)
{
    (void)state;
    assert_true(kit_torture(advance_scenario, NULL) > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            prompt_advance__first_step__has_the_recorded_length_and_the_shared_system_prompt),
        cmocka_unit_test(prompt_advance__tool_step__keeps_all_and_adds_reply_call_and_result),
        cmocka_unit_test(prompt_advance__compaction__keeps_exactly_the_recorded_prefix),
        cmocka_unit_test(prompt_advance__same_prompt_again__changes_nothing),
        cmocka_unit_test(prompt_advance__cut_inside_a_reply__stays_utf8_and_json),
        cmocka_unit_test(
            prompt__whole_sample__lengths_and_shared_blocks_are_those_of_the_simulated_engine),
        cmocka_unit_test(prompt_advance__each_allocation_fails__leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
