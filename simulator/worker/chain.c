/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/chain.h"

#include "common/base/hash.h"

void sim_chain_init(struct sim_chain *chain,
                    const struct mem *mem,
                    struct str model,
                    struct str salt)
{
    *chain = (struct sim_chain){.mem = mem, .max_tokens = UINT32_MAX};
    chain->last_hash = hash_mix(hash_str(model, 1), hash_str(salt, 2));
}

void sim_chain_fini(struct sim_chain *chain)
{
    mem_free(chain->mem, chain->hashes, chain->hash_cap * sizeof(*chain->hashes));
    mem_free(chain->mem, chain->tokens, chain->token_cap * sizeof(*chain->tokens));
    chain->hashes = NULL;
    chain->tokens = NULL;
}

/* Room for one more item of size bytes; false sets st. */
static bool grow(struct sim_chain *chain, void **items, size_t *cap, size_t count, size_t size)
{
    if (count < *cap) {
        return true;
    }
    size_t more = *cap == 0 ? 64 : *cap * 2;
    void *bigger = mem_resize(chain->mem, *items, *cap * size, more * size);
    if (bigger == NULL) {
        chain->st = ST_NOMEM;
        return false;
    }
    *items = bigger;
    *cap = more;
    return true;
}

static void close_block(struct sim_chain *chain)
{
    chain->partial_count = 0;
    uint64_t hash = hash_bytes(chain->partial, sizeof(chain->partial), chain->last_hash);
    chain->last_hash = hash != 0 ? hash : 1;
    size_t cap = chain->hash_cap;
    void *items = chain->hashes;
    if (grow(chain, &items, &cap, chain->hash_count, sizeof(*chain->hashes))) {
        chain->hashes = items;
        chain->hash_cap = (uint32_t)cap;
        chain->hashes[chain->hash_count++] = chain->last_hash;
    }
}

static void add_token(struct sim_chain *chain, uint32_t token)
{
    uint64_t at = chain->token_count++;
    if (at >= chain->max_tokens || chain->st != ST_OK) {
        return;
    }
    if (chain->keeps_tokens) {
        void *items = chain->tokens;
        if (!grow(chain, &items, &chain->token_cap, at, sizeof(*chain->tokens))) {
            return;
        }
        chain->tokens = items;
        chain->tokens[at] = token;
    }
    chain->partial[chain->partial_count++] = token;
    if (chain->partial_count == SIM_BLOCK_TOKENS) {
        close_block(chain);
    }
}

size_t sim_token_len(struct str text)
{
    if (text.len <= SIM_TOKEN_BYTES) {
        return text.len;
    }
    size_t len = SIM_TOKEN_BYTES;
    while (len > 1 && ((unsigned char)text.p[len] & 0xC0) == 0x80) {
        len--;
    }
    return len;
}

uint64_t sim_token_count(struct str text)
{
    uint64_t count = 0;
    while (text.len > 0) {
        size_t len = sim_token_len(text);
        text.p += len;
        text.len -= len;
        count++;
    }
    return count;
}

void sim_chain_text(struct sim_chain *chain, struct str text)
{
    while (text.len > 0) {
        size_t len = sim_token_len(text);
        uint32_t token = 0;
        for (size_t i = 0; i < len; i++) {
            token |= (uint32_t)(unsigned char)text.p[i] << (8 * i);
        }
        add_token(chain, token);
        text.p += len;
        text.len -= len;
    }
}

void sim_chain_mark(struct sim_chain *chain, enum sim_mark mark, struct str detail)
{
    /* 0xFF starts no UTF-8 text, so the lowest byte tells marks from text. */
    uint32_t name = (uint32_t)hash_str(detail, (uint64_t)mark);
    add_token(chain, name << 8 | 0xFF);
}

uint64_t sim_chain_digest(const struct sim_chain *chain)
{
    return hash_bytes(chain->partial, chain->partial_count * sizeof(chain->partial[0]),
                      hash_mix(chain->last_hash, chain->partial_count));
}
