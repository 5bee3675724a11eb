/* SPDX-License-Identifier: Apache-2.0 */
/* Receipts as JSON. */
#include "coordinator/core/receipt.h"

#include "coordinator/core/json_out.h"
#include "coordinator/core/receipts.h"

static const char *const branch_texts[] = {
    [COORD_BRANCH_FREE] = "free",       [COORD_BRANCH_NEW] = "new",
    [COORD_BRANCH_FORK] = "fork",       [COORD_BRANCH_HOME] = "home",
    [COORD_BRANCH_SPILL] = "spill",     [COORD_BRANCH_MOVED] = "moved",
    [COORD_BRANCH_RETRY] = "retry",     [COORD_BRANCH_REHOMED] = "rehomed",
    [COORD_BRANCH_REFUSED] = "refused",
};

static const char *const fail_texts[] = {
    [COORD_FAIL_CONNECT] = "connect", [COORD_FAIL_OVERLOADED] = "overloaded",
    [COORD_FAIL_STATUS] = "status",   [COORD_FAIL_DIED] = "died",
    [COORD_FAIL_TIMEOUT] = "timeout",
};

static const char *const result_texts[] = {
    [COORD_RESULT_PENDING] = "pending",
    [COORD_RESULT_OK] = "ok",
    [COORD_RESULT_CLIENT_ERROR] = "client_error",
    [COORD_RESULT_ENGINE_ERROR] = "engine_error",
    [COORD_RESULT_CUT] = "cut",
    [COORD_RESULT_GONE] = "gone",
    [COORD_RESULT_REFUSED] = "refused",
};

static unsigned long long ull(uint64_t v)
{
    return v;
}

static enum status write_decision(const struct coord_receipt *receipt, struct buf *out)
{
    enum status st = ST_OK;
    json_add_text(&st, out, "request", str_of(receipt->name));
    json_add_text(&st, out, "session", str_of(receipt->session));
    json_add_text(&st, out, "schema", str_of(receipt->schema));
    json_add_text(&st, out, "parent", str_of(receipt->parent));
    json_add_text(&st, out, "agent", str_of(receipt->agent));
    json_add_text(&st, out, "model", str_of(receipt->model));
    json_add_text(&st, out, "engine", str_of(receipt->engine));
    if (receipt->step != UINT32_MAX) {
        json_add_u64(&st, out, "step", receipt->step);
        json_add_flag(&st, out, "is_repeat", receipt->is_repeat);
        json_add_flag(&st, out, "is_aside", receipt->is_aside);
    }
    json_note(&st,
              buf_add_fmt(out,
                          "\"branch\":\"%s\",\"match\":\"%s\",\"confidence\":%.2f,\"attempt\":%u,"
                          "\"prompt_bytes\":%u,"
                          "\"reuse_bytes\":%u,"
                          "\"cost_ms\":%.1f,\"candidates_total\":%u",
                          branch_texts[receipt->branch], receipt->match, receipt->confidence,
                          receipt->attempt, receipt->prompt_bytes, receipt->reuse_bytes,
                          receipt->wait_us / 1000.0, receipt->total));
    return st;
}

static enum status write_candidates(const struct coord_receipt *receipt, struct buf *out)
{
    enum status st = ST_OK;
    json_note(&st, buf_add_str(out, STR(",\"candidates\":[")));
    for (uint32_t i = 0; i < receipt->count; i++) {
        const struct coord_candidate *candidate = &receipt->candidates[i];
        json_note(&st, buf_add_str(out, i == 0 ? STR("{") : STR(",{")));
        json_add_text(&st, out, "engine", str_of(candidate->engine));
        json_note(&st, buf_add_fmt(
                           out, "\"cost_ms\":%.1f,\"reuse_bytes\":%u,\"queued\":%u,\"running\":%u}",
                           candidate->cost_us / 1000.0, candidate->reuse_bytes, candidate->queued,
                           candidate->running));
    }
    json_note(&st, buf_add_str(out, STR("]")));
    return st;
}

