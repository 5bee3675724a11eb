/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/chain.h"

#include "common/base/hash.h"

enum { SALT_SYSTEM = 1, SALT_SESSION = 2, FIRST_BLOCKS = 64 };

/* Identifies a system prompt; never 0. */
static uint64_t opening_of(uint32_t system_id)
{
    uint64_t hash = hash_mix(SALT_SYSTEM, system_id);
    return hash != 0 ? hash : 1;
}

static enum status reserve(struct lab_chain *chain, const struct mem *mem, uint32_t count)
{
    if (count <= chain->cap) {
        return ST_OK;
    }
    uint32_t cap = count + count / 2 + FIRST_BLOCKS;
    uint64_t *grown =
        mem_resize(mem, chain->hashes, chain->cap * sizeof(*grown), cap * sizeof(*grown));
    if (grown == NULL) {
        return ST_NOMEM;
    }
    chain->hashes = grown;
    chain->cap = cap;
    return ST_OK;
}

/* Hashes the blocks from the first that is new. */
static void extend(struct lab_chain *chain,
                   const struct lab_session *session,
                   uint64_t own,
                   uint32_t block_tokens)
{
    uint64_t opening = opening_of(session->system_id);
    uint32_t blocks = chain->tokens / block_tokens;
    uint32_t shared = session->system_tokens / block_tokens;
    uint64_t last = chain->count > 0 ? chain->hashes[chain->count - 1] : block_tokens;
    for (uint32_t i = chain->count; i < blocks; i++) {
        last = hash_mix(last, i < shared ? opening : own);
        last = last != 0 ? last : 1;
        chain->hashes[i] = last;
    }
    chain->count = blocks;
}

static void add_bound(struct lab_chain *chain, uint64_t hash, uint32_t tokens)
{
    uint32_t bytes = tokens * LAB_TOKEN_BYTES;
    uint32_t n = chain->bound_count;
    if (n > 0 && chain->bound_bytes[n - 1] >= bytes) {
        return; /* this very end is told already */
    }
    if (n == LAB_BOUNDS) { /* the first one stays: others share it */
        for (uint32_t i = 1; i + 1 < n; i++) {
            chain->bounds[i] = chain->bounds[i + 1];
            chain->bound_bytes[i] = chain->bound_bytes[i + 1];
        }
        n--;
    }
    chain->bounds[n] = hash;
    chain->bound_bytes[n] = bytes;
    chain->bound_count = n + 1;
}

enum status lab_chain_step(struct lab_chain *chain,
                           const struct mem *mem,
                           const struct lab_plan *plan,
                           uint32_t session,
                           uint32_t step)
{
    const struct lab_session *from = &plan->sessions[session];
    const struct lab_step *now = &from->steps[step];
    uint32_t block_tokens = plan->engine.block_tokens;
    uint32_t tokens = now->prompt_tokens + now->output_tokens;
    enum status st = reserve(chain, mem, tokens / block_tokens);
    if (st != ST_OK) {
        return st;
    }
    if (now->kept_tokens < chain->tokens) {
        chain->generation++;
    }
    chain->tokens = tokens;
    uint32_t kept_blocks = now->kept_tokens / block_tokens;
    chain->count = chain->count < kept_blocks ? chain->count : kept_blocks;
    while (chain->bound_count > 0 &&
           chain->bound_bytes[chain->bound_count - 1] > now->kept_tokens * LAB_TOKEN_BYTES) {
        chain->bound_count--;
    }
    uint64_t own = hash_mix(hash_mix(SALT_SESSION, session), chain->generation);
    extend(chain, from, own, block_tokens);
    if (from->system_tokens > 0) {
        add_bound(chain, hash_mix(opening_of(from->system_id), from->system_tokens),
                  from->system_tokens);
    }
    add_bound(chain, hash_mix(own, now->prompt_tokens), now->prompt_tokens);
    return ST_OK;
}

void lab_chain_fini(struct lab_chain *chain, const struct mem *mem)
{
    mem_free(mem, chain->hashes, chain->cap * sizeof(*chain->hashes));
    *chain = (struct lab_chain){0};
}
