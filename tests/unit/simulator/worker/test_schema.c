/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/json.h"
#include "simulator/worker/schema.h"

/* What is made of the schema (written with ' for "), parsed; fails the test when it is no JSON. */
static yyjson_doc *make(const char *schema, uint64_t seed)
{
    char json[2048];
    size_t len = str_copy(json, sizeof(json), str_of(schema));
    for (size_t i = 0; i < len; i++) {
        if (json[i] == '\'') {
            json[i] = '"';
        }
    }
    yyjson_doc *doc = yyjson_read(json, len, 0);
    assert_non_null(doc);
    struct sim_out out;
    struct rng rng;
    rng_init(&rng, seed);
    sim_out_init(&out, mem_heap());
    sim_schema_write(&out, yyjson_doc_get_root(doc), &rng);
    assert_status(out.st, ST_OK);
    yyjson_doc *made = yyjson_read(out.buf.p, out.buf.len, 0);
    assert_non_null(made);
    sim_out_fini(&out);
    yyjson_doc_free(doc);
    return made;
}

static void word__any_index__has_three_letters(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 64; i++) {
        struct str word = sim_word(i);
        assert_int_equal(word.len, 3);
        for (size_t k = 0; k < 3; k++) {
            assert_in_range(word.p[k], 'a', 'z');
        }
    }
}

static void schema__required_members__are_there_with_their_types(void **state)
{
    (void)state;
    const char *schema =
        "{'type':'object','properties':{'s':{'type':'string'},'i':{'type':'integer'},"
        "'n':{'type':['null','number']},'b':{'type':'boolean'},'z':{'type':'null'},"
        "'a':{'type':'array','items':{'type':'integer'},'minItems':3},"
        "'o':{'type':'object','properties':{'x':{'type':'string'}},'required':['x']},"
        "'optional':{'type':'string'}},"
        "'required':['s','i','n','b','z','a','o']}";
    for (uint64_t seed = 1; seed <= 20; seed++) {
        yyjson_doc *doc = make(schema, seed);
        yyjson_val *root = yyjson_doc_get_root(doc);
        assert_int_equal(yyjson_obj_size(root), 7);
        assert_true(yyjson_is_str(yyjson_obj_get(root, "s")));
        assert_true(yyjson_is_int(yyjson_obj_get(root, "i")));
        assert_true(yyjson_is_num(yyjson_obj_get(root, "n")));
        assert_true(yyjson_is_bool(yyjson_obj_get(root, "b")));
        assert_true(yyjson_is_null(yyjson_obj_get(root, "z")));
        assert_int_equal(yyjson_arr_size(yyjson_obj_get(root, "a")), 3);
        assert_true(yyjson_is_str(yyjson_obj_get(yyjson_obj_get(root, "o"), "x")));
        yyjson_doc_free(doc);
    }
}

static void schema__bounds__are_kept(void **state)
{
    (void)state;
    const char *schema =
        "{'type':'object','properties':{'e':{'enum':['red',4]},'c':{'const':{'k':[1]}},"
        "'i':{'type':'integer','minimum':-3,'maximum':-2},'m':{'type':'number','maximum':-100},"
        "'f':{'type':'number','minimum':0.5},'s':{'type':'string','minLength':40},"
        "'t':{'type':'string','maxLength':2}},'required':['e','c','i','m','f','s','t']}";
    for (uint64_t seed = 1; seed <= 50; seed++) {
        yyjson_doc *doc = make(schema, seed);
        yyjson_val *root = yyjson_doc_get_root(doc);
        yyjson_val *e = yyjson_obj_get(root, "e");
        assert_true(yyjson_equals_str(e, "red") || yyjson_get_int(e) == 4);
        assert_int_equal(
            yyjson_get_int(yyjson_arr_get_first(yyjson_obj_get(yyjson_obj_get(root, "c"), "k"))),
            1);
        int i = yyjson_get_int(yyjson_obj_get(root, "i"));
        assert_true(i == -3 || i == -2);
        assert_true(yyjson_get_num(yyjson_obj_get(root, "m")) <= -100.0);
        assert_true(yyjson_get_num(yyjson_obj_get(root, "f")) >= 0.5);
        assert_int_equal(yyjson_get_len(yyjson_obj_get(root, "s")), 40);
        assert_int_equal(yyjson_get_len(yyjson_obj_get(root, "t")), 2);
        yyjson_doc_free(doc);
    }
}

static void schema__command__is_harmless(void **state)
{
    (void)state;
    yyjson_doc *doc =
        make("{'properties':{'command':{'type':'string'}},'required':['command']}", 1);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "command")),
                        "echo hello");
    yyjson_doc_free(doc);
}

static void schema__references_and_unions__are_followed(void **state)
{
    (void)state;
    yyjson_doc *doc =
        make("{'type':'object','$defs':{'d':{'type':'boolean'}},'properties':{"
             "'r':{'$ref':'#/$defs/d'},'u':{'anyOf':[{'type':'integer'},{'type':'null'}]}},"
             "'required':['r','u']}",
             1);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_true(yyjson_is_bool(yyjson_obj_get(root, "r")));
    assert_true(yyjson_is_int(yyjson_obj_get(root, "u")));
    yyjson_doc_free(doc);
}

static void schema__endless_recursion__ends_in_null(void **state)
{
    (void)state;
    yyjson_doc *doc =
        make("{'type':'object','properties':{'x':{'$ref':'#/properties/x'},"
             "'y':{'type':'array','items':{'$ref':'#/properties/y'}}},'required':['x','y']}",
             1);
    yyjson_val *at = yyjson_obj_get(yyjson_doc_get_root(doc), "y");
    int depth = 0;
    while (yyjson_is_arr(at)) {
        at = yyjson_arr_get_first(at);
        depth++;
    }
    assert_true(yyjson_is_null(at));
    assert_in_range(depth, 2, SIM_SCHEMA_DEPTH_MAX + 1);
    yyjson_doc_free(doc);
}

static void schema__wide_recursion__is_bounded(void **state)
{
    (void)state;
    yyjson_doc *doc = make("{'type':'array','minItems':8,'items':{'$ref':'#/items2'},'items2':{"
                           "'type':'array','minItems':8,'items':{'$ref':'#/items2'}}}",
                           1);
    assert_in_range(yyjson_doc_get_val_count(doc), 1000, SIM_SCHEMA_BYTES_MAX);
    yyjson_doc_free(doc);
}

static void schema__none_or_nonsense__gives_an_empty_object(void **state)
{
    (void)state;
    static const char *const cases[] = {"{}", "[]", "4", "null"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("case %s\n", cases[i]);
        yyjson_doc *doc = make(cases[i], 1);
        assert_int_equal(yyjson_obj_size(yyjson_doc_get_root(doc)), 0);
        assert_true(yyjson_is_obj(yyjson_doc_get_root(doc)));
        yyjson_doc_free(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word__any_index__has_three_letters),
        cmocka_unit_test(schema__required_members__are_there_with_their_types),
        cmocka_unit_test(schema__bounds__are_kept),
        cmocka_unit_test(schema__command__is_harmless),
        cmocka_unit_test(schema__references_and_unions__are_followed),
        cmocka_unit_test(schema__endless_recursion__ends_in_null),
        cmocka_unit_test(schema__wide_recursion__is_bounded),
        cmocka_unit_test(schema__none_or_nonsense__gives_an_empty_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
