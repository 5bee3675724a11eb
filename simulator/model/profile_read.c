/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/profile_read.h"

#include <stddef.h>

enum field_kind { FIELD_NAME, FIELD_TEXT, FIELD_F64, FIELD_U32, FIELD_U64 };

struct field {
    const char *key;
    enum field_kind kind;
    size_t offset; /* in struct sim_profile */
    double min;
    double max;
    const char *comment;
};

#define FIELD(kind, member, min, max, comment)                                 \
    {                                                                          \
#member, kind, offsetof(struct sim_profile, member), min, max, comment \
    }
/* The longest that a constant may be: no engine takes an hour for an iteration, nor a second for a
 * token or a request. */
#define ITERATION_S_MAX 3600.0
#define TOKENS_MAX      1e9

static const struct field fields[] = {
    FIELD(FIELD_NAME, name, 0, 0, "1 to 63 of A-Z a-z 0-9 . _ -"),
    FIELD(FIELD_TEXT, text, 0, 0, "one line for people"),
    FIELD(FIELD_F64, a_s, 0, ITERATION_S_MAX, "fixed cost of an iteration"),
    FIELD(FIELD_F64, b_s_per_token, 0, 1, "compute per new token"),
    FIELD(FIELD_F64, d_s_per_pair, 0, 1, "attention of a new token to one earlier token"),
    FIELD(FIELD_F64, f_s, 0, ITERATION_S_MAX, "least time of an iteration"),
    FIELD(FIELD_F64, g_s_per_request, 0, 1, "per decoding request"),
    FIELD(FIELD_F64, h_s_per_token, 0, 1, "reading the KV of one context token"),
    FIELD(FIELD_U64, kv_bytes_per_token, 0, 1e9, "for tiers and moves; no effect on time"),
    FIELD(FIELD_U32, kv_tokens, 16, TOKENS_MAX, "KV memory of one engine"),
    FIELD(FIELD_U32, max_running, 1, 65536, "requests in a batch"),
    FIELD(FIELD_U32, budget_tokens, 1, 1 << 20, "tokens of one iteration; the prefill chunk"),
    FIELD(FIELD_U32, context_tokens, 2, TOKENS_MAX, "longest prompt and answer together"),
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

static enum status
write_word(struct sim_profile *profile, const struct field *field, struct str value)
{
    bool is_name = field->kind == FIELD_NAME;
    size_t cap = is_name ? sizeof(profile->name) : sizeof(profile->text);
    if (value.len >= cap || (is_name && value.len == 0) || !str_is_utf8(value, NULL)) {
        return ST_INVAL;
    }
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
        if (is_name ? !is_word : c < ' ' || c == '"' || c == 127) {
            return ST_INVAL;
        }
    }
    (void)str_copy((char *)profile + field->offset, cap, value);
    return ST_OK;
}

static enum status
write_number(struct sim_profile *profile, const struct field *field, struct str value)
{
    char *at = (char *)profile + field->offset;
    uint64_t whole = 0;
    double number = 0;
    enum status st =
        field->kind == FIELD_F64 ? str_to_f64(value, &number) : str_to_u64(value, &whole);
    number = field->kind == FIELD_F64 ? number : (double)whole;
    if (st != ST_OK || !(number >= field->min && number <= field->max)) {
        return ST_INVAL;
    }
    if (field->kind == FIELD_F64) {
        memcpy(at, &number, sizeof(number));
    } else if (field->kind == FIELD_U64) {
        memcpy(at, &whole, sizeof(whole));
    } else {
        uint32_t small = (uint32_t)whole;
        memcpy(at, &small, sizeof(small));
    }
    return ST_OK;
}

static enum status refuse(const struct field *field, uint32_t line, struct err *err)
{
    switch (field->kind) {
    case FIELD_NAME:
        return err_set(err, ST_INVAL, "line %u: %s: must be %s", line, field->key, field->comment);
    case FIELD_TEXT:
        return err_set(err, ST_INVAL, "line %u: %s: must be at most %d bytes of text without \"",
                       line, field->key, SIM_PROFILE_TEXT_BYTES - 1);
    case FIELD_F64:
    case FIELD_U32:
    case FIELD_U64:
        break;
    }
    return err_set(err, ST_INVAL, "line %u: %s: must be a%s number from %g to %g", line, field->key,
                   field->kind == FIELD_F64 ? "" : " whole", field->min, field->max);
}

/* The value without its comment and its quotes. False: quotes without an end, or text behind it. */
static bool cut_value(struct str rest, struct str *ret)
{
    struct str value = str_trim(rest);
    if (value.len > 0 && (value.p[0] == '"' || value.p[0] == '\'')) {
        const char *end = memchr(value.p + 1, value.p[0], value.len - 1);
        if (end == NULL) {
            return false;
        }
        struct str behind =
            str_trim((struct str){end + 1, (size_t)(value.p + value.len - end - 1)});
        *ret = (struct str){value.p + 1, (size_t)(end - value.p - 1)};
        return behind.len == 0 || (behind.p[0] == '#' && behind.p > end + 1);
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.p[i] == '#' && (i == 0 || value.p[i - 1] == ' ' || value.p[i - 1] == '\t')) {
            value.len = i;
        }
    }
    *ret = str_trim(value);
    return true;
}

