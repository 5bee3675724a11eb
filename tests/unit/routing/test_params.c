/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/params.h"

#include "tests/kit/kit.h"

static const struct route_param params[] = {
    {"hold_s", 2.0, 0.0, 100.0, "s"},
    {"ratio", 0.5, 0.0, 1.0, ""},
};
static const struct route_policy policy = {.name = "some", .params = params, .param_count = 2};

static double values[GATE_PARAMS_MAX];
static struct err err;

static enum status read_text(const char *text)
{
    err = (struct err){0};
    return route_params_read(&policy, str_of(text), values, &err);
}

static void read__nothing__defaults(void **ctx)
{
    (void)ctx;
    assert_status(read_text(""), ST_OK);
    assert_true(values[0] == 2.0);
    assert_true(values[1] == 0.5);
}

static void read__some__others_keep_their_defaults(void **ctx)
{
    (void)ctx;
    assert_status(read_text("ratio=1"), ST_OK);
    assert_true(values[0] == 2.0);
    assert_true(values[1] == 1.0);
    assert_status(read_text("ratio=0.25;hold_s=30;"), ST_OK);
    assert_true(values[0] == 30.0);
    assert_true(values[1] == 0.25);
}

static void read__bad__says_why_and_changes_nothing(void **ctx)
{
    (void)ctx;
    static const char *const texts[] = {
        "hold_s",    "=1",         "hold_s=",   "hold_s=x", "holds=1",
        "hold_s=-1", "hold_s=101", "ratio=nan", ";ratio=1", "ratio=1;;hold_s=1"};
    assert_status(read_text("hold_s=7"), ST_OK);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_status(read_text(texts[i]), ST_INVAL);
        assert_true(err.text[0] != '\0');
        assert_true(values[0] == 7.0);
    }
    assert_status(read_text("nothing=1"), ST_INVAL);
    assert_string_equal(err.text, "policy some has no parameter \"nothing\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__nothing__defaults),
        cmocka_unit_test(read__some__others_keep_their_defaults),
        cmocka_unit_test(read__bad__says_why_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
