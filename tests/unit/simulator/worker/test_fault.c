/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/worker/fault.h"

static enum status parse(struct sim_fault *fault, const char *text, struct err *err)
{
    sim_fault_init(fault);
    return sim_fault_parse(fault, str_of(text), err);
}

static void fault__init__is_no_fault(void **state)
{
    (void)state;
    struct sim_fault fault;
    sim_fault_init(&fault);
    assert_true(fault.stall_after == SIM_FAULT_NEVER && fault.reset_after == SIM_FAULT_NEVER);
    assert_false(fault.is_stalled || fault.is_short || fault.lacks_done || fault.is_garbage);
    assert_int_equal(fault.error_status, 0);
}

static void fault__several_words__are_all_taken(void **state)
{
    (void)state;
    struct sim_fault fault;
    struct err err = {0};
    assert_status(parse(&fault, "delay=250, stall-after=0,reset-after=7", &err), ST_OK);
    assert_int_equal(fault.delay_ms, 250);
    assert_int_equal(fault.stall_after, 0);
    assert_int_equal(fault.reset_after, 7);
    assert_status(parse(&fault, "error=503,short-body,no-done,garbage,stall", &err), ST_OK);
    assert_int_equal(fault.error_status, 503);
    assert_true(fault.is_stalled && fault.is_short && fault.lacks_done && fault.is_garbage);
}

static void fault__unknown_or_malformed_word__is_named(void **state)
{
    (void)state;
    static const char *const cases[] = {"boom",     "delay",        "delay=x",
                                        "delay=-1", "error=200",    "error=600",
                                        "",         "stall,,stall", "stall=1"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sim_fault fault;
        struct err err = {0};
        print_message("case '%s'\n", cases[i]);
        assert_status(parse(&fault, cases[i], &err), ST_INVAL);
        assert_true(strlen(err.text) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fault__init__is_no_fault),
        cmocka_unit_test(fault__several_words__are_all_taken),
        cmocka_unit_test(fault__unknown_or_malformed_word__is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
