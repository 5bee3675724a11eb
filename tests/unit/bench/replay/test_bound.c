/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "bench/replay/bound.h"
#include "bench/replay/text.h"

enum { BLOCK = BOUND_BLOCK_TOKENS * TEXT_TOKEN_BYTES };

static void bound_offer__repeated_and_longer_prompts__share_whole_leading_blocks(void **state)
{
    (void)state;
    struct bound bound;
    char text[10 * BLOCK];
    text_fill(text, sizeof(text), 1);
    bound_init(&bound, mem_heap());
    assert_int_equal(bound_offer(&bound, (struct str){text, 4 * BLOCK + 8}), 0);
    assert_int_equal(bound_offer(&bound, (struct str){text, 4 * BLOCK + 8}),
                     4 * BOUND_BLOCK_TOKENS);
    assert_int_equal(bound_offer(&bound, (struct str){text, sizeof(text)}), 4 * BOUND_BLOCK_TOKENS);
    assert_int_equal(bound_offer(&bound, (struct str){text, sizeof(text)}), 9 * BOUND_BLOCK_TOKENS);
    bound_fini(&bound);
}

static void bound_offer__change_in_the_middle__ends_the_shared_prefix_there(void **state)
{
    (void)state;
    struct bound bound;
    char text[10 * BLOCK];
    text_fill(text, sizeof(text), 1);
    bound_init(&bound, mem_heap());
    (void)bound_offer(&bound, (struct str){text, sizeof(text)});
    text[5 * BLOCK + 3] ^= 1;
    assert_int_equal(bound_offer(&bound, (struct str){text, sizeof(text)}), 5 * BOUND_BLOCK_TOKENS);
    bound_fini(&bound);
}

static void bound_note__answer__counts_for_the_next_prompt(void **state)
{
    (void)state;
    struct bound bound;
    char text[6 * BLOCK];
    text_fill(text, sizeof(text), 1);
    bound_init(&bound, mem_heap());
    (void)bound_offer(&bound, (struct str){text, (size_t)2 * BLOCK});
    bound_note(&bound, (struct str){text, (size_t)4 * BLOCK - 1});
    assert_int_equal(bound_offer(&bound, (struct str){text, sizeof(text)}), 3 * BOUND_BLOCK_TOKENS);
    bound_fini(&bound);
}

static void bound_offer__no_memory__says_that_it_is_incomplete(void **state)
{
    (void)state;
    struct kit_mem km;
    struct bound bound;
    char text[BLOCK];
    text_fill(text, sizeof(text), 1);
    kit_mem_init(&km);
    km.fail_at = 1;
    bound_init(&bound, &km.mem);
    assert_true(bound.is_complete);
    assert_int_equal(bound_offer(&bound, (struct str){text, sizeof(text)}), 0);
    assert_false(bound.is_complete);
    bound_fini(&bound);
    kit_mem_expect_empty(&km);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_offer__repeated_and_longer_prompts__share_whole_leading_blocks),
        cmocka_unit_test(bound_offer__change_in_the_middle__ends_the_shared_prefix_there),
        cmocka_unit_test(bound_note__answer__counts_for_the_next_prompt),
        cmocka_unit_test(bound_offer__no_memory__says_that_it_is_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
