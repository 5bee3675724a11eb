/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/identity.h"

enum {
    NAME_BYTES_MAX = 63,
    SECONDS_MAX = 100000000, /* three years */
    ADDRESS_BYTES_MAX = 96,  /* base64 of ip:port is shorter */
};

/* Header fields first: they are looked up for every field of every request. */
static const struct coord_identity_row rows[] = {
#define HEADER(id, name, gives) \
    {STR(name), {NULL, 0}, COORD_SCHEMA_##id, COORD_GIVES_##gives, COORD_IN_HEADER},
#define HEADER_JSON(id, name, path, gives) \
    {STR(name), STR(path), COORD_SCHEMA_##id, COORD_GIVES_##gives, COORD_IN_HEADER_JSON},
#include "coordinator/core/identity.def"
#define BODY(id, path, gives) \
    {STR(path), {NULL, 0}, COORD_SCHEMA_##id, COORD_GIVES_##gives, COORD_IN_BODY},
#define BODY_SOFT(id, path, gives) \
    {STR(path), {NULL, 0}, COORD_SCHEMA_##id, COORD_GIVES_##gives, COORD_IN_BODY_SOFT},
#include "coordinator/core/identity.def"
};

enum {
    ROWS = sizeof(rows) / sizeof(rows[0]),
    HEADER_ROWS = 0
#define HEADER(id, name, gives)            +1
#define HEADER_JSON(id, name, path, gives) +1
#include "coordinator/core/identity.def"
};

static const char *const schema_texts[] = {
#define SCHEMA(id, text) text,
#include "coordinator/core/identity.def"
};

_Static_assert(COORD_SCHEMAS <= 64, "one bit each");

/* Bit n: a header of the table has n bytes. */
#define HEADER(id, name, gives)            | (1ULL << (sizeof(name) - 1))
#define HEADER_JSON(id, name, path, gives) | (1ULL << (sizeof(name) - 1))
static const uint64_t header_lengths = 0
#include "coordinator/core/identity.def"
    ;

const struct coord_identity_row *coord_identity_rows(size_t *ret_count)
{
    *ret_count = ROWS;
    return rows;
}

/* Most names differ here already. Letters, digits and the marks of a name keep apart. */
static bool is_like(char a, char b)
{
    return (a | 0x20) == (b | 0x20);
}

static bool is_name(struct str name, struct str known)
{
    return name.len == known.len && is_like(name.p[name.len - 1], known.p[known.len - 1]) &&
           is_like(name.p[2], known.p[2]) && str_ieq(name, known);
}

/* --- taking in --- */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Base64 of an IPv4 address and a port: it pins an engine and names no session. */
static bool is_address(struct str text)
{
    unsigned bits = 0;
    int have = 0;
    int dots = 0;
    int colons = 0;
    if (text.len > ADDRESS_BYTES_MAX) {
        return false;
    }
    while (text.len > 0 && text.p[text.len - 1] == '=') {
        text.len--;
    }
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.p[i]);
        if (digit < 0) {
            return false;
        }
        bits = (bits << 6 | (unsigned)digit) & 0xFFFFU;
        have += 6;
        if (have < 8) {
            continue;
        }
        have -= 8;
        char c = (char)(bits >> have & 0x7FU);
        bool is_high = (bits >> have & 0x80U) != 0;
        dots += c == '.' ? 1 : 0;
        colons += c == ':' ? 1 : 0;
        if (is_high || !((c >= '0' && c <= '9') || c == '.' || c == ':')) {
            return false;
        }
    }
    return dots == 3 && colons == 1;
}

static bool may_be_address(enum coord_schema schema)
{
    return schema == COORD_SCHEMA_X_SESSION_ID || schema == COORD_SCHEMA_AIBRIX;
}

void coord_identity_add(struct coord_identity_input *input,
                        const struct coord_identity_value *value)
{
    bool names = value->gives == COORD_GIVES_SESSION;
    if (value->type != COORD_VALUE_BROKEN && str_trim(value->text).len == 0) {
        return;
    }
    if (names && may_be_address(value->schema) && is_address(value->text)) {
        return;
    }
    if (input->count == COORD_IDENTITY_VALUES) {
        input->is_over = true;
        return;
    }
    input->values[input->count++] = *value;
    input->named |= names ? 1ULL << (unsigned)value->schema : 0;
}

static void add_session(struct coord_identity_input *input,
                        enum coord_schema schema,
                        struct str name,
                        struct str value)
{
    const struct coord_identity_value found = {
        .name = name, .text = value, .schema = schema, .gives = COORD_GIVES_SESSION};
    coord_identity_add(input, &found);
}

static bool is_vendor_session(struct str name)
{
    static const struct str tail = {"-session-id", 11};
    return name.len > tail.len + 2 && name.len <= NAME_BYTES_MAX && str_istarts(name, STR("x-")) &&
           str_ieq((struct str){name.p + name.len - tail.len, tail.len}, tail);
}

/* True when the name is in the table. */
static bool
add_rows(struct coord_identity_input *input, struct str name, struct str value, bool *ret_is_json)
{
    bool is_known = false;
    if (name.len > NAME_BYTES_MAX || (header_lengths >> name.len & 1U) == 0) {
        return false;
    }
    for (size_t i = 0; i < HEADER_ROWS; i++) {
        const struct coord_identity_row *row = &rows[i];
        if (!is_name(name, row->name)) {
            continue;
        }
        is_known = true;
        if (row->where == COORD_IN_HEADER_JSON) {
            *ret_is_json = true;
            continue;
        }
        const struct coord_identity_value found = {
            .name = row->name, .text = value, .schema = row->schema, .gives = row->gives};
        coord_identity_add(input, &found);
    }
    return is_known;
}

bool coord_identity_header(struct coord_identity_input *input,
                           const char *const *extra,
                           size_t extra_count,
                           struct str name,
                           struct str value)
{
    bool is_json = false;
    bool is_known = add_rows(input, name, value, &is_json);
    for (size_t i = 0; i < extra_count; i++) {
        if (str_ieq(str_of(extra[i]), name)) {
            is_known = true;
            add_session(input, COORD_SCHEMA_CONFIGURED, name, value);
        }
    }
    if (!is_known && is_vendor_session(name)) {
        add_session(input, COORD_SCHEMA_VENDOR, name, value);
    }
    input->has_session_header = input->has_session_header || str_ieq(name, STR("x-session-id"));
    return is_json;
}

/* --- checking --- */

static enum status
complain(const struct coord_identity_value *value, const char *what, struct err *err)
{
    return err_set(err, ST_INVAL, "`%.*s` %s", (int)value->name.len, value->name.p, what);
}

static enum status check_text(const struct coord_identity_value *value, struct err *err)
{
    struct str text = value->text;
    if (value->type != COORD_VALUE_TEXT) {
        return complain(value, "must be a string in a JSON object", err);
    }
    if (text.len > COORD_SESSION_MAX) {
        return complain(value, "is longer than 256 bytes", err);
    }
    if (!str_is_utf8(text, NULL)) {
        return complain(value, "is not UTF-8", err);
    }
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f) {
            return complain(value, "holds control characters", err);
        }
    }
    return ST_OK;
}

