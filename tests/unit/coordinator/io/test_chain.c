/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/rng.h"
#include "coordinator/io/chain.h"

#include <stdio.h>
#include <stdlib.h>

enum { CAP = 4096 };

/* A chain copied out of the builder. */
struct links {
    uint64_t hashes[CAP];
    uint32_t bytes[CAP];
    uint8_t is_end[CAP];
    uint32_t count;
    uint32_t prompt_bytes;
};

/* json: an object with what struct chain_prompt has. */
static void build_cap(struct str json, uint32_t cap, struct links *ret)
{
    struct chain chain;
    char *copy = malloc(json.len);
    assert_non_null(copy);
    memcpy(copy, json.p, json.len);
    yyjson_doc *doc = yyjson_read(copy, json.len, YYJSON_READ_NUMBER_AS_RAW);
    free(copy);
    if (doc == NULL) {
        fail_msg("test prompt is not JSON: %.*s", (int)json.len, json.p);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *model = yyjson_obj_get(root, "model");
    yyjson_val *salt = yyjson_obj_get(root, "cache_salt");
    struct chain_prompt prompt = {
        .model = {yyjson_get_str(model), yyjson_get_len(model)},
        .cache_salt = {yyjson_get_str(salt), yyjson_get_len(salt)},
        .tools = yyjson_obj_get(root, "tools"),
        .system = yyjson_obj_get(root, "system"),
        .messages = yyjson_obj_get(root, "messages"),
        .texts = yyjson_obj_get(root, "texts"),
    };
    assert_status(chain_init(&chain, mem_heap(), cap), ST_OK);
    chain_build(&chain, &prompt);
    ret->count = chain.count;
    ret->prompt_bytes = chain.prompt_bytes;
    assert_true(chain.count <= cap);
    memcpy(ret->hashes, chain.hashes, chain.count * sizeof(chain.hashes[0]));
    memcpy(ret->bytes, chain.bytes, chain.count * sizeof(chain.bytes[0]));
    memcpy(ret->is_end, chain.is_end, chain.count);
    for (uint32_t i = 1; i < chain.count; i++) {
        assert_true(ret->bytes[i - 1] < ret->bytes[i]);
    }
    chain_fini(&chain);
    yyjson_doc_free(doc);
}

static void build(const char *json, struct links *ret)
{
    build_cap(str_of(json), CAP, ret);
}

static uint32_t common(const struct links *a, const struct links *b)
{
    uint32_t i = 0;
    while (i < a->count && i < b->count && a->hashes[i] == b->hashes[i]) {
        i++;
    }
    return i;
}

static bool is_same(const char *a, const char *b)
{
    static struct links x;
    static struct links y;
    build(a, &x);
    build(b, &y);
    return x.count == y.count && common(&x, &y) == x.count && x.prompt_bytes == y.prompt_bytes &&
           memcmp(x.bytes, y.bytes, x.count * sizeof(x.bytes[0])) == 0 &&
           memcmp(x.is_end, y.is_end, x.count) == 0;
}

#define assert_same(a, b)                                 \
    do {                                                  \
        if (!is_same((a), (b))) {                         \
            fail_msg("chains differ:\n%s\n%s", (a), (b)); \
        }                                                 \
    } while (0)

/* The last hash differs, and so do all from boundary `from` on. */
static void expect_differ(const char *a, const char *b, uint32_t from)
{
    static struct links x;
    static struct links y;
    build(a, &x);
    build(b, &y);
    if (common(&x, &y) != from) {
        fail_msg("%u equal boundaries instead of %u:\n%s\n%s", common(&x, &y), from, a, b);
    }
    for (uint32_t i = from; i < x.count; i++) {
        for (uint32_t k = from; k < y.count; k++) {
            if (x.hashes[i] == y.hashes[k]) {
                fail_msg("boundaries %u and %u meet again:\n%s\n%s", i, k, a, b);
            }
        }
    }
}

/* --- what must not matter --- */

static void chain__spacing_and_escapes__do_not_matter(void **state)
{
    (void)state;
    assert_same("{\"messages\":[{\"role\":\"user\",\"content\":\"a\\u00e4/\\n\"}]}",
                "{ \"messages\" : [ {\"role\":\n\"\\u0075ser\", "
                "\"content\":\"\\u0061\xC3\xA4\\/\\u000a\"} ] }");
}

static void chain__order_of_members__does_not_matter(void **state)
{
    (void)state;
    assert_same(
        "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"a\":1,"
        "\"b\":[{\"x\":1,\"y\":{\"p\":true,\"q\":null}}]}}}],\"messages\":[{\"role\":\"user\","
        "\"name\":\"n\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"u\","
        "\"detail\":"
        "\"low\"}}]}]}",
        "{\"tools\":[{\"function\":{\"parameters\":{\"b\":[{\"y\":{\"q\":null,\"p\":true},\"x\":1}]"
        ","
        "\"a\":1},\"name\":\"f\"},\"type\":\"function\"}],\"messages\":[{\"content\":[{\"image_"
        "url\":"
        "{\"detail\":\"low\",\"url\":\"u\"},\"type\":\"image_url\"}],\"name\":\"n\",\"role\":"
        "\"user\"}]}");
}

static void chain__one_text_part__equals_the_string(void **state)
{
    (void)state;
    const char *plain = "{\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    assert_same(plain,
                "{\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":[{\"role\":\"user\","
                "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}]}");
    assert_same(
        plain,
        "{\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"type\":\"message\",\"content\":["
        "{\"text\":\"hi\",\"type\":\"input_text\"}]}]}");
    assert_same(plain, "{\"system\":\"s\",\"messages\":\"hi\"}"); /* Responses: input as a string */
}

static void chain__tool_result_text__equals_one_part(void **state)
{
    (void)state;
    assert_same("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_"
                "use_id\":\"t\","
                "\"content\":\"out\"}]}]}",
                "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_"
                "use_id\":\"t\","
                "\"content\":[{\"type\":\"text\",\"text\":\"out\",\"cache_control\":{\"type\":"
                "\"ephemeral\"}}]}]}]}");
}

static void chain__cache_marker__does_not_matter_wherever_it_moves(void **state)
{
    (void)state;
    const char *bare =
        "{\"tools\":[{\"name\":\"f\",\"input_schema\":{}}],\"system\":[{\"type\":\"text\",\"text\":"
        "\"a\"},{\"type\":\"text\",\"text\":\"b\"}],\"messages\":[{\"role\":\"user\",\"content\":"
        "\"q\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":"
        "\"f\",\"input\":{\"x\":1}}]}]}";
    assert_same(
        bare,
        "{\"tools\":[{\"name\":\"f\",\"input_schema\":{},\"cache_control\":{\"type\":\"ephemeral\"}"
        "}],"
        "\"system\":[{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"ttl\":\"1h\"}},{"
        "\"type\":"
        "\"text\",\"text\":\"b\"}],\"messages\":[{\"role\":\"user\",\"content\":[{\"cache_"
        "control\":"
        "{},\"type\":\"text\",\"text\":\"q\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":"
        "\"tool_use\",\"id\":\"1\",\"name\":\"f\",\"cache_control\":{},\"input\":{\"x\":1}}]}]}");
}

static void chain__cache_control_in_a_schema__does_matter(void **state)
{
    (void)state;
    expect_differ(
        "{\"tools\":[{\"name\":\"f\",\"input_schema\":{\"properties\":{\"cache_control\":{}}}}]}",
        "{\"tools\":[{\"name\":\"f\",\"input_schema\":{\"properties\":{}}}]}", 0);
}

static void chain__null_members__are_absent(void **state)
{
    (void)state;
    assert_same("{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"refusal\":null,\"tool_"
                "calls\":[{\"id\":"
                "\"1\"}]}]}",
                "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\"}]}]}");
}

static void chain__billing_block__is_skipped_only_at_the_start_of_system(void **state)
{
    (void)state;
    const char *bare = "{\"system\":\"You help.\",\"messages\":\"x\"}";
    assert_same(
        bare,
        "{\"system\":[{\"type\":\"text\",\"text\":\"x-anthropic-billing-header: "
        "cc_version=1.2.3fa; "
        "cc_entrypoint=cli;\"},{\"type\":\"text\",\"text\":\"You help.\"}],\"messages\":\"x\"}");
    assert_same("{\"messages\":\"x\"}", "{\"system\":[{\"type\":\"text\",\"text\":\"x-anthropic-"
                                        "billing-header: a\"}],\"messages\":\"x\"}");
    expect_differ(
        bare,
        "{\"system\":[{\"type\":\"text\",\"text\":\"You help.\"},{\"type\":\"text\",\"text\":"
        "\"x-anthropic-billing-header: a\"}],\"messages\":\"x\"}",
        0);
}

static void chain__empty_tools_and_system__are_absent(void **state)
{
    (void)state;
    assert_same("{\"messages\":\"x\"}", "{\"tools\":[],\"system\":[],\"messages\":\"x\"}");
    assert_same("{\"messages\":\"x\"}", "{\"tools\":null,\"system\":null,\"messages\":\"x\"}");
}

/* --- what must matter --- */

static void chain__model_and_salt__change_everything(void **state)
{
    (void)state;
    const char *base =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"user\","
        "\"content\":\"y\"}]}";
    expect_differ(
        base,
        "{\"model\":\"n\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"user\","
        "\"content\":\"y\"}]}",
        0);
    expect_differ(
        base,
        "{\"model\":\"m\",\"cache_salt\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},"
        "{\"role\":\"user\",\"content\":\"y\"}]}",
        0);
    expect_differ("{\"model\":\"ab\",\"messages\":\"x\"}",
                  "{\"model\":\"a\",\"cache_salt\":\"b\",\"messages\":\"x\"}", 0);
}

#define CALL(id, arguments)                                 \
    "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" id \
    "\",\"function\":{\"name\":\"f\",\"arguments\":" arguments "}}]}"

static void chain__what_a_message_says__changes_it_and_all_after(void **state)
{
    (void)state;
    static const char *const seconds[] = {
        "{\"role\":\"user\",\"content\":\"b\"}",
        "{\"role\":\"assistant\",\"content\":\"b\"}",
        "{\"role\":\"user\",\"content\":\"B\"}",
        "{\"role\":\"user\",\"content\":\"\"}",
        "{\"role\":\"user\"}",
        "{\"role\":\"user\",\"content\":[]}",
        "{\"role\":\"user\",\"content\":[\"b\",\"\"]}",
        "{\"role\":\"user\",\"content\":\"b\",\"name\":\"n\"}",
        "{\"role\":\"user\",\"name\":\"b\"}",
        "{\"role\":\"user\",\"reasoning_content\":\"b\"}",
        "{\"role\":\"user\",\"reasoning\":\"b\"}",
        "{\"role\":\"user\",\"content\":[{\"type\":\"refusal\",\"text\":\"b\"}]}",
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"b\",\"note\":1}]}",
        "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"b\",\"note\":2}}",
        "{\"role\":\"user\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"b\"}]}",
        "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"b\"}",
        "{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":\"b\"}",
        CALL("1", "\"{}\""),
        CALL("1", "\"{ }\""),
        CALL("1", "null"),
        CALL("2", "\"{}\""),
        "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\"},{\"id\":\"2\"}]}",
        "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"2\"},{\"id\":\"1\"}]}",
        "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"f\",\"arguments\":\"{}\"}",
        "{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"{}\"}",
        "\"b\"",
        "null",
        "1",
        "1.0",
        "[]",
        "[[]]",
        "[\"b\"]",
        "true",
        "false",
    };
    enum { COUNT = sizeof(seconds) / sizeof(seconds[0]) };
    char a[512];
    char b[512];
    static const char shape[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},%s,{\"role\":"
                                "\"user\",\"content\":\"c\"}]}";
    for (int i = 0; i < COUNT; i++) {
        for (int k = i + 1; k < COUNT; k++) {
            (void)snprintf(a, sizeof(a), shape, seconds[i]);
            (void)snprintf(b, sizeof(b), shape, seconds[k]);
            expect_differ(a, b, 1);
        }
    }
}

static void chain__borders_between_texts__matter(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "[\"ab\",\"c\"]",      "[\"a\",\"bc\"]", "[\"abc\"]",
        "[\"a\",\"b\",\"c\"]", "[\"abc\",\"\"]", "[\"\",\"abc\"]",
    };
    char a[256];
    char b[256];
    for (int i = 0; i < 6; i++) {
        for (int k = i + 1; k < 6; k++) {
            (void)snprintf(a, sizeof(a), "{\"messages\":[{\"role\":\"user\",\"content\":%s}]}",
                           lists[i]);
            (void)snprintf(b, sizeof(b), "{\"messages\":[{\"role\":\"user\",\"content\":%s}]}",
                           lists[k]);
            expect_differ(a, b, 0);
        }
    }
    expect_differ("{\"system\":\"a\",\"messages\":\"b\"}",
                  "{\"messages\":[{\"role\":\"user\",\"content\":[\"a\",\"b\"]}]}", 0);
    expect_differ("{\"texts\":\"a\"}", "{\"messages\":\"a\"}", 0);
}

static void chain__members_of_members__do_not_cancel_out(void **state)
{
    (void)state;
    expect_differ("{\"tools\":[{\"a\":{\"x\":1},\"b\":{\"x\":2}}]}",
                  "{\"tools\":[{\"a\":{\"x\":2},\"b\":{\"x\":1}}]}", 0);
    expect_differ("{\"tools\":[{\"a\":\"b\"}]}", "{\"tools\":[{\"b\":\"a\"}]}", 0);
    expect_differ("{\"tools\":[{\"a\":[1,2]}]}", "{\"tools\":[{\"a\":[2,1]}]}", 0);
    expect_differ("{\"tools\":[{\"a\":1}]}", "{\"tools\":[{\"a\":\"1\"}]}", 0);
    expect_differ("{\"tools\":[{\"a\":{}}]}", "{\"tools\":[{\"a\":[]}]}", 0);
    expect_differ("{\"tools\":[{\"a\":1},{\"b\":1}]}", "{\"tools\":[{\"a\":1,\"b\":1}]}", 0);
}

static void chain__token_prompts__hash_their_numbers(void **state)
{
    (void)state;
    static struct links links;
    build("{\"texts\":[1,22,333]}", &links);
    assert_int_equal(links.count, 1);
    assert_int_equal(links.prompt_bytes, 3 * 4 + CHAIN_SEGMENT_BYTES);
    build("{\"texts\":[[1,2],[3]]}", &links);
    assert_int_equal(links.count, 2);
    expect_differ("{\"texts\":[[1,2],[3]]}", "{\"texts\":[[1],[2,3]]}", 0);
    expect_differ("{\"texts\":[12,3]}", "{\"texts\":[1,23]}", 0);
    expect_differ("{\"texts\":[1,2]}", "{\"texts\":[1,\"2\"]}", 0);
    build("{\"texts\":[\"a\",\"b\"]}", &links);
    assert_int_equal(links.count, 2);
    build("{\"texts\":[]}", &links);
    assert_int_equal(links.count, 0);
}

/* --- boundaries --- */

static void add_message(struct buf *json, const char *role, char fill, size_t len)
{
    assert_status(buf_add_fmt(json, "%s{\"role\":\"%s\",\"content\":\"",
                              json->p[json->len - 1] == '[' ? "" : ",", role),
                  ST_OK);
    for (size_t i = 0; i < len; i++) {
        char c = (char)(fill + (char)(i % 7));
        assert_status(buf_add(json, &c, 1), ST_OK);
    }
    assert_status(buf_add_str(json, STR("\"}")), ST_OK);
}

static void build_messages(const struct buf *open, uint32_t cap, struct links *ret)
{
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, buf_str(open)), ST_OK);
    assert_status(buf_add_str(&json, STR("]}")), ST_OK);
    build_cap(buf_str(&json), cap, ret);
    buf_fini(&json);
}

