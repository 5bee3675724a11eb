/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/chat/completions and /v1/completions. */
#include "simulator/worker/dialect.h"

#include <inttypes.h>

static bool is_chat(const struct sim_render *r)
{
    return r->api == SIM_API_CHAT;
}

static const char *finish_reason(const struct sim_render *r)
{
    if (r->reply->is_cut) {
        return "length";
    }
    return r->reply->is_call ? "tool_calls" : "stop";
}

static void add_head(struct sim_render *r, const char *object, struct sim_out *out)
{
    sim_out_str(out, STR("{\"id\":\""));
    sim_out_str(out, is_chat(r) ? STR("chatcmpl-") : STR("cmpl-"));
    sim_out_str(out, r->id);
    sim_out_fmt(out, "\",\"object\":\"%s\",\"created\":%" PRIu64 ",\"model\":", object,
                r->created_s);
    sim_out_json(out, r->model);
}

static void add_usage(const struct sim_render *r, struct sim_out *out)
{
    sim_out_fmt(out,
                ",\"usage\":{\"prompt_tokens\":%" PRIu32 ",\"total_tokens\":%" PRIu32
                ",\"completion_tokens\":%" PRIu32
                ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRIu32
                ",\"created_cache_tokens\":%" PRIu32 "}}",
                r->prompt_tokens, r->prompt_tokens + r->output_tokens, r->output_tokens,
                r->cached_tokens, sim_render_stored_tokens(r));
}

static void add_call_id(const struct sim_render *r, struct sim_out *out)
{
    sim_out_fmt(out, "\"id\":\"call_%016" PRIx64 "\",\"type\":\"function\"", r->reply->digest);
}

static void begin_chunk(struct sim_render *r, struct sim_out *out)
{
    sim_out_str(out, STR("data: "));
    add_head(r, is_chat(r) ? "chat.completion.chunk" : "text_completion", out);
    sim_out_str(out, STR(",\"choices\":[{\"index\":0,"));
}

static void end_chunk(struct sim_render *r, bool is_last, struct sim_out *out)
{
    sim_out_str(out, STR(",\"logprobs\":null,\"finish_reason\":"));
    if (is_last) {
        sim_out_fmt(out, "\"%s\",\"stop_reason\":null}]", finish_reason(r));
    } else {
        sim_out_str(out, STR("null}]"));
    }
    if (r->wants_usage_each) {
        add_usage(r, out);
    }
    sim_out_str(out, STR("}\n\n"));
}

static void chat_first(struct sim_render *r, struct sim_out *out)
{
    begin_chunk(r, out);
    sim_out_str(out, STR("\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"));
    end_chunk(r, false, out);
}

static void add_delta(struct sim_render *r, const struct sim_piece *piece, struct sim_out *out)
{
    switch (piece->kind) {
    case SIM_PIECE_TEXT:
        sim_out_str(out, STR("\"delta\":{\"content\":"));
        sim_out_json(out, piece->text);
        sim_out_str(out, STR("}"));
        break;
    case SIM_PIECE_NAME:
        sim_out_str(out, STR("\"delta\":{\"tool_calls\":[{\"index\":0,"));
        add_call_id(r, out);
        sim_out_str(out, STR(",\"function\":{\"name\":"));
        sim_out_json(out, piece->text);
        sim_out_str(out, STR(",\"arguments\":\"\"}}]}"));
        break;
    case SIM_PIECE_ARGS:
        sim_out_str(out,
                    STR("\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"));
        sim_out_json(out, piece->text);
        sim_out_str(out, STR("}}]}"));
        break;
    case SIM_PIECE_END:
        sim_out_str(out, STR("\"delta\":{}"));
        break;
    }
}

static void add_piece(struct sim_render *r, const struct sim_piece *piece, struct sim_out *out)
{
    begin_chunk(r, out);
    if (is_chat(r)) {
        add_delta(r, piece, out);
    } else {
        sim_out_str(out, STR("\"text\":"));
        sim_out_json(out, piece->text);
    }
    end_chunk(r, r->output_tokens == r->reply->token_count, out);
}

static void add_close(struct sim_render *r, struct sim_out *out)
{
    if (r->wants_usage) {
        sim_out_str(out, STR("data: "));
        add_head(r, is_chat(r) ? "chat.completion.chunk" : "text_completion", out);
        sim_out_str(out, STR(",\"choices\":[]"));
        add_usage(r, out);
        sim_out_str(out, STR("}\n\n"));
    }
    if (!r->lacks_done) {
        sim_out_str(out, STR("data: [DONE]\n\n"));
    }
}

static void add_message(struct sim_render *r, struct sim_out *out)
{
    sim_out_str(out, STR("\"message\":{\"role\":\"assistant\",\"content\":"));
    if (r->reply->is_call) {
        sim_out_str(out, STR("null,\"tool_calls\":[{"));
        add_call_id(r, out);
        sim_out_str(out, STR(",\"function\":{\"name\":"));
        sim_out_json(out, buf_str(&r->reply->name.buf));
        sim_out_str(out, STR(",\"arguments\":"));
        sim_out_json(out, buf_str(&r->reply->text.buf));
        sim_out_str(out, STR("}}]}"));
    } else {
        sim_out_json(out, buf_str(&r->reply->text.buf));
        sim_out_str(out, STR(",\"refusal\":null,\"tool_calls\":[]}"));
    }
}

static void add_whole(struct sim_render *r, struct sim_out *out)
{
    add_head(r, is_chat(r) ? "chat.completion" : "text_completion", out);
    sim_out_str(out, STR(",\"choices\":[{\"index\":0,"));
    if (is_chat(r)) {
        add_message(r, out);
    } else {
        sim_out_str(out, STR("\"text\":"));
        sim_out_json(out, buf_str(&r->reply->text.buf));
    }
    sim_out_fmt(out, ",\"logprobs\":null,\"finish_reason\":\"%s\",\"stop_reason\":null}]",
                finish_reason(r));
    add_usage(r, out);
    sim_out_str(out, STR("}"));
}

const struct sim_dialect sim_dialect_chat = {
    .first = chat_first,
    .piece = add_piece,
    .close = add_close,
    .whole = add_whole,
};

const struct sim_dialect sim_dialect_completions = {
    .piece = add_piece,
    .close = add_close,
    .whole = add_whole,
};
