/* SPDX-License-Identifier: Apache-2.0 */
/* A request body: byte 0 is the route, the rest the body. Whatever it is, it is refused with words
 * or understood the same way each time; the splice changes only what it says; the chain is sound
 * and does not depend on spelling. */
#include "coordinator/io/body.h"

#include <stdlib.h>
#include <yyjson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROUTE_COUNT = COORD_ROUTE_COUNT_TOKENS + 1 };

struct seen {
    uint64_t hashes[COORD_CHAIN_MAX];
    uint32_t count;
    uint32_t prompt_bytes;
    uint32_t tool_count;
    size_t tool_bytes;
    uint64_t opening;
    uint64_t opening_sketch;
};

static struct body_parser *parser;
static struct seen seen;

static void must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static void check_chain(const struct body_view *view)
{
    must(view->chain_count <= COORD_CHAIN_MAX);
    for (uint32_t i = 1; i < view->chain_count; i++) {
        must(view->chain_bytes[i - 1] < view->chain_bytes[i]);
    }
    if (view->chain_count > 0) {
        must(view->chain_is_end[view->chain_count - 1] == 1);
        must(view->chain_bytes[view->chain_count - 1] == view->prompt_bytes);
    }
    must(view->opening != 0 || view->opening_sketch == 0);
    must(view->opening == 0 || view->chain_count > 0);
}

/* Looks at every byte of the names. */
static size_t tool_bytes_of(const struct body_view *view)
{
    size_t bytes = 0;
    must(view->tool_count <= COORD_TOOLS_MAX);
    for (uint32_t i = 0; i < view->tool_count; i++) {
        must(view->tools[i].len > 0 && view->tools[i].len <= COORD_TOOL_BYTES);
        bytes += view->tools[i].len;
        for (uint32_t k = 0; k < i; k++) {
            must(!str_eq(view->tools[i], view->tools[k]));
        }
    }
    return bytes;
}

static void remember(const struct body_view *view)
{
    if (view->chain_count > 0) {
        memcpy(seen.hashes, view->chain, view->chain_count * sizeof(view->chain[0]));
    }
    seen.count = view->chain_count;
    seen.prompt_bytes = view->prompt_bytes;
    seen.tool_count = view->tool_count;
    seen.tool_bytes = tool_bytes_of(view);
    seen.opening = view->opening;
    seen.opening_sketch = view->opening_sketch;
}

static void must_be_remembered(const struct body_view *view)
{
    must(view->chain_count == seen.count && view->prompt_bytes == seen.prompt_bytes);
    must(view->tool_count == seen.tool_count && tool_bytes_of(view) == seen.tool_bytes);
    must(view->opening == seen.opening && view->opening_sketch == seen.opening_sketch);
    must(seen.count == 0 ||
         memcmp(view->chain, seen.hashes, seen.count * sizeof(seen.hashes[0])) == 0);
}

/* All members but stream_options are the same, in the same order. */
static void must_differ_in_options_only(struct str a, struct str b)
{
    yyjson_doc *doc_a = yyjson_read(a.p, a.len, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_doc *doc_b = yyjson_read(b.p, b.len, YYJSON_READ_NUMBER_AS_RAW);
    if (doc_a != NULL) { /* no half surrogates */
        must(doc_b != NULL);
        yyjson_obj_iter of_a;
        yyjson_obj_iter of_b;
        must(yyjson_obj_iter_init(yyjson_doc_get_root(doc_a), &of_a));
        must(yyjson_obj_iter_init(yyjson_doc_get_root(doc_b), &of_b));
        for (;;) {
            yyjson_val *key_a = yyjson_obj_iter_next(&of_a);
            yyjson_val *key_b = yyjson_obj_iter_next(&of_b);
            if (key_a != NULL && yyjson_equals_str(key_a, "stream_options")) {
                key_a = yyjson_obj_iter_next(&of_a);
            }
            if (key_b != NULL && yyjson_equals_str(key_b, "stream_options")) {
                key_b = yyjson_obj_iter_next(&of_b);
            }
            must((key_a == NULL) == (key_b == NULL));
            if (key_a == NULL) {
                break;
            }
            must(yyjson_equals(key_a, key_b));
        }
    }
    yyjson_doc_free(doc_a);
    yyjson_doc_free(doc_b);
}

static void check_splice(enum coord_route route, struct str body, const struct body_view *view)
{
    size_t rest = view->usage_splice_at + view->usage_splice_cut;
    struct body_view again;
    struct err err = {.status = ST_OK};
    struct buf text;
    must(rest <= body.len);
    must(view->is_stream && (route == COORD_ROUTE_CHAT || route == COORD_ROUTE_COMPLETIONS));
    buf_init(&text, mem_heap(), SIZE_MAX / 2);
    must(buf_add(&text, body.p, view->usage_splice_at) == ST_OK);
    must(buf_add_str(&text, view->usage_splice) == ST_OK);
    must(buf_add(&text, body.p + rest, body.len - rest) == ST_OK);
    must(body_parse(parser, route, text.p, text.len, &again, &err) == ST_OK);
    must(again.asks_usage && again.usage_splice.len == 0 && again.is_stream);
    must(again.max_output_tokens == view->max_output_tokens);
    must_be_remembered(&again);
    must_differ_in_options_only(body, buf_str(&text));
    buf_fini(&text);
}

/* The same body in another spelling has the same chain. */
static void check_spelling(enum coord_route route, struct str body)
{
    yyjson_doc *doc = yyjson_read(body.p, body.len, YYJSON_READ_NUMBER_AS_RAW);
    if (doc == NULL) {
        return;
    }
    size_t len = 0;
    yyjson_write_flag flags =
        YYJSON_WRITE_PRETTY | YYJSON_WRITE_ESCAPE_UNICODE | YYJSON_WRITE_ESCAPE_SLASHES;
    char *text = yyjson_write(doc, flags, &len);
    yyjson_doc_free(doc);
    if (text != NULL) {
        struct body_view view;
        struct err err = {.status = ST_OK};
        must(body_parse(parser, route, text, len, &view, &err) == ST_OK);
        must_be_remembered(&view);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct body_view view;
    struct err err = {.status = ST_OK};
    if (len == 0) {
        return 0;
    }
    if (parser == NULL) {
        must(body_parser_new(&parser) == ST_OK);
    }
    enum coord_route route = (enum coord_route)(data[0] % ROUTE_COUNT);
    struct str body = {(const char *)data + 1, len - 1};
    enum status st = body_parse(parser, route, body.p, body.len, &view, &err);
    if (st != ST_OK) {
        must((st == ST_INVAL || st == ST_TOOBIG) && err.text[0] != '\0');
        return 0;
    }
    struct str splice = view.usage_splice;
    check_chain(&view);
    remember(&view);
    must(view.model.len <= COORD_MODEL_MAX);
    must(body_parse(parser, route, body.p, body.len, &view, &err) == ST_OK);
    must_be_remembered(&view);
    must(view.usage_splice.p == splice.p && view.usage_splice.len == splice.len);
    if (splice.len > 0) {
        check_splice(route, body, &view);
    }
    check_spelling(route, body);
    return 0;
}
