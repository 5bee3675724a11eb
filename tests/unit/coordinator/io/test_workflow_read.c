/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/workflow_read.h"

#include "tests/kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

static struct workflow_doc *doc;
static struct err err;

static int setup(void **state)
{
    (void)state;
    err = (struct err){.status = ST_OK};
    doc = NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    workflow_doc_free(doc);
    return 0;
}

static void expect_refused(const char *text, const char *why)
{
    struct kit_mem km;
    kit_mem_init(&km);
    enum status st = workflow_read(&doc, &km.mem, str_of(text), &err);
    if (st != ST_INVAL || strcmp(err.text, why) != 0) {
        fail_msg("%s: %s \"%s\" instead of \"%s\"", text, status_name(st), err.text, why);
    }
    kit_mem_expect_empty(&km);
}

static void read__all_members__taken_as_they_are(void **state)
{
    (void)state;
    static const char text[] =
        "{\"id\":\"task 42\",\"nodes\":[{\"name\":\"plan\",\"output_tokens\":800,"
        "\"new_tokens\":2e3,\"gap_ms\":1500.0,\"work_ms\":0,\"visits\":2},{\"name\":\"c\"}],"
        "\"edges\":[{\"from\":\"plan\",\"to\":\"c\",\"probability\":0.9}]}";
    assert_status(workflow_read(&doc, mem_heap(), STR(text), &err), ST_OK);
    const struct coord_workflow_declared *declared = workflow_doc_declared(doc);
    assert_true(str_eq(declared->id, STR("task 42")));
    assert_int_equal(declared->tenant.len, 0);
    assert_int_equal(declared->spec.node_count, 2);
    const struct aeg_spec_node_input *node = &declared->spec.nodes[0];
    assert_int_equal(node->output_tokens, 800);
    assert_int_equal(node->new_tokens, 2000);
    assert_int_equal(node->gap_ms, 1500);
    assert_int_equal(node->work_ms, 0);
    assert_int_equal(node->visits, 2);
    node = &declared->spec.nodes[1];
    assert_int_equal(node->output_tokens, AEG_SPEC_UNSAID);
    assert_int_equal(node->new_tokens, AEG_SPEC_UNSAID);
    assert_int_equal(node->gap_ms, AEG_SPEC_UNSAID);
    assert_int_equal(node->work_ms, AEG_SPEC_UNSAID);
    assert_int_equal(node->visits, 1);
    assert_int_equal(declared->spec.edge_count, 1);
    assert_true(str_eq(declared->spec.edges[0].to, STR("c")));
    assert_int_equal(declared->spec.edges[0].probability_ppm, 900000);
}

static void read__no_edges__is_a_workflow(void **state)
{
    (void)state;
    static const char text[] = "{\"nodes\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"id\":\"w\"}";
    assert_status(workflow_read(&doc, mem_heap(), STR(text), &err), ST_OK);
    assert_int_equal(workflow_doc_declared(doc)->spec.edge_count, 0);
}

#define NODES "\"nodes\":[{\"name\":\"a\"},{\"name\":\"b\"}]"

static void read__wrong_in_one_thing__names_its_path(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"", "no JSON: empty at byte 0"},
        {"[]", "a JSON object is expected"},
        {"{" NODES "}", "id: is missing"},
        {"{\"id\":\"w\"}", "nodes: is missing"},
        {"{\"id\":1," NODES "}", "id: a string is expected"},
        {"{\"id\":\"\"," NODES "}",
         "id: 1 to 256 printable ASCII characters, no blank at either end"},
        {"{\"id\":\"w\\u0000\"," NODES "}",
         "id: 1 to 256 printable ASCII characters, no blank at either end"},
        {"{\"id\":\"w\",\"nodes\":{}}", "nodes: an array is expected"},
        {"{\"id\":\"w\",\"nodes\":[]}", "nodes: 1 to 256 of them"},
        {"{\"id\":\"w\",\"nodes\":[3]}", "nodes[0]: an object is expected"},
        {"{\"id\":\"w\",\"nodes\":[{}]}", "nodes[0].name: is missing"},
        {"{\"id\":\"w\"," NODES ",\"note\":1}", "note: unknown member"},
        {"{\"id\":\"w\"," NODES ",\"id\":\"w\"}", "id: is there twice"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap\":1}]}", "nodes[0].gap: unknown member"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"x\\n\\u00fc\":1}]}",
         "nodes[0].x???: unknown member"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap_ms\":1,\"gap_ms\":1}]}",
         "nodes[0].gap_ms: is there twice"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap_ms\":\"1\"}]}",
         "nodes[0].gap_ms: a whole number of at least 0 is expected"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap_ms\":null}]}",
         "nodes[0].gap_ms: a whole number of at least 0 is expected"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap_ms\":-1}]}",
         "nodes[0].gap_ms: a whole number of at least 0 is expected"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap_ms\":1.5}]}",
         "nodes[0].gap_ms: a whole number of at least 0 is expected"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"gap_ms\":4294967295}]}",
         "nodes[0].gap_ms: at most 604800000"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"work_ms\":1e300}]}",
         "nodes[0].work_ms: at most 86400000"},
        {"{\"id\":\"w\",\"nodes\":[{\"name\":\"a\",\"visits\":0}]}", "nodes[0].visits: 1 to 100"},
        {"{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\"}]}", "edges[0].to: is missing"},
        {"{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"probability\":true}]}",
         "edges[0].probability: a number is expected"},
        {"{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"probability\":0}]}",
         "edges[0].probability: 0.000001 to 1"},
        {"{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"probability\":1.1}]}",
         "edges[0].probability: 0.000001 to 1"},
        {"{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\",\"to\":\"c\"}]}",
         "edges[0].to: no node of that name"},
        {"{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\",\"to\":\"b\"},"
         "{\"from\":\"b\",\"to\":\"a\"}]}",
         "edges: a cycle: a -> b -> a"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_refused(cases[i].text, cases[i].why);
    }
}

