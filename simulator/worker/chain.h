/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-tokens and the block hashes over them. A text token is the next (up to) four bytes of a
 * text, never cutting a UTF-8 character; marks are tokens that no text can make. So a prompt costs
 * one token per four bytes plus its marks, and a prompt that extends another one starts with its
 * tokens.
 *
 * THREAD: one owner. LIMITS: max_tokens. */
#ifndef SIMULATOR_WORKER_CHAIN_H
#define SIMULATOR_WORKER_CHAIN_H

#include "common/base/str.h"

enum { SIM_BLOCK_TOKENS = 16, SIM_TOKEN_BYTES = 4 };

enum sim_mark { SIM_MARK_TURN, SIM_MARK_END, SIM_MARK_CALL, SIM_MARK_TOOL, SIM_MARK_OPAQUE };

struct sim_chain {
    const struct mem *mem;
    uint64_t last_hash; /* of the last full block, or the root */
    uint64_t token_count;
    uint64_t *hashes; /* [hash_count] one per full block, none 0 */
    uint32_t hash_count;
    uint32_t hash_cap;
    uint32_t *tokens; /* [token_count] only with keeps_tokens */
    size_t token_cap;
    uint64_t max_tokens; /* further tokens are counted, not stored */
    uint32_t partial[SIM_BLOCK_TOKENS];
    uint32_t partial_count;
    enum status st; /* ST_OK, or ST_NOMEM once something was lost */
    bool keeps_tokens;
};

/* Roots the chain in what separates caches: model and salt. */
void sim_chain_init(struct sim_chain *chain,
                    const struct mem *mem,
                    struct str model,
                    struct str salt);
void sim_chain_fini(struct sim_chain *chain);

void sim_chain_text(struct sim_chain *chain, struct str text);
/* One token; detail (a role, a tool's name) tells marks of a kind apart. */
void sim_chain_mark(struct sim_chain *chain, enum sim_mark mark, struct str detail);

/* A hash of everything added. */
uint64_t sim_chain_digest(const struct sim_chain *chain);

/* Length of the first token of text; 0 only for an empty text. */
size_t sim_token_len(struct str text);
/* Tokens of a text. O(len). */
uint64_t sim_token_count(struct str text);

#endif
