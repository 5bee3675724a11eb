/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/sketch.h"

#include "common/base/hash.h"

#include <math.h>

enum {
    LANE_MAX = 255,      /* hashes that eight bits can count */
    WORD_BYTES = 64,     /* of a word are read; the rest is left out */
    HEX_ID_BYTES = 7,    /* as short as the id of a commit */
    ID_CHANGES = 4,      /* so often an id goes from letters to digits or back */
    EXTENSION_BYTES = 5, /* of a file's name */
};

/* Shares of text and tools: their squares add up to 1. */
#define WORDS_WEIGHT 0.8
#define NAMES_WEIGHT 0.6

/* --- sums --- */

static void flush(struct sketch_sum *sum)
{
    for (uint32_t i = 0; i < SKETCH_BITS; i++) {
        sum->ones[i] += (uint32_t)(sum->lanes[i / 8] >> (i % 8 * 8)) & 0xFF;
    }
    memset(sum->lanes, 0, sizeof(sum->lanes));
    sum->lane_count = 0;
}

static void add(struct sketch_sum *sum, uint64_t hash)
{
    if (sum->lane_count == LANE_MAX) {
        flush(sum);
    }
    for (uint32_t i = 0; i < 8; i++) {
        /* The bits of a byte, spread to the lowest bit of a byte each, last one first. */
        uint64_t byte = hash >> (8 * i) & 0xFF;
        sum->lanes[i] += byte * UINT64_C(0x8040201008040201) >> 7 & UINT64_C(0x0101010101010101);
    }
    sum->first = sum->count == 0 ? hash : sum->first;
    sum->lane_count++;
    sum->count++;
}

/* Projection on one bit's axis of the hashes' sum, which has length 1 then. */
static double bit_of(const struct sketch_sum *sum, uint32_t bit)
{
    if (sum->count == 0) {
        return 0;
    }
    bool is_first_set = (sum->first >> (bit / 8 * 8 + 7 - bit % 8) & 1) != 0;
    double excess = 2.0 * sum->ones[bit] - sum->count + (is_first_set ? 0.5 : -0.5);
    return excess / sqrt((double)sum->count);
}

/* --- words --- */

enum kind { KIND_OTHER, KIND_LETTER, KIND_DIGIT };

/* A word as it counts, and what it is made of. */
struct word {
    char text[WORD_BYTES]; /* in small letters, each number one sign; cut */
    size_t len;
    uint32_t letters, digits, changes; /* changes: from letter to digit or back */
    uint32_t slashes, backslashes, ats;
    bool is_hex; /* nothing but hex digits and dashes */
    size_t dot;  /* offset of the last one in what was read, 0 = none inside */
};

static bool is_small_letter(unsigned char low)
{
    return (unsigned char)(low - 'a') < 26;
}

/* Bytes of other alphabets are letters. */
static enum kind kind_of(unsigned char c)
{
    if (is_small_letter(c | 0x20) || c >= 0x80) {
        return KIND_LETTER;
    }
    return (unsigned char)(c - '0') < 10 ? KIND_DIGIT : KIND_OTHER;
}

static void note_sign(struct word *word, char c, size_t at)
{
    word->is_hex = word->is_hex && c == '-';
    word->slashes += c == '/' ? 1 : 0;
    word->backslashes += c == '\\' ? 1 : 0;
    word->ats += c == '@' ? 1 : 0;
    word->dot = c == '.' ? at : word->dot;
}

/* Most words are letters only. False when this one is not; only text and len are written. */
static bool read_plain(struct str raw, struct word *word)
{
    if (raw.len > WORD_BYTES) {
        return false;
    }
    for (size_t i = 0; i < raw.len; i++) {
        unsigned char low = (unsigned char)raw.p[i] | 0x20;
        if (!is_small_letter(low)) {
            return false;
        }
        word->text[i] = (char)low;
    }
    word->len = raw.len;
    return true;
}

static void read_word(struct str raw, struct word *word)
{
    enum kind last = KIND_OTHER;
    word->len = 0;
    word->letters = word->digits = word->changes = 0;
    word->slashes = word->backslashes = word->ats = 0;
    word->is_hex = true;
    word->dot = 0;
    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.p[i];
        enum kind kind = kind_of((unsigned char)c);
        bool is_counted = kind != KIND_DIGIT || word->len == 0 || word->text[word->len - 1] != '#';
        word->letters += kind == KIND_LETTER ? 1 : 0;
        word->digits += kind == KIND_DIGIT ? 1 : 0;
        if (kind == KIND_LETTER) {
            char low = (char)(c | 0x20);
            bool is_ascii = is_small_letter((unsigned char)low);
            word->is_hex = word->is_hex && is_ascii && low <= 'f';
            if (is_ascii) {
                c = low;
            }
        } else if (kind == KIND_OTHER) {
            note_sign(word, c, i);
        }
        if (kind != KIND_OTHER) {
            word->changes += last != KIND_OTHER && kind != last ? 1 : 0;
            last = kind;
        }
        if (is_counted && word->len < WORD_BYTES) {
            if (kind == KIND_DIGIT) {
                c = '#';
            }
            word->text[word->len++] = c;
        }
    }
}