static void read__broken_json__names_the_byte(void **state)
{
    (void)state;
    assert_status(workflow_read(&doc, mem_heap(), STR("{\"id\":\"w\",}"), &err), ST_INVAL);
    assert_non_null(strstr(err.text, "no JSON: "));
    assert_non_null(strstr(err.text, " at byte "));
}

static void read__too_long__is_refused_unread(void **state)
{
    (void)state;
    char *text = calloc(1, WORKFLOW_BODY_BYTES + 1);
    assert_non_null(text);
    memset(text, ' ', WORKFLOW_BODY_BYTES + 1);
    assert_status(
        workflow_read(&doc, mem_heap(), (struct str){text, WORKFLOW_BODY_BYTES + 1}, &err),
        ST_TOOBIG);
    free(text);
}

/* All that may be declared fits into a body. */
static void read__largest__fits(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, mem_heap(), WORKFLOW_BODY_BYTES);
    char pad[AEG_SPEC_NAME_BYTES + 1];
    memset(pad, 'n', sizeof(pad));
    pad[AEG_SPEC_NAME_BYTES - 3] = '\0';
    enum status st = buf_add_str(&text, STR("{\"id\":\"w\",\"nodes\":["));
    for (int i = 0; i < AEG_SPEC_NODES && st == ST_OK; i++) {
        st = buf_add_fmt(&text,
                         "%s{\"name\":\"%s%03d\",\"new_tokens\":10000000,"
                         "\"output_tokens\":10000000,\"gap_ms\":604800000,\"work_ms\":86400000}",
                         i == 0 ? "" : ",", pad, i);
    }
    assert_status(st, ST_OK);
    st = buf_add_str(&text, STR("],\"edges\":["));
    for (int i = 0; i < AEG_SPEC_EDGES && st == ST_OK; i++) {
        int from = i / 5;
        st =
            buf_add_fmt(&text, "%s{\"from\":\"%s%03d\",\"to\":\"%s%03d\",\"probability\":0.123456}",
                        i == 0 ? "" : ",", pad, from, pad, from + 1 + i % 5);
    }
    assert_status(st, ST_OK);
    assert_status(buf_add_str(&text, STR("]}")), ST_OK);
    st = workflow_read(&doc, mem_heap(), buf_str(&text), &err);
    if (st != ST_OK) {
        fail_msg("%s", err.text);
    }
    buf_fini(&text);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    static const char text[] = "{\"id\":\"w\"," NODES ",\"edges\":[{\"from\":\"a\",\"to\":\"b\"}]}";
    struct workflow_doc *read = NULL;
    enum status st = workflow_read(&read, mem, STR(text), NULL);
    assert_true(st == ST_OK || (st == ST_NOMEM && read == NULL));
    workflow_doc_free(read);
    return st == ST_OK;
}

static void read__each_allocation_fails__nothing_is_held(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read__all_members__taken_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(read__no_edges__is_a_workflow, setup, teardown),
        cmocka_unit_test_setup_teardown(read__wrong_in_one_thing__names_its_path, setup, teardown),
        cmocka_unit_test_setup_teardown(read__broken_json__names_the_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(read__too_long__is_refused_unread, setup, teardown),
        cmocka_unit_test_setup_teardown(read__largest__fits, setup, teardown),
        cmocka_unit_test_setup_teardown(read__each_allocation_fails__nothing_is_held, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