static void chain__a_growing_conversation__keeps_its_prefix(void **state)
{
    (void)state;
    static struct links older;
    static struct links newer;
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"model\":\"m\",\"system\":\"s\",\"messages\":[")),
                  ST_OK);
    older.count = 0;
    for (int turn = 0; turn < 30; turn++) {
        add_message(&json, turn % 2 == 0 ? "user" : "assistant", 'a', (size_t)turn * 997);
        build_messages(&json, CAP, &newer);
        assert_true(newer.count > older.count);
        assert_int_equal(common(&older, &newer), older.count);
        assert_int_equal(newer.is_end[newer.count - 1], 1);
        assert_int_equal(newer.bytes[newer.count - 1], newer.prompt_bytes);
        older = newer;
    }
    buf_fini(&json);
}

static void chain__a_long_message__has_a_boundary_every_4_kib(void **state)
{
    (void)state;
    static struct links one;
    static struct links grown;
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"messages\":[")), ST_OK);
    size_t start = json.len;
    add_message(&json, "user", 'a', 10000);
    build_messages(&json, CAP, &one);
    assert_int_equal(one.count, 3);
    assert_int_equal(one.bytes[0], CHAIN_STEP_BYTES);
    assert_int_equal(one.bytes[1], 2 * CHAIN_STEP_BYTES);
    assert_int_equal(one.is_end[0] + one.is_end[1], 0);
    assert_int_equal(one.is_end[2], 1);
    json.len = start;
    add_message(&json, "user", 'a', 50000);
    build_messages(&json, CAP, &grown);
    assert_int_equal(common(&one, &grown), 2);
    buf_fini(&json);
}

