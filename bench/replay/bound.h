/* SPDX-License-Identifier: Apache-2.0 */
/* What one engine with unlimited KV memory would serve from its prefix cache: every prompt sent is
 * cut into 16-token blocks, hashed as a chain, and compared with all blocks seen before, of any
 * session. PURE. THREAD: one owner. LIMITS: BOUND_BLOCKS_MAX blocks, then is_complete is false. */
#ifndef BENCH_REPLAY_BOUND_H
#define BENCH_REPLAY_BOUND_H

#include "common/base/map.h"
#include "common/base/str.h"

enum { BOUND_BLOCK_TOKENS = 16, BOUND_BLOCKS_MAX = 1 << 25 };

struct bound {
    struct map blocks; /* chain hashes seen */
    bool is_complete;  /* false: the table was full once; what bound_offer returns is too low */
};

void bound_init(struct bound *bound, const struct mem *mem);
void bound_fini(struct bound *bound);

/* Tokens of this prompt that are cached by now, in whole leading blocks (the last token is always
 * computed); then all its whole blocks count as cached. O(length). */
uint32_t bound_offer(struct bound *bound, struct str flat);
/* Only the second half: the answer has been generated, its blocks are cached too. flat: prompt and
 * answer. */
void bound_note(struct bound *bound, struct str flat);

#endif
