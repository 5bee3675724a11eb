/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/receipts.h"

#include "common/base/json.h"
#include "tests/unit/coordinator/core/desk.h"

#include <stdio.h>

static struct desk desk;

static int setup(void **state)
{
    (void)state;
    struct coord_limits limits = desk_limits();
    desk_open(&desk, &limits);
    desk_fleet(&desk, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    desk_close(&desk);
    return 0;
}

/* The stored receipt of a request as JSON; the caller frees it. */
static yyjson_doc *explain(const char *name)
{
    struct buf out;
    buf_init(&out, &desk.km.mem, 65536);
    assert_status(coord_core_write_receipt(desk.core, str_of(name), &out), ST_OK);
    yyjson_doc *doc = yyjson_read(out.p, out.len, 0);
    assert_non_null(doc);
    buf_fini(&out);
    return doc;
}

static void expect_text(yyjson_doc *doc, const char *key, const char *expected)
{
    struct str got = {NULL, 0};
    assert_true(json_get_str(yyjson_doc_get_root(doc), key, &got));
    if (!str_eq(got, str_of(expected))) {
        fail_msg("%s is %.*s, not %s", key, (int)got.len, got.p, expected);
    }
}

static void expect_num(yyjson_doc *doc, const char *key, uint64_t expected)
{
    uint64_t got = 0;
    assert_true(json_get_u64(yyjson_doc_get_root(doc), key, &got));
    assert_int_equal(got, expected);
}

static void receipt__whole_life__told(void **state)
{
    (void)state;
    struct talk talk;
    talk_begin(&talk);
    talk_say(&talk, "long", 5000);
    (void)desk_whole_step(&desk, "task", &talk);
    yyjson_doc *doc = explain("req-1");
    expect_text(doc, "branch", "new");
    expect_text(doc, "match", "new_id");
    expect_text(doc, "session", "task");
    expect_text(doc, "schema", "x-session-id");
    expect_text(doc, "parent", "");
    expect_text(doc, "model", "m");
    expect_text(doc, "result", "ok");
    expect_num(doc, "attempt", 1);
    expect_num(doc, "prompt_bytes", 5000);
    expect_num(doc, "reuse_bytes", 0);
    expect_num(doc, "candidates_total", 3);
    assert_int_equal(yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(doc), "candidates")), 3);
    yyjson_val *usage = yyjson_obj_get(yyjson_doc_get_root(doc), "usage");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(usage, "cached_tokens")), 60);
    yyjson_doc_free(doc);

    talk_say(&talk, "more", 100);
    (void)desk_whole_step(&desk, "task", &talk);
    doc = explain("req-2");
    expect_text(doc, "branch", "home");
    expect_text(doc, "match", "id");
    expect_num(doc, "reuse_bytes", 5000);
    yyjson_doc_free(doc);
}

static void receipt__retry__names_what_failed(void **state)
{
    (void)state;
    uint64_t req = desk_arrive(&desk, "task", NULL);
    desk_start(&desk, req, 1);
    desk_fail(&desk, req, 1, COORD_FAIL_STATUS, 503);
    yyjson_doc *doc = explain("req-1");
    expect_text(doc, "branch", "retry");
    expect_text(doc, "result", "pending");
    expect_num(doc, "attempt", 2);
    yyjson_val *failed =
        yyjson_arr_get_first(yyjson_obj_get(yyjson_doc_get_root(doc), "failed_attempts"));
    assert_string_equal(yyjson_get_str(yyjson_obj_get(failed, "why")), "status");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(failed, "http_status")), 503);
    yyjson_doc_free(doc);
}

static void receipt__refused_arrival__told(void **state)
{
    (void)state;
    (void)desk_arrive_as(&desk, "task", NULL, "unknown", COORD_ROUTE_CHAT);
    yyjson_doc *doc = explain("req-1");
    expect_text(doc, "branch", "refused");
    expect_text(doc, "result", "refused");
    yyjson_doc_free(doc);
}

static void ring__full__oldest_overwritten(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < 65; i++) {
        desk_gone(&desk, desk_arrive(&desk, NULL, NULL));
    }
    struct buf out;
    buf_init(&out, &desk.km.mem, 65536);
    assert_status(coord_core_write_receipt(desk.core, STR("req-1"), &out), ST_NOTFOUND);
    for (int i = 2; i <= 65; i++) {
        (void)snprintf(name, sizeof(name), "req-%d", i);
        assert_status(coord_core_write_receipt(desk.core, str_of(name), &out), ST_OK);
        out.len = 0;
    }
    buf_fini(&out);
}

