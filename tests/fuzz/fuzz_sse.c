/* SPDX-License-Identifier: Apache-2.0 */
/* An event stream: byte 0 is the route, byte 1 the seed of the places where it is cut, the rest the
 * stream. However it is cut, it says the same and the same bytes reach the client; as a body it
 * harms nobody. */
#include "common/base/rng.h"
#include "coordinator/io/sse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROUTE_COUNT = COORD_ROUTE_COUNT_TOKENS + 1 };

static void must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

/* The length of the next piece: whole streams, single bytes, and anything between. */
static size_t next_piece(struct rng *rng, int mode, size_t left)
{
    size_t most = mode == 0   ? left
                  : mode == 1 ? 1
                              : 1 + (size_t)rng_below(rng, mode == 2 ? 8 : 300);
    return most < left ? most : left;
}

/* Feeds a copy of exactly the piece's size, so that a read past its end is seen. */
static char *copy_of(struct str piece)
{
    char *copy = malloc(piece.len > 0 ? piece.len : 1);
    must(copy != NULL);
    memcpy(copy, piece.p, piece.len);
    return copy;
}

/* Reads the stream into reader, which the caller ends. */
static void
run(struct sse_reader *reader, struct str stream, int mode, uint64_t seed, struct buf *out)
{
    struct sse_filter filter;
    struct rng rng;
    rng_init(&rng, seed);
    sse_filter_init(&filter);
    while (stream.len > 0) {
        size_t len = next_piece(&rng, mode, stream.len);
        char *piece = copy_of((struct str){stream.p, len});
        sse_reader_feed(reader, piece, len);
        must(sse_filter_feed(&filter, piece, len, out) == ST_OK);
        free(piece);
        stream.p += len;
        stream.len -= len;
    }
    sse_reader_end(reader);
    must(sse_filter_end(&filter, out) == ST_OK);
    sse_filter_fini(&filter);
}

static void must_be_same(const struct answer_facts *a, const struct answer_facts *b)
{
    must(a->has_usage == b->has_usage && a->prompt_tokens == b->prompt_tokens);
    must(a->cached_tokens == b->cached_tokens && a->output_tokens == b->output_tokens);
    must(a->finish == b->finish && a->event_count == b->event_count);
    must(a->has_done == b->has_done && a->has_error == b->has_error &&
         a->has_content == b->has_content);
    must(a->error_status == b->error_status && a->tools.count == b->tools.count);
    must(str_eq(buf_str(&a->tools.packed), buf_str(&b->tools.packed)));
}

static void check_tools(const struct tool_names *names)
{
    struct str tools[COORD_TOOLS_MAX];
    size_t bytes = 0;
    uint32_t count = tool_names_list(names, tools);
    must(count <= COORD_TOOLS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        must(tools[i].len > 0 && tools[i].len <= COORD_TOOL_BYTES);
        bytes += 1 + tools[i].len;
        for (uint32_t k = 0; k < i; k++) {
            must(!str_eq(tools[i], tools[k]));
        }
    }
    must(bytes == names->packed.len);
}

/* Is part what is left of whole after bytes were taken out? */
static bool is_left_of(struct str part, struct str whole)
{
    size_t at = 0;
    for (size_t i = 0; i < whole.len && at < part.len; i++) {
        at += part.p[at] == whole.p[i] ? 1 : 0;
    }
    return at == part.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < 2) {
        return 0;
    }
    enum coord_route route = (enum coord_route)(data[0] % ROUTE_COUNT);
    struct str stream = {(const char *)data + 2, len - 2};
    struct sse_reader reader;
    struct buf whole;
    buf_init(&whole, mem_heap(), SIZE_MAX / 2);
    sse_reader_init(&reader, route);
    run(&reader, stream, 0, 0, &whole);
    must(is_left_of(buf_str(&whole), stream));
    must(reader.facts.error_status == 0 || reader.facts.has_error);
    check_tools(&reader.facts.tools);
    for (int mode = 1; mode < 4; mode++) {
        struct sse_reader cut;
        struct buf out;
        buf_init(&out, mem_heap(), SIZE_MAX / 2);
        sse_reader_init(&cut, route);
        run(&cut, stream, mode, data[1], &out);
        must_be_same(&reader.facts, &cut.facts);
        must(str_eq(buf_str(&whole), buf_str(&out)));
        sse_reader_fini(&cut);
        buf_fini(&out);
    }
    buf_fini(&whole);
    sse_reader_fini(&reader);
    struct answer_facts facts;
    answer_facts_init(&facts, mem_heap());
    answer_read_body(route, stream.p, stream.len, &facts);
    check_tools(&facts.tools);
    answer_facts_fini(&facts);
    return 0;
}
