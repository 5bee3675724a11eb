/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway learns from an answer that passes through it. Plain data. */
#ifndef COORDINATOR_IO_ANSWER_FACTS_H
#define COORDINATOR_IO_ANSWER_FACTS_H

#include <stdbool.h>
#include <stdint.h>

enum { SSE_TOOL_NAME_BYTES = 64 };

enum sse_finish {
    SSE_FINISH_NONE,
    SSE_FINISH_STOP,
    SSE_FINISH_LENGTH,
    SSE_FINISH_TOOLS,
    SSE_FINISH_OTHER
};

/* What was learnt from an answer; also filled from a non-stream body by answer_read_body. */
struct answer_facts {
    bool has_usage;         /* the three counts are the engine's final ones */
    uint32_t prompt_tokens; /* all prompt tokens, cached ones included, whatever the API's own
                               convention */
    uint32_t cached_tokens;
    uint32_t output_tokens;
    enum sse_finish finish;
    uint32_t event_count;           /* events with data, [DONE] not counted */
    bool has_done;                  /* [DONE], response.completed or message_stop seen */
    bool has_error;                 /* an error object or error event was seen */
    bool has_content;               /* an event other than an error or [DONE] was seen */
    uint16_t error_status;          /* status inside such an error, 0 = none */
    char tool[SSE_TOOL_NAME_BYTES]; /* first tool called, "" = none */
    uint64_t reply_hash; /* over the text deltas, 0 = none (always so far: it would cost a parse per
                            event) */
};

#endif
