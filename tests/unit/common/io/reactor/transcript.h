/* SPDX-License-Identifier: Apache-2.0 */
/* What http_parser makes of a byte stream, as text that two ways of cutting the stream can be
 * compared by: heads, whole bodies, where each message ends, whether the stream was refused. Used
 * by the unit test and the fuzzer. THREAD: one. */
#ifndef TESTS_UNIT_COMMON_IO_REACTOR_TRANSCRIPT_H
#define TESTS_UNIT_COMMON_IO_REACTOR_TRANSCRIPT_H

#include "common/io/reactor/http_parse.h"

struct transcript {
    struct http_parser parser;
    struct buf text; /* the transcript; NUL-terminated by transcript_end */
    struct buf body; /* of the message in progress */
    enum http_parse_error error;
    uint32_t message_count; /* complete ones */
    uint32_t head_count;    /* 1xx included */
};

void transcript_start(struct transcript *script, bool is_response, bool is_head_request);
/* Bytes as they come; all are used unless the stream is refused. */
void transcript_feed(struct transcript *script, const char *data, size_t len);
/* The peer closed. */
void transcript_end(struct transcript *script);
void transcript_fini(struct transcript *script);

#endif
