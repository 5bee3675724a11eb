/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/messages. */
#include "simulator/worker/dialect.h"

#include <inttypes.h>

/* input_tokens counts neither what was read from the cache nor what was put there. */
static void add_usage(const struct sim_render *r, struct sim_out *out)
{
    uint32_t stored = sim_render_stored_tokens(r);
    sim_out_fmt(
        out,
        "\"usage\":{\"input_tokens\":%" PRIu32 ",\"output_tokens\":%" PRIu32
        ",\"cache_creation_input_tokens\":%" PRIu32 ",\"cache_read_input_tokens\":%" PRIu32 "}",
        r->prompt_tokens - r->cached_tokens - stored, r->output_tokens, stored, r->cached_tokens);
}

static const char *stop_reason(const struct sim_render *r)
{
    if (r->reply->is_cut) {
        return "max_tokens";
    }
    return r->reply->is_call ? "tool_use" : "end_turn";
}

static void add_head(struct sim_render *r, struct sim_out *out)
{
    sim_out_str(out, STR("{\"id\":\"msg_"));
    sim_out_str(out, r->id);
    sim_out_str(out, STR("\",\"type\":\"message\",\"role\":\"assistant\",\"model\":"));
    sim_out_json(out, r->model);
}

static void begin_tool(struct sim_render *r, struct sim_out *out)
{
    sim_out_fmt(
        out, "{\"type\":\"tool_use\",\"id\":\"toolu_%016" PRIx64 "\",\"name\":", r->reply->digest);
    sim_out_json(out, buf_str(&r->reply->name.buf));
}

static void add_first(struct sim_render *r, struct sim_out *out)
{
    uint32_t output = r->output_tokens;
    r->output_tokens = 0;
    sim_out_str(out, STR("event: message_start\ndata: {\"type\":\"message_start\",\"message\":"));
    add_head(r, out);
    sim_out_str(out, STR(",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"));
    add_usage(r, out);
    sim_out_str(out, STR("}}\n\n"));
    r->output_tokens = output;
    if (!r->reply->is_call) {
        sim_out_str(out,
                    STR("event: content_block_start\ndata: {\"type\":\"content_block_start\","
                        "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"));
    }
}

static void add_piece(struct sim_render *r, const struct sim_piece *piece, struct sim_out *out)
{
    switch (piece->kind) {
    case SIM_PIECE_TEXT:
        sim_out_str(out, STR("event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
                             "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"));
        sim_out_json(out, piece->text);
        sim_out_str(out, STR("}}\n\n"));
        break;
    case SIM_PIECE_NAME:
        sim_out_str(out, STR("event: content_block_start\ndata: {\"type\":\"content_block_start\","
                             "\"index\":0,\"content_block\":"));
        begin_tool(r, out);
        sim_out_str(out, STR(",\"input\":{}}}\n\n"));
        break;
    case SIM_PIECE_ARGS:
        sim_out_str(out,
                    STR("event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
                        "\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":"));
        sim_out_json(out, piece->text);
        sim_out_str(out, STR("}}\n\n"));
        break;
    case SIM_PIECE_END:
        break; /* add_close says it */
    }
}

static void add_close(struct sim_render *r, struct sim_out *out)
{
    sim_out_str(out, STR("event: content_block_stop\n"
                         "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"));
    sim_out_fmt(out,
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":"
                "{\"stop_reason\":\"%s\",\"stop_sequence\":null},",
                stop_reason(r));
    add_usage(r, out);
    sim_out_str(out, STR("}\n\n"));
    if (!r->lacks_done) {
        sim_out_str(out, STR("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
    }
}

static void add_whole(struct sim_render *r, struct sim_out *out)
{
    add_head(r, out);
    sim_out_str(out, STR(",\"content\":["));
    if (r->reply->is_call) {
        begin_tool(r, out);
        sim_out_str(out, STR(",\"input\":"));
        /* Cut arguments are no JSON. */
        sim_out_str(out, r->reply->is_cut ? STR("{}") : buf_str(&r->reply->text.buf));
    } else {
        sim_out_str(out, STR("{\"type\":\"text\",\"text\":"));
        sim_out_json(out, buf_str(&r->reply->text.buf));
    }
    sim_out_fmt(out, "}],\"stop_reason\":\"%s\",\"stop_sequence\":null,", stop_reason(r));
    add_usage(r, out);
    sim_out_str(out, STR("}"));
}

const struct sim_dialect sim_dialect_messages = {
    .first = add_first,
    .piece = add_piece,
    .close = add_close,
    .whole = add_whole,
};