static void chain__one_byte_changed__changes_all_later_boundaries_and_no_earlier_one(void **state)
{
    (void)state;
    static struct links before;
    static struct links after;
    struct buf json;
    struct rng rng;
    const uint64_t seed = 20240611;
    rng_init(&rng, seed);
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"messages\":[")), ST_OK);
    size_t start = json.len;
    for (int i = 0; i < 8; i++) {
        add_message(&json, "user", 'a', 9000);
    }
    build_messages(&json, CAP, &before);
    for (int round = 0; round < 200; round++) {
        size_t message = (size_t)rng_below(&rng, 8);
        size_t each = (json.len - start + 1) / 8;
        size_t offset = (size_t)rng_below(&rng, 9000);
        size_t at =
            start + message * each + sizeof("{\"role\":\"user\",\"content\":\"") - 1 + offset;
        char kept = json.p[at];
        json.p[at] = 'z';
        build_messages(&json, CAP, &after);
        json.p[at] = kept;
        /* Bytes before the changed one, with role and overhead of each message so far. */
        size_t passed = message * (CHAIN_SEGMENT_BYTES + 9000) + (message + 1) * 8 + offset;
        for (uint32_t i = 0; i < before.count; i++) {
            bool is_equal = before.hashes[i] == after.hashes[i];
            if (is_equal != (before.bytes[i] <= passed)) {
                fail_msg("boundary %u at %u bytes, change after %zu bytes, seed %llu", i,
                         before.bytes[i], passed, (unsigned long long)seed);
            }
        }
    }
    buf_fini(&json);
}

