/* SPDX-License-Identifier: Apache-2.0 */
/* How long an iteration of a modelled engine takes, and the named sets of constants that ship. The
 * constants are derived from data sheets, not measured: docs/profiles.md has each derivation.
 *
 * PURE. THREAD: any. */
#ifndef SIMULATOR_MODEL_PROFILE_H
#define SIMULATOR_MODEL_PROFILE_H

#include "common/base/str.h"

enum { SIM_PROFILE_NAME_BYTES = 64, SIM_PROFILE_TEXT_BYTES = 192 };

/* Letters as in docs/profiles.md. */
struct sim_profile {
    char name[SIM_PROFILE_NAME_BYTES];
    char text[SIM_PROFILE_TEXT_BYTES]; /* one line for --help */
    double a_s;                        /* fixed cost of an iteration */
    double b_s_per_token;              /* compute per new token (linear layers) */
    double d_s_per_pair;               /* attention compute per (new token, earlier token) pair */
    double f_s;             /* least time of an iteration: fixed cost + reading the weights once */
    double g_s_per_request; /* per decoding request */
    double h_s_per_token;   /* reading the KV of one context token while decoding */
    uint64_t kv_bytes_per_token; /* for tiers and moves; no effect on time */
    uint32_t kv_tokens;          /* KV memory of one engine */
    uint32_t max_running;        /* requests in a batch */
    uint32_t budget_tokens;      /* tokens of one iteration, decode first; the prefill chunk */
    uint32_t context_tokens;     /* longest prompt + output */
};

/* What a model keeps of a request's context. */
struct sim_kv_shape {
    uint32_t layers; /* with full attention: those whose part grows with the context */
    uint32_t kv_heads;
    uint32_t head_dim;
    uint32_t dtype_bytes;        /* of a number in the cache: 2 for bf16, 1 for fp8 */
    uint32_t lora_rank;          /* > 0 = MLA: one latent vector per token instead of heads */
    uint32_t rope_dim;           /* beside it */
    uint64_t linear_state_bytes; /* of all layers with linear attention or a state space: of one
                                    size whatever the context */
};

/* Bytes that a context of so many tokens takes:
 *
 *     full attention  2 layers kv_heads head_dim dtype_bytes tokens    (arXiv 2604.05012)
 *     MLA             layers (lora_rank + rope_dim) dtype_bytes tokens (DeepSeek-V2, arXiv
 * 2405.04434) hybrid          either of them, over the layers with full attention, +
 * linear_state_bytes
 *
 * 0 for no tokens. */
uint64_t sim_kv_shape_bytes(const struct sim_kv_shape *shape, uint64_t tokens);

/* What one iteration does. */
struct sim_batch {
    uint32_t decode_requests; /* B: requests that get their next token */
    uint64_t decode_tokens;   /* C: context tokens of those */
    uint64_t prefill_tokens;  /* U: sum of the chunks' tokens u */
    double prefill_pairs;     /* sum over chunks of u * (c + u / 2), c tokens already there */
};

/* Adds a chunk of u new tokens on c earlier ones. */
void sim_batch_add_chunk(struct sim_batch *batch, uint32_t u, uint32_t c);

/* Seconds of one iteration (docs/profiles.md, F-iteration):
 *
 *     T = max(f, a + b (U + B)) + g B + h C + d sum u (c + u / 2)
 *
 * A batch of only decodes costs f + g B + h C, a lone chunk a + b u + d u (c + u / 2)
 * (F-decode and F-prefill there), as long as b (U + B) is below resp. above the time to read the
 * weights: in a mixed batch the weights are read once. */
double sim_profile_iteration_s(const struct sim_profile *profile, const struct sim_batch *batch);

/* The built-in profile with this name; NULL when there is none. */
const struct sim_profile *sim_profile_find(struct str name);
/* The idx-th built-in profile, NULL past the end; 0 is "default". */
const struct sim_profile *sim_profile_at(size_t idx);

#endif
