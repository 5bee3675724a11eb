/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/reply.h"

#include "common/base/hash.h"
#include "simulator/worker/schema.h"

/* The tool to call: the one that was named, else any; false when there is no function among them.
 */
static bool
pick_tool(const struct sim_ask *ask, struct rng *rng, struct str *ret_name, yyjson_val **ret_schema)
{
    size_t count = yyjson_arr_size(ask->tools);
    size_t first = count == 0 ? 0 : (size_t)rng_below(rng, count);
    for (size_t i = 0; i < count; i++) {
        yyjson_val *tool = yyjson_arr_get(ask->tools, (first + i) % count);
        if (sim_tool_read(tool, ret_name, ret_schema) &&
            (ask->tool_name.len == 0 || str_eq(*ret_name, ask->tool_name))) {
            return true;
        }
    }
    return false;
}

/* Words up to this many tokens of four bytes. */
static void write_words(struct sim_out *out, uint32_t tokens, struct rng *rng)
{
    for (uint32_t i = 0; i < tokens; i++) {
        sim_out_str(out, i == 0 ? STR("Okay") : STR(" "));
        if (i > 0) {
            sim_out_str(out, sim_word(rng_u64(rng)));
        }
    }
}

/* Leaves the first tokens of the text. */
static void cut_text(struct sim_out *out, uint32_t tokens)
{
    struct str left = buf_str(&out->buf);
    for (uint32_t i = 0; i < tokens; i++) {
        size_t len = sim_token_len(left);
        left.p += len;
        left.len -= len;
    }
    out->buf.len -= left.len;
}

/* Cuts what exceeds the limit and counts. The name of a call is one token, the end another one. */
static void settle(struct sim_reply *reply, const struct sim_ask *ask, uint32_t room)
{
    uint32_t limit = ask->max_tokens != 0 && ask->max_tokens < room ? ask->max_tokens : room;
    uint64_t text = sim_token_count(buf_str(&reply->text.buf));
    uint64_t whole = text + (reply->is_call ? 1 : 0) + 1;
    bool lacks_end =
        ask->ignores_eos && ask->max_tokens != 0 && !reply->is_call && !ask->wants_json;
    if (whole <= limit && !lacks_end) {
        reply->token_count = (uint32_t)whole;
        return;
    }
    reply->is_cut = true;
    reply->token_count = limit;
    cut_text(&reply->text, limit - (reply->is_call ? 1 : 0));
}

static uint32_t
word_count(const struct sim_ask *ask, const struct sim_reply_opts *opts, struct rng *rng)
{
    uint64_t mean = opts->mean_tokens;
    uint64_t words = mean / 2 + rng_below(rng, mean + 1);
    words = words == 0 ? 1 : words;
    words = words < ask->min_tokens ? ask->min_tokens : words;
    if (ask->ignores_eos && ask->max_tokens != 0) {
        words = ask->max_tokens;
    }
    return words < opts->room_tokens ? (uint32_t)words : opts->room_tokens;
}

static void add_to_chain(const struct sim_reply *reply, struct sim_chain *chain)
{
    if (reply->is_call) {
        sim_turn_call(chain, buf_str(&reply->name.buf), buf_str(&reply->text.buf));
    } else {
        sim_chain_text(chain, buf_str(&reply->text.buf));
    }
    if (!reply->is_cut) {
        sim_turn_end(chain);
    }
}

enum status
sim_reply_make(struct sim_reply *ret, struct sim_ask *ask, const struct sim_reply_opts *opts)
{
    struct sim_reply reply = {0};
    struct rng rng;
    struct str name = {NULL, 0};
    yyjson_val *schema = NULL;
    reply.digest = hash_mix(hash_mix(opts->seed, ask->seed), sim_chain_digest(&ask->chain));
    rng_init(&rng, reply.digest);
    sim_out_init(&reply.text, ask->chain.mem);
    sim_out_init(&reply.name, ask->chain.mem);
    bool wants_call = ask->tool_choice == SIM_TOOL_REQUIRED ||
                      (ask->tool_choice == SIM_TOOL_AUTO && opts->calls_tool);
    if (wants_call && pick_tool(ask, &rng, &name, &schema)) {
        reply.is_call = true;
        sim_out_str(&reply.name, name);
        sim_schema_write(&reply.text, schema, &rng);
    } else if (ask->wants_json) {
        sim_schema_write(&reply.text, ask->json_schema, &rng);
    } else {
        write_words(&reply.text, word_count(ask, opts, &rng), &rng);
    }
    if (reply.text.st == ST_OK && reply.name.st == ST_OK) {
        settle(&reply, ask, opts->room_tokens);
        add_to_chain(&reply, &ask->chain);
    }
    if (reply.text.st != ST_OK || reply.name.st != ST_OK || ask->chain.st != ST_OK) {
        sim_reply_fini(&reply);
        return ST_NOMEM;
    }
    *ret = reply;
    return ST_OK;
}

void sim_reply_fini(struct sim_reply *reply)
{
    sim_out_fini(&reply->text);
    sim_out_fini(&reply->name);
}

bool sim_reply_next(const struct sim_reply *reply, struct sim_reply_pos *pos, struct sim_piece *ret)
{
    if (pos->token_idx == reply->token_count) {
        return false;
    }
    pos->token_idx++;
    if (reply->is_call && pos->token_idx == 1) {
        *ret = (struct sim_piece){SIM_PIECE_NAME, buf_str(&reply->name.buf)};
        return true;
    }
    struct str text = buf_str(&reply->text.buf);
    if (text.len == pos->text_at) {
        *ret = (struct sim_piece){SIM_PIECE_END, STR("")};
        return true;
    }
    text.p += pos->text_at;
    text.len -= pos->text_at;
    text.len = sim_token_len(text);
    pos->text_at += text.len;
    *ret = (struct sim_piece){reply->is_call ? SIM_PIECE_ARGS : SIM_PIECE_TEXT, text};
    return true;
}
