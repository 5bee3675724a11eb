/* SPDX-License-Identifier: Apache-2.0 */
/* One line of a trace, checked: what it says and what it leaves open.
 * PURE. THREAD: any. OWNERSHIP: strings are borrowed from the document. */
#ifndef BENCH_REPLAY_TRACE_ROW_H
#define BENCH_REPLAY_TRACE_ROW_H

#include "common/base/err.h"
#include "common/base/json.h"

enum {
    TRACE_ID_MAX = 256,         /* bytes of a session, source or system prompt id */
    TRACE_TOKENS_MAX = 1 << 24, /* of one step */
};

struct trace_row {
    struct str source; /* "" when absent, as all ids but session */
    struct str session;
    struct str parent;
    struct str sys;
    struct str tools; /* called at the step's end, joined by '+' */
    yyjson_val *subs; /* array of strings, NULL = absent */
    uint32_t in_tokens;
    uint32_t new_tokens; /* <= in_tokens */
    uint32_t out_tokens;
    uint32_t sys_tokens; /* 0 = absent */
    double t_s;          /* 0 when absent */
    double llm_s;
    double gap_s;
    bool has_gap;
    bool is_gap_from_request;
    bool is_tool;
};

/* Reads a parsed line. ST_PROTO: a wrong type, a required key (s, in, out) absent, a number out of
 * range; err says which key. Unknown keys are passed over. */
MUST_CHECK enum status trace_row_read(yyjson_val *obj, struct trace_row *ret, struct err *err);

#endif
