/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/chain.h"
#include "tests/unit/simulator/cluster/fixture.h"

static void step(struct lab_chain *chain, const struct fix *fix, uint32_t session, uint32_t idx)
{
    assert_status(lab_chain_step(chain, mem_heap(), &fix->plan, session, idx), ST_OK);
}

/* Leading blocks that are the same. */
static uint32_t common(const struct lab_chain *a, const struct lab_chain *b)
{
    uint32_t n = 0;
    while (n < a->count && n < b->count && a->hashes[n] == b->hashes[n]) {
        n++;
    }
    for (uint32_t i = n; i < a->count && i < b->count; i++) {
        assert_int_not_equal(a->hashes[i], b->hashes[i]);
    }
    return n;
}

static void blocks__of_two_sessions__are_shared_inside_the_system_prompt_only(void **state)
{
    (void)state;
    struct fix fix;
    struct lab_chain a = {0};
    struct lab_chain b = {0};
    struct lab_chain c = {0};
    fix_init(&fix, 1, "saga");
    for (int i = 0; i < 3; i++) {
        uint32_t s = fix_session(&fix, 0);
        fix.sessions[s].system_tokens = 111; /* 6 whole blocks */
        fix.sessions[s].system_id = i < 2 ? 5 : 6;
        fix.sessions[s].recorded = 0;
    }
    step(&a, &fix, 0, 0);
    step(&b, &fix, 1, 0);
    step(&c, &fix, 2, 0);
    assert_int_equal(a.count, 10);
    assert_int_equal(common(&a, &b), 6);
    assert_int_equal(common(&a, &c), 0);
    assert_int_equal(a.bound_count, 2);
    assert_int_equal(a.bounds[0], b.bounds[0]);
    assert_int_not_equal(a.bounds[1], b.bounds[1]);
    assert_int_equal(a.bound_bytes[0], 444);
    assert_int_equal(a.bound_bytes[1], 640);
    lab_chain_fini(&a, mem_heap());
    lab_chain_fini(&b, mem_heap());
    lab_chain_fini(&c, mem_heap());
}

static void blocks__of_the_next_step__are_those_kept(void **state)
{
    (void)state;
    static const struct {
        uint32_t kept, blocks, bounds;
    } rows[] = {{162, 10, 2}, {161, 10, 2}, {160, 10, 2}, {159, 9, 1}, {17, 1, 1}, {0, 0, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fix fix;
        struct lab_chain before = {0};
        struct lab_chain after = {0};
        fix_init(&fix, 1, "saga");
        (void)fix_session(&fix, 0);
        fix.steps[0][1].kept_tokens = rows[i].kept;
        step(&before, &fix, 0, 0);
        step(&after, &fix, 0, 0);
        step(&after, &fix, 0, 1);
        assert_int_equal(common(&before, &after), rows[i].blocks);
        assert_int_equal(after.count, 20);
        assert_int_equal(after.bound_count, rows[i].bounds);
        lab_chain_fini(&before, mem_heap());
        lab_chain_fini(&after, mem_heap());
    }
}

static void ends__more_than_there_is_room_for__keep_the_first_and_the_newest(void **state)
{
    (void)state;
    struct fix fix;
    struct lab_chain chain = {0};
    fix_init(&fix, 1, "saga");
    (void)fix_session(&fix, 0);
    fix.sessions[0].system_tokens = 8;
    fix.sessions[0].step_count = FIX_STEPS;
    for (uint32_t i = 0; i < FIX_STEPS; i++) {
        fix.steps[0][i] = (struct lab_step){.prompt_tokens = 10 * (i + 1),
                                            .kept_tokens = i == 0 ? 0 : 10 * i + 1,
                                            .output_tokens = 1};
        step(&chain, &fix, 0, i);
    }
    assert_int_equal(chain.bound_count, LAB_BOUNDS);
    assert_int_equal(chain.bound_bytes[0], 8 * LAB_TOKEN_BYTES);
    assert_int_equal(chain.bound_bytes[1], 20 * LAB_TOKEN_BYTES);
    assert_int_equal(chain.bound_bytes[LAB_BOUNDS - 1], 160 * LAB_TOKEN_BYTES);
    lab_chain_fini(&chain, mem_heap());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks__of_two_sessions__are_shared_inside_the_system_prompt_only),
        cmocka_unit_test(blocks__of_the_next_step__are_those_kept),
        cmocka_unit_test(ends__more_than_there_is_room_for__keep_the_first_and_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