static void ring__none_kept__steps_run_all_the_same(void **state)
{
    (void)state;
    desk_close(&desk);
    struct coord_limits limits = desk_limits();
    limits.max_receipts = 0;
    desk_open(&desk, &limits);
    desk_fleet(&desk, 1);
    (void)desk_arrive(&desk, NULL, NULL);
    assert_null(desk_effect(&desk, COORD_EF_SUBMIT, 0)->u.submit.receipt);
}

static void short_form__fits_a_header(void **state)
{
    (void)state;
    struct talk talk;
    char out[COORD_RECEIPT_HEADER_BYTES + 1];
    talk_begin(&talk);
    talk_say(&talk, "x", 100);
    (void)desk_arrive(&desk, "bad\x01\xc3\xa9\"id\\", &talk);
    size_t len = coord_receipt_write_short(desk_effect(&desk, COORD_EF_SUBMIT, 0)->u.submit.receipt,
                                           out, sizeof(out));
    assert_in_range(len, 50, COORD_RECEIPT_HEADER_BYTES);
    assert_int_equal(strlen(out), len);
    for (size_t i = 0; i < len; i++) {
        assert_in_range((unsigned char)out[i], 0x20, 0x7e);
    }
    yyjson_doc *doc = yyjson_read(out, len, 0);
    assert_non_null(doc);
    yyjson_doc_free(doc);
}

static void short_form__longest_texts__still_fits(void **state)
{
    (void)state;
    char out[COORD_RECEIPT_HEADER_BYTES + 1];
    static struct coord_receipt receipt;
    memset(&receipt, 0, sizeof(receipt));
    receipt.match = "chain";
    memset(receipt.name, '"', sizeof(receipt.name) - 1);
    memset(receipt.session, '\x01', sizeof(receipt.session) - 1);
    memset(receipt.model, '\x02', sizeof(receipt.model) - 1);
    memset(receipt.engine, '\\', sizeof(receipt.engine) - 1);
    receipt.count = COORD_RECEIPT_CANDIDATES;
    for (int i = 0; i < COORD_RECEIPT_CANDIDATES; i++) {
        memset(receipt.candidates[i].engine, '\x03', sizeof(receipt.candidates[i].engine) - 1);
    }
    size_t len = coord_receipt_write_short(&receipt, out, sizeof(out));
    assert_in_range(len, 500, COORD_RECEIPT_HEADER_BYTES);
    yyjson_doc *doc = yyjson_read(out, len, 0);
    assert_non_null(doc);
    yyjson_doc_free(doc);
}

static void short_form__none_or_no_room__empty_object(void **state)
{
    (void)state;
    char out[16];
    static struct coord_receipt receipt = {.match = ""};
    assert_int_equal(coord_receipt_write_short(NULL, out, sizeof(out)), 2);
    assert_string_equal(out, "{}");
    assert_int_equal(coord_receipt_write_short(&receipt, out, sizeof(out)), 2);
    assert_string_equal(out, "{}");
}

static void reports__are_json(void **state)
{
    (void)state;
    (void)desk_whole_step(&desk, "task \"quoted\"", NULL);
    (void)desk_arrive(&desk, "busy", NULL);
    struct buf out;
    buf_init(&out, &desk.km.mem, 65536);
    assert_status(coord_core_write_engines(desk.core, desk.now_us, &out), ST_OK);
    yyjson_doc *doc = yyjson_read(out.p, out.len, 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 3);
    yyjson_doc_free(doc);
    out.len = 0;
    assert_status(coord_core_write_sessions(desk.core, desk.now_us, 10, &out), ST_OK);
    doc = yyjson_read(out.p, out.len, 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 2);
    yyjson_doc_free(doc);
    out.len = 0;
    assert_status(coord_core_write_sessions(desk.core, desk.now_us, 1, &out), ST_OK);
    doc = yyjson_read(out.p, out.len, 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 1);
    yyjson_doc_free(doc);
    buf_fini(&out);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(receipt__whole_life__told),
        T(receipt__retry__names_what_failed),
        T(receipt__refused_arrival__told),
        T(ring__full__oldest_overwritten),
        T(ring__none_kept__steps_run_all_the_same),
        T(short_form__fits_a_header),
        T(short_form__longest_texts__still_fits),
        T(short_form__none_or_no_room__empty_object),
        T(reports__are_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