static void chain__more_boundaries_than_fit__keeps_the_ends_and_thins_the_rest(void **state)
{
    (void)state;
    static struct links full;
    static struct links thin;
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"messages\":[")), ST_OK);
    for (int i = 0; i < 5; i++) {
        add_message(&json, "user", (char)('a' + i), 30000);
    }
    build_messages(&json, CAP, &full);
    assert_true(full.count > 36);
    build_messages(&json, 16, &thin);
    uint32_t at = 0;
    uint32_t ends = 0;
    for (uint32_t i = 0; i < thin.count; i++) {
        while (at < full.count && full.hashes[at] != thin.hashes[i]) {
            at++; /* in the same order, and every one is a boundary of the full chain */
        }
        assert_true(at < full.count);
        assert_int_equal(full.bytes[at], thin.bytes[i]);
        ends += thin.is_end[i];
    }
    assert_int_equal(ends, 5);
    assert_true(thin.count > 8);
    assert_int_equal(thin.prompt_bytes, full.prompt_bytes);
    buf_fini(&json);
}

static void chain__more_ends_than_fit__keeps_the_last(void **state)
{
    (void)state;
    static struct links full;
    static struct links thin;
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"messages\":[")), ST_OK);
    for (int i = 0; i < 100; i++) {
        add_message(&json, "user", 'a', (size_t)i);
        build_messages(&json, CAP, &full);
        build_messages(&json, 8, &thin);
        assert_int_equal(full.count, i + 1);
        assert_true(thin.count >= 1 && thin.count <= 8);
        assert_true(thin.hashes[thin.count - 1] == full.hashes[full.count - 1]);
    }
    buf_fini(&json);
}

