/* SPDX-License-Identifier: Apache-2.0 */
/* What a client reads from a streamed chat completion: the answer's text, its end, errors, usage.
 * Fed with bytes cut anywhere. THREAD: one owner. LIMITS: STREAM_LINE_MAX a line, STREAM_REPLY_MAX
 * of text kept (the rest is counted only). */
#ifndef BENCH_REPLAY_STREAM_H
#define BENCH_REPLAY_STREAM_H

#include "common/base/str.h"

enum { STREAM_LINE_MAX = 1 << 20, STREAM_REPLY_MAX = 1 << 22, STREAM_ERROR_BYTES = 160 };

struct stream {
    struct buf line;      /* unfinished line */
    struct buf reply;     /* text so far */
    uint64_t delta_count; /* events that carried text, reasoning or a tool call */
    uint64_t bad_count;   /* data lines that were no JSON object, and lines over the limit */
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    bool has_usage;
    bool has_done;                  /* [DONE] */
    bool has_finish;                /* a finish reason */
    bool has_error;                 /* an error object */
    bool is_skipping;               /* inside a line over the limit */
    char error[STREAM_ERROR_BYTES]; /* its message */
};

void stream_init(struct stream *stream, const struct mem *mem);
/* Ready for the next answer; keeps its memory. */
void stream_reset(struct stream *stream);
void stream_fini(struct stream *stream);
/* ST_NOMEM: the answer is incomplete. */
MUST_CHECK enum status stream_feed(struct stream *stream, const char *data, size_t len);
/* Message of an error body in either API's shape, or the body's beginning. out
 * [STREAM_ERROR_BYTES]. */
void stream_error_text(struct str body, char *out);

#endif
