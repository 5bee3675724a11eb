/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine will answer: decided whole when the request is accepted, a function of the
 * engine's seed and the prompt, then read token by token.
 *
 * THREAD: one owner. LIMITS: the tokens asked for. */
#ifndef SIMULATOR_WORKER_REPLY_H
#define SIMULATOR_WORKER_REPLY_H

#include "simulator/worker/out.h"
#include "simulator/worker/prompt.h"

struct sim_reply {
    struct sim_out text;  /* what is said, or the arguments of the call */
    struct sim_out name;  /* of the tool that is called, empty = none */
    uint64_t digest;      /* ids are made of it */
    uint32_t token_count; /* all tokens, the name and the end included */
    bool is_call;
    bool is_cut; /* stopped by max_tokens: no end token */
};

struct sim_reply_opts {
    uint64_t seed;
    uint32_t mean_tokens; /* of a text that nothing limits */
    uint32_t room_tokens; /* context left for the reply, >= 1 */
    bool calls_tool;      /* call one even where the client leaves it open */
};

/* Decides the reply and appends its tokens to ask->chain, so that the hashes cover prompt and
 * reply. ST_NOMEM. */
MUST_CHECK enum status
sim_reply_make(struct sim_reply *ret, struct sim_ask *ask, const struct sim_reply_opts *opts);
void sim_reply_fini(struct sim_reply *reply);

enum sim_piece_kind {
    SIM_PIECE_TEXT,
    SIM_PIECE_NAME, /* the call begins; text is the tool's name */
    SIM_PIECE_ARGS,
    SIM_PIECE_END, /* the end token, no text */
};

struct sim_piece {
    enum sim_piece_kind kind;
    struct str text;
};

/* Where a reader is; zeroed = before the first token. */
struct sim_reply_pos {
    uint32_t token_idx;
    size_t text_at;
};

/* The next token; false after the last one. */
bool sim_reply_next(const struct sim_reply *reply,
                    struct sim_reply_pos *pos,
                    struct sim_piece *ret);

#endif
