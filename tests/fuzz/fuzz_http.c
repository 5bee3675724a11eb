/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP byte stream read whole and read in pieces must come to the same. Input: one letter ('a'
 * an answer, 'h' an answer to HEAD, else requests), three bytes that choose the pieces, then the
 * stream. */
#include "tests/unit/common/io/reactor/transcript.h"

#include <stdio.h>
#include <stdlib.h>

enum { PREFIX_BYTES = 4, HEADER_BYTES = 1024, HEADER_COUNT = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void begin(struct transcript *script, uint8_t kind)
{
    transcript_start(script, kind == 'a' || kind == 'h', kind == 'h');
    http_parser_set_limits(&script->parser, HEADER_BYTES, HEADER_COUNT);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

/* Mostly small pieces, some large. */
static size_t piece_len(uint32_t *seed, size_t left)
{
    uint32_t dice = next_random(seed);
    size_t len = 1 + ((dice & 7) == 0 ? next_random(seed) % 512 : dice % 5);
    return len < left ? len : left;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len < PREFIX_BYTES) {
        return 0;
    }
    uint32_t seed = (uint32_t)data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16;
    const char *text = (const char *)data + PREFIX_BYTES;
    size_t text_len = len - PREFIX_BYTES;
    struct transcript whole;
    struct transcript pieces;
    begin(&whole, data[0]);
    begin(&pieces, data[0]);
    transcript_feed(&whole, text, text_len);
    for (size_t at = 0; at < text_len;) {
        size_t piece = piece_len(&seed, text_len - at);
        transcript_feed(&pieces, text + at, piece);
        at += piece;
    }
    transcript_end(&whole);
    transcript_end(&pieces);
    bool is_same = whole.text.len == pieces.text.len &&
                   memcmp(whole.text.p, pieces.text.p, whole.text.len) == 0;
    if (!is_same) {
        fprintf(stderr, "whole:\n%s\npieces:\n%s\n", whole.text.p, pieces.text.p);
        abort();
    }
    transcript_fini(&whole);
    transcript_fini(&pieces);
    return 0;
}
