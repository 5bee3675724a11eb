/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a request body of any of the served APIs: what is asked for, and the prompt as a token
 * chain. The same conversation gives the same chain through each API, tools and system first, one
 * turn after the other.
 *
 * THREAD: any. OWNERSHIP: an ask borrows from its JSON document. */
#ifndef SIMULATOR_WORKER_PROMPT_H
#define SIMULATOR_WORKER_PROMPT_H

#include "simulator/worker/chain.h"
#include "simulator/worker/refusal.h"

enum sim_api {
    SIM_API_CHAT,        /* /v1/chat/completions */
    SIM_API_COMPLETIONS, /* /v1/completions */
    SIM_API_RESPONSES,   /* /v1/responses */
    SIM_API_MESSAGES,    /* /v1/messages */
    SIM_API_COUNT,       /* /v1/messages/count_tokens */
    SIM_API_TOKENIZE,    /* /tokenize */
};

enum sim_tool_choice { SIM_TOOL_AUTO, SIM_TOOL_NEVER, SIM_TOOL_REQUIRED };

struct sim_ask {
    enum sim_api api;
    bool is_stream;
    bool wants_usage;      /* stream_options.include_usage */
    bool wants_usage_each; /* stream_options.continuous_usage_stats */
    bool ignores_eos;      /* generate exactly max_tokens */
    bool wants_json;       /* response_format / text.format */
    uint32_t max_tokens;   /* 0 = not given */
    uint32_t min_tokens;
    uint64_t seed;
    enum sim_tool_choice tool_choice;
    struct str tool_name;    /* the one that must be called; empty = any */
    yyjson_val *tools;       /* array or NULL */
    yyjson_val *json_schema; /* of wants_json, may be NULL */
    struct sim_chain chain;  /* the prompt, up to where the reply begins */
};

/* root: the parsed body. model: the one name that is served. On false ret_refusal says why and
 * nothing needs to be freed; on true the caller ends with sim_ask_fini. */
bool sim_ask_read(struct sim_ask *ret,
                  enum sim_api api,
                  yyjson_val *root,
                  struct str model,
                  const struct mem *mem,
                  struct sim_refusal *ret_refusal);
void sim_ask_fini(struct sim_ask *ask);

/* Name and parameter schema (may be NULL) of a tool in any API's spelling; false when it is no
 * function. */
bool sim_tool_read(yyjson_val *tool, struct str *ret_name, yyjson_val **ret_schema);

/* The turns of the template, for who adds a reply to a chain. */
void sim_turn_begin(struct sim_chain *chain, struct str role);
void sim_turn_call(struct sim_chain *chain, struct str name, struct str arguments);
void sim_turn_end(struct sim_chain *chain);

#endif
