/* SPDX-License-Identifier: Apache-2.0 */
/* The prompt chain: one running hash over the canonical form of a prompt, noted wherever reuse of
 * cached work can begin or end (docs/formulas.md#F1). Two requests share their first n tokens
 * exactly as far as their chains are equal.
 * PURE. THREAD: one owner. LIMITS: at most cap boundaries; beyond that those inside messages get
 * sparser first. */
#ifndef COORDINATOR_IO_CHAIN_H
#define COORDINATOR_IO_CHAIN_H

#include "coordinator/io/chain_state.h"

#include <yyjson.h>

/* What a request's prompt is made of, in template order. Values may be NULL or of any type. */
struct chain_prompt {
    struct str model;
    struct str cache_salt;
    yyjson_val *tools;  /* array of tools */
    yyjson_val *system; /* string or array of parts (Anthropic's system, Responses' instructions) */
    yyjson_val *messages; /* array of messages or input items; a string is one user message */
    yyjson_val *texts;    /* completions: a string, strings, tokens or arrays of tokens */
};

/* Fills the arrays anew. Documents must have been read with YYJSON_READ_NUMBER_AS_RAW. Cannot fail.
 * O(prompt). */
void chain_build(struct chain *chain, const struct chain_prompt *prompt);
/* Claude Code's first system block: it differs with each conversation's first message and says
 * nothing to the model. No part of the chain. */
bool chain_is_billing_block(yyjson_val *block);
/* Does it say what the system prompt says? Such messages at the front belong to it. */
bool chain_is_system_message(yyjson_val *message);

#endif
