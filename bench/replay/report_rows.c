/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/report_rows.h"

static enum status add_session(const struct plan *plan, uint32_t idx, struct buf *out)
{
    const struct plan_run *run = &plan->runs[idx];
    struct prompt_step first = plan_prompt_step(plan, idx, 0);
    long long parent = run->parent == TRACE_NONE ? -1 : (long long)run->parent;
    return buf_add_fmt(out,
                       "%s\n    {\"parent\":%lld,\"spawn_step\":%u,\"tenant\":%u,"
                       "\"system\":\"%016llx\",\"system_tokens\":%u}",
                       idx == 0 ? "" : ",", parent, plan->trace->sessions[run->session].spawn_step,
                       run->tenant, (unsigned long long)first.sys_seed, first.sys_tokens);
}

static enum status add_row(const struct row *row, bool is_first, struct buf *out)
{
    enum status st = buf_add_fmt(
        out,
        "%s\n    {\"session\":%u,\"step\":%u,\"prompt_tokens\":%u,\"cached_tokens\":%u,"
        "\"output_tokens\":%u,\"own_tokens\":%u,\"kept_tokens\":%u,\"gap_s\":%.6f,\"sent_s\":%.6f,",
        is_first ? "" : ",", row->run, row->step, row->prompt_tokens, row->cached_tokens,
        row->output_tokens, row->own_tokens, row->kept_tokens, row->gap_s, row->sent_s);
    if (st == ST_OK) {
        st = buf_add_fmt(out, "\"ttft_s\":%.6f,\"step_s\":%.6f,\"engine\":\"", row->ttft_s,
                         row->step_s);
    }
    if (st == ST_OK) {
        st = buf_add_json(out, str_of(row->engine));
    }
    return st == ST_OK ? buf_add_str(out, STR("\"}")) : st;
}

enum status report_rows(const struct plan *plan, const struct rows *rows, struct buf *out)
{
    enum status st = buf_add_str(out, STR("  \"sessions\": ["));
    for (uint32_t i = 0; i < plan->count && st == ST_OK; i++) {
        st = add_session(plan, i, out);
    }
    if (st == ST_OK) {
        st = buf_add_str(out, STR("\n  ],\n  \"rows\": ["));
    }
    for (uint32_t i = 0; i < rows->count && st == ST_OK; i++) {
        st = add_row(&rows->rows[i], i == 0, out);
    }
    return st == ST_OK ? buf_add_str(out, STR("\n  ]")) : st;
}
