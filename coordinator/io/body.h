/* SPDX-License-Identifier: Apache-2.0 */
/* A request body parsed once into what the gateway acts on; the bytes themselves are never changed.
 * THREAD: reactor. OWNERSHIP: strings and arrays live in the body_parser until its next parse. */
#ifndef COORDINATOR_IO_BODY_H
#define COORDINATOR_IO_BODY_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "coordinator/core/event.h"
#include "coordinator/io/identity_read.h"

struct body_parser; /* scratch memory reused from request to request; one per loop */

struct body_view {
    struct str model;
    bool is_stream;
    bool has_stream_options; /* the key is present and an object */
    bool asks_usage;         /* stream_options.include_usage is true */
    size_t
        usage_splice_at; /* byte offset in the body where text can be inserted to ask for usage */
    size_t usage_splice_cut; /* bytes to leave out at that offset (an include_usage:false value) */
    struct str
        usage_splice; /* the text to insert there (static); "" = no splice: not a stream of chat or
                       * completions, usage is asked for already, or the options are odd */
    uint32_t max_output_tokens; /* largest of max_tokens, max_completion_tokens, max_output_tokens;
                                   0 = none; clamped */
    size_t billing_at;          /* messages: byte offset of the billing block in `system`, */
    size_t billing_cut;         /* and its bytes with the comma after it; 0 = there is none */
    struct identity_read *identity; /* what the body says about whose it is; header fields can be
                                     * added until the next parse */
    const uint64_t *chain;          /* [chain_count]; see event.h */
    const uint32_t *chain_bytes;
    const uint8_t *chain_is_end;
    uint32_t chain_count;
    uint32_t prompt_bytes;
    const struct str *tools; /* [tool_count] whose results the prompt ends with; see event.h */
    uint32_t tool_count;
    uint64_t opening; /* of tools and system prompt; see event.h */
    uint64_t opening_sketch;
};

MUST_CHECK enum status body_parser_new(struct body_parser **ret);
/* The same with another allocator (tests). */
MUST_CHECK enum status body_parser_new_in(const struct mem *mem, struct body_parser **ret);
void body_parser_free(struct body_parser *parser);

/* Parses body[len] for this route. ST_INVAL: not JSON, not an object, invalid UTF-8 (err names the
 * byte offset), a duplicate top-level key we act on, or a value of a wrong type among those (err
 * names the key); ST_NOMEM; ST_TOOBIG (more nesting than we walk is fine: what lies deeper is
 * hashed as text). */
MUST_CHECK enum status body_parse(struct body_parser *parser,
                                  enum coord_route route,
                                  const char *body,
                                  size_t len,
                                  struct body_view *ret,
                                  struct err *err);

#endif