static void chain__an_image__counts_no_more_than_its_cap(void **state)
{
    (void)state;
    static struct links links;
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
                                         "\"image_url\",\"image_url\":{\"url\":\"")),
                  ST_OK);
    for (int i = 0; i < 10000; i++) {
        assert_status(buf_add_str(&json, STR("AAAABBBBCC")), ST_OK);
    }
    assert_status(buf_add_str(&json, STR("\"}}]}]}")), ST_OK);
    build_cap(buf_str(&json), CAP, &links);
    assert_true(links.prompt_bytes < CHAIN_OPAQUE_BYTES + 200);
    buf_fini(&json);
}

static void chain__deep_nesting__is_hashed_without_recursion(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    static struct links one;
    static struct links two;
    for (int round = 0; round < 2; round++) {
        struct buf json;
        buf_init(&json, mem_heap(), SIZE_MAX / 2);
        assert_status(buf_add_str(&json, STR("{\"messages\":[{\"role\":\"user\",\"x\":")), ST_OK);
        for (int i = 0; i < DEPTH; i++) {
            assert_status(buf_add(&json, "[", 1), ST_OK);
        }
        assert_status(buf_add(&json, round == 0 ? "1" : "2", 1), ST_OK);
        for (int i = 0; i < DEPTH; i++) {
            assert_status(buf_add(&json, "]", 1), ST_OK);
        }
        assert_status(buf_add_str(&json, STR("}]}")), ST_OK);
        build_cap(buf_str(&json), CAP, round == 0 ? &one : &two);
        buf_fini(&json);
    }
    assert_int_equal(one.count, 1);
    assert_true(one.hashes[0] != two.hashes[0]);
}