#define START(a, b, c) ((uint32_t)(a) << 16 | (uint32_t)(b) << 8 | (uint32_t)(c))

/* Months and days of the week, whole or by their first three letters. */
static bool is_calendar(const struct word *word)
{
    static const struct {
        uint32_t start;
        struct str rest;
    } names[] = {
        {START('j', 'a', 'n'), STR("uary")},   {START('f', 'e', 'b'), STR("ruary")},
        {START('m', 'a', 'r'), STR("ch")},     {START('a', 'p', 'r'), STR("il")},
        {START('m', 'a', 'y'), STR("")},       {START('j', 'u', 'n'), STR("e")},
        {START('j', 'u', 'l'), STR("y")},      {START('a', 'u', 'g'), STR("ust")},
        {START('s', 'e', 'p'), STR("tember")}, {START('o', 'c', 't'), STR("ober")},
        {START('n', 'o', 'v'), STR("ember")},  {START('d', 'e', 'c'), STR("ember")},
        {START('m', 'o', 'n'), STR("day")},    {START('t', 'u', 'e'), STR("sday")},
        {START('w', 'e', 'd'), STR("nesday")}, {START('t', 'h', 'u'), STR("rsday")},
        {START('f', 'r', 'i'), STR("day")},    {START('s', 'a', 't'), STR("urday")},
        {START('s', 'u', 'n'), STR("day")},
    };
    if (word->len < 3) {
        return false;
    }
    uint32_t start = START((unsigned char)word->text[0], (unsigned char)word->text[1],
                           (unsigned char)word->text[2]);
    struct str rest = {word->text + 3, word->len - 3};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].start == start) {
            return rest.len == 0 || str_eq(rest, names[i].rest);
        }
    }
    return false;
}

/* Does it tell where, when or which one, rather than what kind of agent? Paths and names of files,
 * addresses, numbers, ids. bytes: how long it is. */
static bool is_particular(const struct word *word, size_t bytes)
{
    size_t extension = word->dot > 0 ? bytes - word->dot - 1 : 0;
    bool is_file = extension > 0 && extension <= EXTENSION_BYTES;
    bool is_path = word->backslashes > 0 || word->slashes > 1 || (word->slashes == 1 && is_file);
    bool is_id =
        (word->is_hex && word->digits > 0 && bytes >= HEX_ID_BYTES) || word->changes >= ID_CHANGES;
    return word->letters == 0 || is_path || is_file || is_id || word->ats > 0;
}

/* Without what is no letter or digit at both ends. */
static struct str strip(struct str word)
{
    while (word.len > 0 && kind_of((unsigned char)word.p[word.len - 1]) == KIND_OTHER) {
        word.len--;
    }
    while (word.len > 0 && kind_of((unsigned char)word.p[0]) == KIND_OTHER) {
        word.p++;
        word.len--;
    }
    return word;
}

static void add_word(struct sketch *sketch, struct str raw)
{
    struct word word;
    bool is_rooted = raw.len > 1 && (raw.p[0] == '/' || raw.p[0] == '~');
    struct str bare = strip(raw);
    if (bare.len == 0 || is_rooted) {
        return;
    }
    if (!read_plain(bare, &word)) {
        read_word(bare, &word);
        if (is_particular(&word, bare.len)) {
            return;
        }
    }
    if (is_calendar(&word)) {
        return;
    }
    uint64_t hash = hash_bytes(word.text, word.len, 0);
    add(&sketch->words, hash_mix(sketch->last_word, hash));
    sketch->last_word = hash;
}

void sketch_begin(struct sketch *sketch)
{
    *sketch = (struct sketch){.text_bytes = 0};
}

void sketch_text(struct sketch *sketch, struct str text)
{
    size_t left = SKETCH_TEXT_BYTES - sketch->text_bytes;
    size_t from = 0;
    text.len = text.len < left ? text.len : left;
    for (size_t at = 0; at <= text.len; at++) {
        if (at == text.len || (unsigned char)text.p[at] <= ' ') {
            add_word(sketch, (struct str){text.p + from, at - from});
            from = at + 1;
        }
    }
    sketch->text_bytes += text.len;
}

void sketch_name(struct sketch *sketch, struct str name)
{
    if (sketch->names.count < SKETCH_NAMES) {
        add(&sketch->names, hash_str(name, 0));
    }
}

uint64_t sketch_end(struct sketch *sketch)
{
    uint64_t ret = 0;
    flush(&sketch->words);
    flush(&sketch->names);
    for (uint32_t bit = 0; bit < SKETCH_BITS; bit++) {
        double sum =
            WORDS_WEIGHT * bit_of(&sketch->words, bit) + NAMES_WEIGHT * bit_of(&sketch->names, bit);
        ret |= (uint64_t)(sum > 0 ? 1 : 0) << bit;
    }
    return ret;
}
