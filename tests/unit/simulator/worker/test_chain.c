/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/rng.h"
#include "simulator/worker/chain.h"

static void start(struct sim_chain *chain)
{
    sim_chain_init(chain, mem_heap(), STR("m"), STR(""));
    chain->keeps_tokens = true;
}

static void token_len__four_bytes_or_what_is_left__never_cuts_a_character(void **state)
{
    (void)state;
    assert_int_equal(sim_token_len(STR("")), 0);
    assert_int_equal(sim_token_len(STR("abc")), 3);
    assert_int_equal(sim_token_len(STR("abcde")), 4);
    assert_int_equal(sim_token_len(STR("abc\xc3\xa4")), 3);       /* two-byte character at 3 */
    assert_int_equal(sim_token_len(STR("ab\xe2\x82\xac")), 2);    /* three bytes at 2 */
    assert_int_equal(sim_token_len(STR("\xf0\x9f\x99\x82x")), 4); /* four bytes at 0 */
    assert_int_equal(sim_token_count(STR("abcdefgh")), 2);
    assert_int_equal(sim_token_count(STR("abcdefghi")), 3);
}

static void chain__text__is_cut_into_known_tokens(void **state)
{
    (void)state;
    struct sim_chain chain;
    start(&chain);
    sim_chain_text(&chain, STR("hell"));
    sim_chain_text(&chain, STR("o"));
    assert_int_equal(chain.token_count, 2);
    assert_int_equal(chain.tokens[0], 0x6c6c6568); /* little-endian "hell" */
    assert_int_equal(chain.tokens[1], 'o');
    assert_int_equal(chain.hash_count, 0);
    sim_chain_fini(&chain);
}

static void chain__longer_prompt__starts_with_the_blocks_of_the_shorter(void **state)
{
    (void)state;
    enum { SEED = 3, TURNS = 60 };
    struct rng rng;
    struct sim_chain chains[2];
    rng_init(&rng, SEED);
    print_message("seed %d\n", SEED);
    start(&chains[0]);
    start(&chains[1]);
    for (int turn = 0; turn < TURNS; turn++) {
        char text[200];
        size_t len = (size_t)rng_below(&rng, sizeof(text));
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)('a' + rng_below(&rng, 26));
        }
        for (int k = turn < TURNS / 2 ? 0 : 1; k < 2; k++) {
            sim_chain_mark(&chains[k], SIM_MARK_TURN, STR("user"));
            sim_chain_text(&chains[k], (struct str){text, len});
            sim_chain_mark(&chains[k], SIM_MARK_END, STR(""));
        }
    }
    assert_true(chains[0].hash_count > 20 && chains[1].hash_count > chains[0].hash_count + 20);
    assert_int_equal(chains[0].token_count / SIM_BLOCK_TOKENS, chains[0].hash_count);
    assert_memory_equal(chains[0].hashes, chains[1].hashes,
                        chains[0].hash_count * sizeof(uint64_t));
    assert_memory_equal(chains[0].tokens, chains[1].tokens,
                        chains[0].token_count * sizeof(uint32_t));
    sim_chain_fini(&chains[0]);
    sim_chain_fini(&chains[1]);
}

/* First block hash of 64 bytes of text. */
static uint64_t first_hash(struct str model, struct str salt, const char *text)
{
    struct sim_chain chain;
    sim_chain_init(&chain, mem_heap(), model, salt);
    sim_chain_text(&chain, str_of(text));
    assert_int_equal(chain.hash_count, 1);
    uint64_t hash = chain.hashes[0];
    sim_chain_fini(&chain);
    return hash;
}

static void chain__model_salt_or_text_differ__so_does_the_first_block(void **state)
{
    (void)state;
    const char *text = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const char *other = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF";
    uint64_t base = first_hash(STR("m"), STR(""), text);
    assert_true(base == first_hash(STR("m"), STR(""), text));
    assert_true(base != 0);
    assert_true(base != first_hash(STR("n"), STR(""), text));
    assert_true(base != first_hash(STR("m"), STR("s"), text));
    assert_true(base != first_hash(STR("m"), STR(""), other));
}

static void chain__marks__differ_from_each_other_and_from_text(void **state)
{
    (void)state;
    struct sim_chain chain;
    start(&chain);
    sim_chain_mark(&chain, SIM_MARK_TURN, STR("user"));
    sim_chain_mark(&chain, SIM_MARK_TURN, STR("assistant"));
    sim_chain_mark(&chain, SIM_MARK_CALL, STR("user"));
    assert_true(chain.tokens[0] != chain.tokens[1]);
    assert_true(chain.tokens[0] != chain.tokens[2]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chain.tokens[i] & 0xFF, 0xFF);
    }
    sim_chain_fini(&chain);
}

static void chain__unfinished_block__is_in_the_digest(void **state)
{
    (void)state;
    struct sim_chain chain;
    start(&chain);
    sim_chain_text(&chain, STR("abcd"));
    uint64_t one = sim_chain_digest(&chain);
    assert_true(one == sim_chain_digest(&chain));
    sim_chain_text(&chain, STR("efgh"));
    assert_true(one != sim_chain_digest(&chain));
    sim_chain_fini(&chain);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct sim_chain chain;
    sim_chain_init(&chain, mem, STR("m"), STR(""));
    chain.keeps_tokens = true;
    for (int i = 0; i < 5000; i++) {
        sim_chain_text(&chain, STR("abcd"));
    }
    assert_int_equal(chain.token_count, 5000);
    bool is_ok = chain.st == ST_OK;
    sim_chain_fini(&chain);
    return is_ok;
}

static void chain__any_allocation_fails__says_so_and_keeps_counting(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_len__four_bytes_or_what_is_left__never_cuts_a_character),
        cmocka_unit_test(chain__text__is_cut_into_known_tokens),
        cmocka_unit_test(chain__longer_prompt__starts_with_the_blocks_of_the_shorter),
        cmocka_unit_test(chain__model_salt_or_text_differ__so_does_the_first_block),
        cmocka_unit_test(chain__marks__differ_from_each_other_and_from_text),
        cmocka_unit_test(chain__unfinished_block__is_in_the_digest),
        cmocka_unit_test(chain__any_allocation_fails__says_so_and_keeps_counting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