static void chain__escapes_below_the_walked_depth__do_not_matter(void **state)
{
    (void)state;
    static const char *const texts[] = {"ab", "\\u0061b"};
    static struct links links[2];
    for (size_t i = 0; i < 2; i++) {
        struct buf json;
        buf_init(&json, mem_heap(), SIZE_MAX / 2);
        assert_status(buf_add_str(&json, STR("{\"tools\":")), ST_OK);
        for (int k = 0; k < CHAIN_DEPTH_MAX + 5; k++) {
            assert_status(buf_add(&json, "[", 1), ST_OK);
        }
        assert_status(buf_add_fmt(&json, "\"%s\"", texts[i]), ST_OK);
        for (int k = 0; k < CHAIN_DEPTH_MAX + 5; k++) {
            assert_status(buf_add(&json, "]", 1), ST_OK);
        }
        assert_status(buf_add(&json, "}", 1), ST_OK);
        build_cap(buf_str(&json), CAP, &links[i]);
        buf_fini(&json);
    }
    assert_int_equal(common(&links[0], &links[1]), 1);
}

static void chain__nested_content__is_hashed_to_any_depth(void **state)
{
    (void)state;
    enum { DEPTH = 5000 };
    static struct links links;
    struct buf json;
    buf_init(&json, mem_heap(), SIZE_MAX / 2);
    assert_status(buf_add_str(&json, STR("{\"messages\":[")), ST_OK);
    for (int i = 0; i < DEPTH; i++) {
        assert_status(buf_add_str(&json, STR("{\"content\":[")), ST_OK);
    }
    for (int i = 0; i < DEPTH; i++) {
        assert_status(buf_add_str(&json, STR("]}")), ST_OK);
    }
    assert_status(buf_add_str(&json, STR("]}")), ST_OK);
    build_cap(buf_str(&json), CAP, &links);
    assert_true(links.count >= 1);
    assert_int_equal(links.is_end[links.count - 1], 1);
    buf_fini(&json);
}