struct reader {
    struct sim_profile profile;
    uint32_t lines[FIELD_COUNT]; /* where each key is, 0 = not seen */
    uint32_t line;
};

static enum status read_line(struct reader *reader, struct str line, struct err *err)
{
    struct str rest = line;
    struct str key = STR("");
    struct str value = STR("");
    struct str bare = str_trim(line);
    if (bare.len == 0 || bare.p[0] == '#' || (reader->line == 1 && str_eq(bare, STR("---")))) {
        return ST_OK;
    }
    bool has_colon = memchr(line.p, ':', line.len) != NULL;
    if (bare.p != line.p || !has_colon || !str_split(&rest, ':', &key) ||
        (rest.len > 0 && rest.p[0] != ' ' && rest.p[0] != '\t') || !cut_value(rest, &value)) {
        return err_set(err, ST_INVAL, "line %u: must be \"key: value\", not indented",
                       reader->line);
    }
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *field = &fields[i];
        if (!str_eq(key, str_of(field->key))) {
            continue;
        }
        if (reader->lines[i] != 0) {
            return err_set(err, ST_INVAL, "line %u: %s is in line %u already", reader->line,
                           field->key, reader->lines[i]);
        }
        reader->lines[i] = reader->line;
        bool is_word = field->kind == FIELD_NAME || field->kind == FIELD_TEXT;
        enum status st = is_word ? write_word(&reader->profile, field, value)
                                 : write_number(&reader->profile, field, value);
        return st == ST_OK ? ST_OK : refuse(field, reader->line, err);
    }
    return err_set(err, ST_INVAL, "line %u: no key \"%.*s\"; see saga sim profile show default",
                   reader->line, key.len < 64 ? (int)key.len : 64, key.p);
}

enum status sim_profile_read(struct str text, struct sim_profile *ret, struct err *err)
{
    struct reader reader = {0};
    struct str line = STR("");
    if (text.len > SIM_PROFILE_TEXT_MAX) {
        return err_set(err, ST_TOOBIG, "more than %d bytes", SIM_PROFILE_TEXT_MAX);
    }
    while (str_split(&text, '\n', &line)) {
        reader.line++;
        line.len -= line.len > 0 && line.p[line.len - 1] == '\r';
        enum status st = read_line(&reader, line, err);
        if (st != ST_OK) {
            return st;
        }
    }
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        if (reader.lines[i] == 0 && fields[i].kind != FIELD_TEXT) {
            return err_set(err, ST_INVAL, "%s is missing: %s", fields[i].key, fields[i].comment);
        }
    }
    *ret = reader.profile;
    return ST_OK;
}

enum status sim_profile_check(const struct sim_profile *profile, struct err *err)
{
    if (sim_profile_find(str_of(profile->name)) != NULL) {
        return err_set(err, ST_INVAL, "name: %s is a built-in profile; choose another",
                       profile->name);
    }
    if (profile->f_s < profile->a_s || !(profile->f_s > 0)) {
        return err_set(err, ST_INVAL, "f_s: must be above 0 and at least a_s");
    }
    if (profile->budget_tokens < profile->max_running) {
        return err_set(err, ST_INVAL, "budget_tokens: must be at least max_running, %u",
                       profile->max_running);
    }
    return ST_OK;
}

/* With as few digits as give the same number back. */
static enum status write_f64(double number, struct buf *out)
{
    static const int digits[] = {6, 9, 17};
    enum status st = ST_OK;
    for (size_t i = 0; i < sizeof(digits) / sizeof(digits[0]); i++) {
        size_t before = out->len;
        double back = 0;
        st = buf_add_fmt(out, "%.*g", digits[i], number);
        if (st != ST_OK ||
            (str_to_f64((struct str){out->p + before, out->len - before}, &back) == ST_OK &&
             !(back < number) && !(back > number)) ||
            digits[i] == 17) {
            break;
        }
        out->len = before;
    }
    return st;
}

static enum status
write_value(const struct sim_profile *profile, const struct field *field, struct buf *out)
{
    const char *at = (const char *)profile + field->offset;
    uint64_t whole = 0;
    uint32_t small = 0;
    double number = 0;
    switch (field->kind) {
    case FIELD_NAME:
        return buf_add_str(out, str_of(at));
    case FIELD_TEXT:
        return buf_add_fmt(out, "\"%s\"", at);
    case FIELD_F64:
        memcpy(&number, at, sizeof(number));
        return write_f64(number, out);
    case FIELD_U32:
        memcpy(&small, at, sizeof(small));
        return buf_add_fmt(out, "%u", small);
    case FIELD_U64:
        memcpy(&whole, at, sizeof(whole));
        break;
    }
    return buf_add_fmt(out, "%llu", (unsigned long long)whole);
}

enum status sim_profile_write(const struct sim_profile *profile, struct buf *out)
{
    enum status st = ST_OK;
    for (uint32_t i = 0; i < FIELD_COUNT && st == ST_OK; i++) {
        const struct field *field = &fields[i];
        st = buf_add_fmt(out, "%s: ", field->key);
        if (st == ST_OK) {
            st = write_value(profile, field, out);
        }
        if (st == ST_OK) {
            bool is_word = field->kind == FIELD_NAME || field->kind == FIELD_TEXT;
            st =
                is_word ? buf_add_str(out, STR("\n")) : buf_add_fmt(out, " # %s\n", field->comment);
        }
    }
    return st;
}