static bool number_of(const struct coord_identity_value *value, double min, double max, double *ret)
{
    bool is_number = (value->type == COORD_VALUE_NUMBER || value->type == COORD_VALUE_TEXT) &&
                     value->text.len <= COORD_SESSION_MAX && str_to_f64(value->text, ret) == ST_OK;
    return is_number && *ret >= min && *ret <= max;
}

static enum status check_bool(const struct coord_identity_value *value, bool *ret, struct err *err)
{
    bool is_yes = str_ieq(value->text, STR("true")) || str_eq(value->text, STR("1"));
    bool is_no = str_ieq(value->text, STR("false")) || str_eq(value->text, STR("0"));
    if (value->type == COORD_VALUE_BROKEN || (!is_yes && !is_no)) {
        return complain(value, "must be true or false", err);
    }
    *ret = is_yes;
    return ST_OK;
}

static enum status
check_hint(const struct coord_identity_value *value, struct coord_hints *hints, struct err *err)
{
    double number = 0;
    switch (value->gives) {
    case COORD_GIVES_PRIORITY:
        if (!number_of(value, INT32_MIN, INT32_MAX, &number)) {
            return complain(value, "must be a number of 32 bits", err);
        }
        hints->priority = (int32_t)number;
        return ST_OK;
    case COORD_GIVES_OUTPUT_TOKENS:
        if (!number_of(value, 0, UINT32_MAX, &number)) {
            return complain(value, "must be a number of tokens", err);
        }
        hints->output_tokens = (uint32_t)number;
        return ST_OK;
    case COORD_GIVES_DEADLINE_S:
    case COORD_GIVES_RETENTION_S:
        if (!number_of(value, 0, SECONDS_MAX, &number)) {
            return complain(value, "must be a number of seconds, at most 100000000", err);
        }
        *(value->gives == COORD_GIVES_DEADLINE_S ? &hints->deadline_us : &hints->retention_us) =
            (uint64_t)(number * 1e6);
        return ST_OK;
    case COORD_GIVES_IS_FINAL:
        return check_bool(value, &hints->is_final, err);
    case COORD_GIVES_EXPECTS_RESUME:
        return check_bool(value, &hints->expects_resume, err);
    case COORD_GIVES_SESSION:
    case COORD_GIVES_PARENT:
    case COORD_GIVES_AGENT:
    case COORD_GIVES_PARENT_AGENT:
    case COORD_GIVES_CLASS:
    case COORD_GIVES_STEP:
        break;
    }
    return check_text(value, err);
}

/* --- deciding --- */

/* A schema's values by what they give; NULL = not sent. */
struct found {
    const struct coord_identity_value *by[COORD_GIVES_COUNT];
};