/* F1's worked example: docs/formulas.md has these numbers. */
static void chain__worked_example__has_the_documented_boundaries(void **state)
{
    (void)state;
    static struct links links;
    build("{\"model\":\"m\",\"system\":\"You "
          "help.\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":"
          "\"assistant\",\"content\":\"Hello\"}]}",
          &links);
    assert_int_equal(links.count, 3);
    assert_int_equal(links.bytes[0], 13);
    assert_int_equal(links.bytes[1], 27);
    assert_int_equal(links.bytes[2], 49);
    assert_true(links.hashes[0] == UINT64_C(0xd171f8526e4c5222));
    assert_true(links.hashes[1] == UINT64_C(0x73a6cba1dd7ae5dd));
    assert_true(links.hashes[2] == UINT64_C(0x70cc9b4c91503138));
}

static bool init_scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct chain chain;
    enum status st = chain_init(&chain, mem, 8);
    chain_fini(&chain);
    return st == ST_OK;
}

static void chain_init__any_allocation_failing__leaks_nothing(void **state)
{
    (void)state;
    assert_int_equal(kit_torture(init_scenario, NULL), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain__spacing_and_escapes__do_not_matter),
        cmocka_unit_test(chain__order_of_members__does_not_matter),
        cmocka_unit_test(chain__one_text_part__equals_the_string),
        cmocka_unit_test(chain__tool_result_text__equals_one_part),
        cmocka_unit_test(chain__cache_marker__does_not_matter_wherever_it_moves),
        cmocka_unit_test(chain__cache_control_in_a_schema__does_matter),
        cmocka_unit_test(chain__null_members__are_absent),
        cmocka_unit_test(chain__billing_block__is_skipped_only_at_the_start_of_system),
        cmocka_unit_test(chain__empty_tools_and_system__are_absent),
        cmocka_unit_test(chain__model_and_salt__change_everything),
        cmocka_unit_test(chain__what_a_message_says__changes_it_and_all_after),
        cmocka_unit_test(chain__borders_between_texts__matter),
        cmocka_unit_test(chain__members_of_members__do_not_cancel_out),
        cmocka_unit_test(chain__token_prompts__hash_their_numbers),
        cmocka_unit_test(chain__a_growing_conversation__keeps_its_prefix),
        cmocka_unit_test(chain__a_long_message__has_a_boundary_every_4_kib),
        cmocka_unit_test(chain__one_byte_changed__changes_all_later_boundaries_and_no_earlier_one),
        cmocka_unit_test(chain__more_boundaries_than_fit__keeps_the_ends_and_thins_the_rest),
        cmocka_unit_test(chain__more_ends_than_fit__keeps_the_last),
        cmocka_unit_test(chain__an_image__counts_no_more_than_its_cap),
        cmocka_unit_test(chain__deep_nesting__is_hashed_without_recursion),
        cmocka_unit_test(chain__escapes_below_the_walked_depth__do_not_matter),
        cmocka_unit_test(chain__nested_content__is_hashed_to_any_depth),
        cmocka_unit_test(chain__worked_example__has_the_documented_boundaries),
        cmocka_unit_test(chain_init__any_allocation_failing__leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
