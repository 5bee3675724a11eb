/* SPDX-License-Identifier: Apache-2.0 */
/* A similarity hash of a prompt's opening: openings that read alike differ in few bits, others in
 * about half (docs/formulas.md#F11).
 * PURE. THREAD: one owner. LIMITS: the first SKETCH_TEXT_BYTES of text and SKETCH_NAMES names
 * count.
 */
#ifndef COORDINATOR_IO_SKETCH_H
#define COORDINATOR_IO_SKETCH_H

#include "common/base/str.h"

enum { SKETCH_TEXT_BYTES = 8192, SKETCH_NAMES = 256, SKETCH_BITS = 64 };

/* How often each bit was set in the hashes that were added. */
struct sketch_sum {
    uint64_t lanes[8]; /* eight counts of 8 bits each, of the newest hashes */
    uint32_t lane_count;
    uint32_t ones[SKETCH_BITS]; /* of the hashes before */
    uint32_t count;             /* of all */
    uint64_t first;             /* decides where the others cancel out */
};

struct sketch {
    struct sketch_sum words; /* pairs of neighbours */
    struct sketch_sum names; /* of tools */
    uint64_t last_word;      /* hash */
    size_t text_bytes;       /* read so far */
};

void sketch_begin(struct sketch *sketch);
/* A piece of text; it ends a word. */
void sketch_text(struct sketch *sketch, struct str text);
/* A tool; their order does not matter. */
void sketch_name(struct sketch *sketch, struct str name);
/* 0 when nothing was added. */
uint64_t sketch_end(struct sketch *sketch);

#endif
