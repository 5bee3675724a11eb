/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/profile.h"

static const struct sim_profile profiles[] = {
    {
        .name = "default",
        .text = "no real machine: small and quick, for demos and tests",
        .a_s = 0.5e-3,
        .b_s_per_token = 10e-6,
        .d_s_per_pair = 0.1e-9,
        .f_s = 4e-3,
        .g_s_per_request = 20e-6,
        .h_s_per_token = 2e-9,
        .kv_bytes_per_token = 131072,
        .kv_tokens = 524288,
        .max_running = 64,
        .budget_tokens = 2048,
        .context_tokens = 262144,
    },
    {
        /* Llama-3-8B bf16: 8.03e9 weights, 32 layers, 8 KV heads of 128, hidden 4096. H100 SXM:
         * 989e12 FLOP/s dense bf16 of which half is reached, 3.35e12 B/s of which 0.7. */
        .name = "h100-llama3-8b",
        .text = "Llama-3-8B bf16 on one H100 80 GB (derived, not measured)",
        .a_s = 1.5e-3,                /* assumed */
        .b_s_per_token = 32.5e-6,     /* 2 * 8.03e9 / (989e12 * 0.5) */
        .d_s_per_pair = 1.06e-9,      /* 4 * 32 * 4096 / (989e12 * 0.5) */
        .f_s = 8.35e-3,               /* a + 16.06e9 / (3.35e12 * 0.7) */
        .g_s_per_request = 10e-6,     /* assumed: sampling and bookkeeping */
        .h_s_per_token = 55.9e-9,     /* 131072 / (3.35e12 * 0.7) */
        .kv_bytes_per_token = 131072, /* 2 * 32 * 8 * 128 * 2 */
        .kv_tokens = 396000,          /* (0.9 * 80e9 - 16.06e9 - 4e9) / 131072 */
        .max_running = 256,
        .budget_tokens = 2048,
        .context_tokens = 131072,
    },
    {
        /* Llama-3-70B bf16: 70.6e9 weights, 80 layers, 8 KV heads of 128, hidden 8192, tensor
         * parallel over
         * 4. A100: 312e12 FLOP/s of which half is reached, 2.04e12 B/s of which 0.7. */
        .name = "a100x4-llama3-70b",
        .text = "Llama-3-70B bf16 on four A100 80 GB, tensor parallel (derived, not measured)",
        .a_s = 4e-3,               /* assumed */
        .b_s_per_token = 0.226e-3, /* 2 * 70.6e9 / (4 * 312e12 * 0.5) */
        .d_s_per_pair = 4.2e-9,    /* 4 * 80 * 8192 / (4 * 312e12 * 0.5) */
        .f_s = 28.7e-3,            /* a + 141e9 / (4 * 2.04e12 * 0.7) */
        .g_s_per_request = 0,
        .h_s_per_token = 57.5e-9,     /* 327680 / (4 * 2.04e12 * 0.7) */
        .kv_bytes_per_token = 327680, /* 2 * 80 * 8 * 128 * 2 */
        .kv_tokens = 420000,          /* (0.9 * 4 * 80e9 - 141e9 - 10e9) / 327680, rounded up */
        .max_running = 256,
        .budget_tokens = 2048,
        .context_tokens = 131072,
    },
    {
        /* Qwen3-Coder-30B-A3B bf16: 30.5e9 weights of which 3.3e9 work for a token, 48 layers, 32
         * heads and 4 KV heads of 128. H200 SXM: 989e12 FLOP/s dense bf16 of which half is reached,
         * 4.8e12 B/s of which 0.7. */
        .name = "h200-qwen3-coder-30b",
        .text = "Qwen3-Coder-30B-A3B bf16 on one H200 141 GB (derived, not measured)",
        .a_s = 2e-3,                 /* assumed */
        .b_s_per_token = 13.3e-6,    /* 2 * 3.3e9 / (989e12 * 0.5) */
        .d_s_per_pair = 1.59e-9,     /* 4 * 48 * 32 * 128 / (989e12 * 0.5) */
        .f_s = 20.2e-3,              /* a + 61e9 / (4.8e12 * 0.7): all experts */
        .g_s_per_request = 10e-6,    /* assumed: sampling and bookkeeping */
        .h_s_per_token = 29.3e-9,    /* 98304 / (4.8e12 * 0.7) */
        .kv_bytes_per_token = 98304, /* 2 * 48 * 4 * 128 * 2 */
        .kv_tokens = 630000,         /* (0.9 * 141e9 - 61e9 - 4e9) / 98304 */
        .max_running = 256,
        .budget_tokens = 2048,
        .context_tokens = 262144,
    },
};

uint64_t sim_kv_shape_bytes(const struct sim_kv_shape *shape, uint64_t tokens)
{
    uint64_t numbers = shape->lora_rank > 0 ? (uint64_t)shape->lora_rank + shape->rope_dim
                                            : UINT64_C(2) * shape->kv_heads * shape->head_dim;
    uint64_t token_bytes = numbers * shape->layers * shape->dtype_bytes;
    return tokens > 0 ? token_bytes * tokens + shape->linear_state_bytes : 0;
}

void sim_batch_add_chunk(struct sim_batch *batch, uint32_t u, uint32_t c)
{
    batch->prefill_tokens += u;
    batch->prefill_pairs += (double)u * ((double)c + (double)u / 2.0);
}

double sim_profile_iteration_s(const struct sim_profile *profile, const struct sim_batch *batch)
{
    double tokens = (double)(batch->prefill_tokens + batch->decode_requests);
    double linear_s = profile->a_s + profile->b_s_per_token * tokens;
    if (linear_s < profile->f_s) {
        linear_s = profile->f_s;
    }
    return linear_s + profile->g_s_per_request * (double)batch->decode_requests +
           profile->h_s_per_token * (double)batch->decode_tokens +
           profile->d_s_per_pair * batch->prefill_pairs;
}

const struct sim_profile *sim_profile_find(struct str name)
{
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        if (str_eq(name, str_of(profiles[i].name))) {
            return &profiles[i];
        }
    }
    return NULL;
}

const struct sim_profile *sim_profile_at(size_t idx)
{
    return idx < sizeof(profiles) / sizeof(profiles[0]) ? &profiles[idx] : NULL;
}