static enum status write_prior(const struct coord_receipt *receipt, struct buf *out)
{
    enum status st = ST_OK;
    json_note(&st, buf_add_str(out, STR(",\"failed_attempts\":[")));
    for (uint32_t i = 0; i < receipt->prior_count; i++) {
        const struct coord_prior *prior = &receipt->prior[i];
        json_note(&st, buf_add_str(out, i == 0 ? STR("{") : STR(",{")));
        json_add_text(&st, out, "engine", str_of(prior->engine));
        json_note(&st, buf_add_fmt(out, "\"why\":\"%s\",\"http_status\":%u}",
                                   fail_texts[prior->why], prior->http_status));
    }
    json_note(&st, buf_add_str(out, STR("]")));
    return st;
}

static enum status write_result(const struct coord_receipt *receipt, struct buf *out)
{
    enum status st = ST_OK;
    json_note(&st,
              buf_add_fmt(out,
                          ",\"result\":\"%s\",\"http_status\":%u,\"queued_ms\":%.1f,\"first_ms\":%."
                          "1f,\"total_ms\":%.1f",
                          result_texts[receipt->result], receipt->http_status,
                          (double)receipt->queued_us / 1000.0, (double)receipt->first_us / 1000.0,
                          (double)receipt->total_us / 1000.0));
    if (receipt->has_usage) {
        json_note(&st,
                  buf_add_fmt(
                      out,
                      ",\"usage\":{\"prompt_tokens\":%u,\"cached_tokens\":%u,\"output_tokens\":%u}",
                      receipt->prompt_tokens, receipt->cached_tokens, receipt->output_tokens));
    }
    return st;
}

enum status coord_receipt_write(const struct coord_receipt *receipt, struct buf *out)
{
    enum status st = ST_OK;
    json_note(&st, buf_add_fmt(out, "{\"number\":%llu,\"arrived_at_us\":%llu,",
                               ull(receipt->number), ull(receipt->arrived_at_us)));
    json_note(&st, write_decision(receipt, out));
    json_note(&st, write_candidates(receipt, out));
    json_note(&st, write_prior(receipt, out));
    json_note(&st, write_result(receipt, out));
    json_note(&st, buf_add_str(out, STR("}")));
    return st;
}

/* A struct mem that hands out one given block. */
struct fixed {
    void *block;
    size_t bytes;
};

static void *fixed_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    const struct fixed *fixed = ctx;
    (void)ptr;
    (void)old_bytes;
    return new_bytes > 0 && new_bytes <= fixed->bytes ? fixed->block : NULL;
}

/* Bytes that may not stand in a header value. */
static void make_printable(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < 0x20 || text[i] > 0x7e) {
            text[i] = '?';
        }
    }
}

static enum status
write_short(const struct coord_receipt *receipt, bool has_candidates, struct buf *out)
{
    out->len = 0;
    enum status st = buf_add_str(out, STR("{"));
    json_note(&st, write_decision(receipt, out));
    if (has_candidates) {
        json_note(&st, write_candidates(receipt, out));
    }
    json_note(&st, buf_add_str(out, STR("}")));
    return st;
}

size_t coord_receipt_write_short(const struct coord_receipt *receipt, char *out, size_t cap)
{
    if (cap > COORD_RECEIPT_HEADER_BYTES + 1) {
        cap = COORD_RECEIPT_HEADER_BYTES + 1;
    }
    struct fixed fixed = {out, cap - 1};
    struct mem mem = {fixed_resize, &fixed};
    struct buf buf;
    buf_init(&buf, &mem, cap - 1);
    enum status st = receipt == NULL ? ST_NOTFOUND : write_short(receipt, true, &buf);
    if (st == ST_FULL) {
        st = write_short(receipt, false, &buf);
    }
    if (st != ST_OK) {
        buf.len = 0;
        status_ignore(buf_add_str(&buf, STR("{}")), "a cap too small for it leaves an empty text");
    }
    make_printable(out, buf.len);
    out[buf.len] = '\0';
    return buf.len;
}
