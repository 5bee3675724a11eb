/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/responses: numbered events, each with enough of the answer to be understood alone. As in vLLM
 * the last event is response.completed even when the answer was cut; its status says "incomplete"
 * then. */
#include "simulator/worker/dialect.h"

#include <inttypes.h>

static void begin_event(struct sim_render *r, const char *type, struct sim_out *out)
{
    sim_out_fmt(out, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%" PRIu32, type, type,
                r->sequence_number++);
}

static void end_event(struct sim_out *out)
{
    sim_out_str(out, STR("}\n\n"));
}

static void add_item_id(const struct sim_render *r, struct sim_out *out)
{
    sim_out_fmt(out, "\"%s_%016" PRIx64 "\"", r->reply->is_call ? "fc" : "msg", r->reply->digest);
}

static void add_part(struct str text, struct sim_out *out)
{
    sim_out_str(out, STR("{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":"));
    sim_out_json(out, text);
    sim_out_str(out, STR("}"));
}

/* The output item, empty while in progress. */
static void add_item(const struct sim_render *r, bool is_done, struct sim_out *out)
{
    struct str text = is_done ? buf_str(&r->reply->text.buf) : STR("");
    const char *ended = r->reply->is_cut ? "incomplete" : "completed";
    sim_out_str(out, STR("{\"id\":"));
    add_item_id(r, out);
    sim_out_fmt(out, ",\"status\":\"%s\",", is_done ? ended : "in_progress");
    if (r->reply->is_call) {
        sim_out_fmt(out, "\"type\":\"function_call\",\"call_id\":\"call_%016" PRIx64 "\",\"name\":",
                    r->reply->digest);
        sim_out_json(out, buf_str(&r->reply->name.buf));
        sim_out_str(out, STR(",\"arguments\":"));
        sim_out_json(out, text);
    } else {
        sim_out_str(out, STR("\"type\":\"message\",\"role\":\"assistant\",\"content\":["));
        if (is_done) {
            add_part(text, out);
        }
        sim_out_str(out, STR("]"));
    }
    sim_out_str(out, STR("}"));
}

static void add_usage(const struct sim_render *r, struct sim_out *out)
{
    sim_out_fmt(out,
                "{\"input_tokens\":%" PRIu32 ",\"input_tokens_details\":{\"cached_tokens\":%" PRIu32
                "},\"output_tokens\":%" PRIu32
                ",\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%" PRIu32 "}",
                r->prompt_tokens, r->cached_tokens, r->output_tokens,
                r->prompt_tokens + r->output_tokens);
}

static void add_response(const struct sim_render *r, bool is_done, struct sim_out *out)
{
    const char *ended = r->reply->is_cut ? "incomplete" : "completed";
    sim_out_str(out, STR("{\"id\":\"resp_"));
    sim_out_str(out, r->id);
    sim_out_fmt(out, "\",\"object\":\"response\",\"created_at\":%" PRIu64 ",\"status\":\"%s\"",
                r->created_s, is_done ? ended : "in_progress");
    sim_out_str(out, is_done && r->reply->is_cut
                         ? STR(",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}")
                         : STR(",\"incomplete_details\":null"));
    sim_out_str(out, STR(",\"error\":null,\"instructions\":null,\"max_output_tokens\":"));
    if (r->max_tokens != 0) {
        sim_out_fmt(out, "%" PRIu32, r->max_tokens);
    } else {
        sim_out_str(out, STR("null"));
    }
    sim_out_str(out, STR(",\"model\":"));
    sim_out_json(out, r->model);
    sim_out_str(out, STR(",\"output\":["));
    if (is_done) {
        add_item(r, true, out);
    }
    sim_out_str(out, STR("],\"parallel_tool_calls\":true,\"previous_response_id\":null,"
                         "\"temperature\":1.0,\"text\":{\"format\":{\"type\":\"text\"}},"
                         "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,"
                         "\"truncation\":\"disabled\",\"metadata\":{},\"usage\":"));
    if (is_done) {
        add_usage(r, out);
    } else {
        sim_out_str(out, STR("null"));
    }
    sim_out_str(out, STR("}"));
}

static void
add_response_event(struct sim_render *r, const char *type, bool is_done, struct sim_out *out)
{
    begin_event(r, type, out);
    sim_out_str(out, STR(",\"response\":"));
    add_response(r, is_done, out);
    end_event(out);
}

static void add_open(struct sim_render *r, struct sim_out *out)
{
    add_response_event(r, "response.created", false, out);
    add_response_event(r, "response.in_progress", false, out);
}

static void
add_item_event(struct sim_render *r, const char *type, bool is_done, struct sim_out *out)
{
    begin_event(r, type, out);
    sim_out_str(out, STR(",\"output_index\":0,\"item\":"));
    add_item(r, is_done, out);
    end_event(out);
}

static void begin_part_event(struct sim_render *r, const char *type, struct sim_out *out)
{
    begin_event(r, type, out);
    sim_out_str(out, STR(",\"output_index\":0,\"item_id\":"));
    add_item_id(r, out);
    if (!r->reply->is_call) {
        sim_out_str(out, STR(",\"content_index\":0"));
    }
}

static void add_first(struct sim_render *r, struct sim_out *out)
{
    if (r->reply->is_call) {
        return;
    }
    add_item_event(r, "response.output_item.added", false, out);
    begin_part_event(r, "response.content_part.added", out);
    sim_out_str(out, STR(",\"part\":"));
    add_part(STR(""), out);
    end_event(out);
}

static void add_piece(struct sim_render *r, const struct sim_piece *piece, struct sim_out *out)
{
    switch (piece->kind) {
    case SIM_PIECE_TEXT:
        begin_part_event(r, "response.output_text.delta", out);
        sim_out_str(out, STR(",\"logprobs\":[],\"delta\":"));
        sim_out_json(out, piece->text);
        end_event(out);
        break;
    case SIM_PIECE_NAME:
        add_item_event(r, "response.output_item.added", false, out);
        break;
    case SIM_PIECE_ARGS:
        begin_part_event(r, "response.function_call_arguments.delta", out);
        sim_out_str(out, STR(",\"delta\":"));
        sim_out_json(out, piece->text);
        end_event(out);
        break;
    case SIM_PIECE_END:
        break; /* add_close says it */
    }
}

static void add_close(struct sim_render *r, struct sim_out *out)
{
    struct str text = buf_str(&r->reply->text.buf);
    if (r->reply->is_call) {
        begin_part_event(r, "response.function_call_arguments.done", out);
        sim_out_str(out, STR(",\"name\":"));
        sim_out_json(out, buf_str(&r->reply->name.buf));
        sim_out_str(out, STR(",\"arguments\":"));
        sim_out_json(out, text);
        end_event(out);
    } else {
        begin_part_event(r, "response.output_text.done", out);
        sim_out_str(out, STR(",\"logprobs\":[],\"text\":"));
        sim_out_json(out, text);
        end_event(out);
        begin_part_event(r, "response.content_part.done", out);
        sim_out_str(out, STR(",\"part\":"));
        add_part(text, out);
        end_event(out);
    }
    add_item_event(r, "response.output_item.done", true, out);
    if (!r->lacks_done) {
        add_response_event(r, "response.completed", true, out);
    }
}

static void add_whole(struct sim_render *r, struct sim_out *out)
{
    add_response(r, true, out);
}

const struct sim_dialect sim_dialect_responses = {
    .open = add_open,
    .first = add_first,
    .piece = add_piece,
    .close = add_close,
    .whole = add_whole,
};