static enum status collect(const struct coord_identity_input *input,
                           enum coord_schema schema,
                           struct found *found,
                           struct coord_hints *hints,
                           struct err *err)
{
    for (uint32_t i = 0; i < input->count; i++) {
        const struct coord_identity_value *value = &input->values[i];
        if (value->schema != schema) {
            continue;
        }
        enum status st = check_hint(value, hints, err);
        if (st != ST_OK) {
            return st;
        }
        const struct coord_identity_value **first = &found->by[value->gives];
        if (*first == NULL) {
            *first = value;
        } else if (!str_eq((*first)->text, value->text)) {
            return str_ieq((*first)->name, value->name)
                       ? complain(value, "was sent with two values", err)
                       : err_set(err, ST_INVAL, "`%.*s` and `%.*s` contradict each other",
                                 (int)(*first)->name.len, (*first)->name.p, (int)value->name.len,
                                 value->name.p);
        }
    }
    return ST_OK;
}

static struct str text_of(const struct found *found, enum coord_identity_gives gives)
{
    return found->by[gives] == NULL ? STR("") : found->by[gives]->text;
}

/* ID/branch into room[COORD_SESSION_MAX]. */
static enum status compose(struct str id,
                           const struct coord_identity_value *branch,
                           char *room,
                           struct str *ret,
                           struct err *err)
{
    size_t len = id.len + 1 + branch->text.len;
    if (len > COORD_SESSION_MAX) {
        return complain(branch, "is too long: with the session's id more than 256 bytes", err);
    }
    memcpy(room, id.p, id.len);
    room[id.len] = '/';
    memcpy(room + id.len + 1, branch->text.p, branch->text.len);
    *ret = (struct str){room, len};
    return ST_OK;
}

/* A branch: its own session ID/branch, child of the session or of another branch. */
static enum status
branch_off(const struct found *found, struct coord_identity *out, struct err *err)
{
    const struct coord_identity_value *agent = found->by[COORD_GIVES_AGENT];
    const struct coord_identity_value *parent = found->by[COORD_GIVES_PARENT_AGENT];
    struct str id = out->session;
    if (agent == NULL || str_eq(agent->text, id)) {
        return ST_OK;
    }
    out->branch = agent->text;
    out->parent = id;
    enum status st = compose(id, agent, out->texts[0], &out->session, err);
    bool is_of_root =
        parent == NULL || str_eq(parent->text, id) || str_eq(parent->text, agent->text);
    return st == ST_OK && !is_of_root ? compose(id, parent, out->texts[1], &out->parent, err) : st;
}

static enum status use(const struct coord_identity_input *input,
                       enum coord_schema schema,
                       struct coord_identity *out,
                       struct err *err)
{
    struct found found = {{NULL}};
    *out = (struct coord_identity){.schema = schema_texts[schema]};
    enum status st = collect(input, schema, &found, &out->hints, err);
    if (st != ST_OK) {
        return st;
    }
    out->session = text_of(&found, COORD_GIVES_SESSION);
    out->parent = text_of(&found, COORD_GIVES_PARENT);
    out->branch = STR("");
    out->hints.class_hint = text_of(&found, COORD_GIVES_CLASS);
    out->hints.step_hint = text_of(&found, COORD_GIVES_STEP);
    if (str_eq(out->parent, out->session)) {
        out->parent = STR("");
    }
    return branch_off(&found, out, err);
}

static void use_none(struct coord_identity *out)
{
    *out = (struct coord_identity){.schema = "",
                                   .session = STR(""),
                                   .parent = STR(""),
                                   .branch = STR(""),
                                   .hints = {.class_hint = STR(""), .step_hint = STR("")}};
}

enum status coord_identity_resolve(const struct coord_identity_input *input,
                                   bool skips_invalid,
                                   struct coord_identity *ret,
                                   struct err *err)
{
    if (input->is_over && !skips_invalid) {
        return err_set(err, ST_INVAL, "the request says more than %d times who it is from",
                       COORD_IDENTITY_VALUES);
    }
    for (unsigned schema = 0; input->named >> schema != 0; schema++) {
        if ((input->named >> schema & 1U) == 0) {
            continue;
        }
        enum status st = use(input, (enum coord_schema)schema, ret, err);
        if (st == ST_OK || !skips_invalid) {
            return st;
        }
    }
    use_none(ret);
    return ST_OK;
}

/* --- what engines do not see --- */

bool coord_identity_keeps_out(struct str name)
{
    static const struct str names[] = {
#define KEEP_OUT(name) STR(name),
#include "coordinator/core/identity.def"
    };
    static const struct str prefixes[] = {
#define KEEP_OUT_PREFIX(prefix) STR(prefix),
#include "coordinator/core/identity.def"
    };
#define KEEP_OUT(name) | (1ULL << (sizeof(name) - 1))
    static const uint64_t lengths = 0
#include "coordinator/core/identity.def"
        ;
    if (name.len < 4) {
        return false;
    }
    for (size_t i = 0; name.p[1] == '-' && i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (is_like(name.p[2], prefixes[i].p[2]) && is_like(name.p[3], prefixes[i].p[3]) &&
            str_istarts(name, prefixes[i])) {
            return true;
        }
    }
    bool is_length = name.len <= NAME_BYTES_MAX && (lengths >> name.len & 1U) != 0;
    for (size_t i = 0; is_length && i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_name(name, names[i])) {
            return true;
        }
    }
    return false;
}
