/* SPDX-License-Identifier: Apache-2.0 */
/* Synthetic prompt text: common three-letter words, each behind a blank, so that a word is four
 * bytes and about one token of any tokenizer. Different seeds share no 16-word run. PURE. THREAD:
 * any. */
#ifndef BENCH_REPLAY_TEXT_H
#define BENCH_REPLAY_TEXT_H

#include "common/base/status.h"

/* Bytes of one token of this text. */
enum { TEXT_TOKEN_BYTES = 4 };

/* Writes the first len bytes of the text of this seed (no NUL); a longer text of the same seed
 * begins with a shorter one. */
void text_fill(char *dst, size_t len, uint64_t seed);

#endif
