/* SPDX-License-Identifier: Apache-2.0 */
/* Whose request is it? One normaliser for every known schema (identity.def): what was found in
 * headers and body goes in as values, one struct comes out. Schemas are never mixed.
 * PURE. THREAD: any. OWNERSHIP: texts are borrowed from the caller, composed ones live in the
 * struct. LIMITS: COORD_SESSION_MAX bytes per id, COORD_IDENTITY_VALUES values of one request. */
#ifndef COORDINATOR_CORE_IDENTITY_H
#define COORDINATOR_CORE_IDENTITY_H

#include "common/base/err.h"
#include "coordinator/core/event.h"

enum coord_schema {
#define SCHEMA(id, text) COORD_SCHEMA_##id,
#include "coordinator/core/identity.def"
};

enum {
    COORD_SCHEMAS = 0
#define SCHEMA(id, text) +1
#include "coordinator/core/identity.def"
};

/* What a field says. */
enum coord_identity_gives {
    COORD_GIVES_SESSION,
    COORD_GIVES_PARENT,
    COORD_GIVES_AGENT,
    COORD_GIVES_PARENT_AGENT,
    COORD_GIVES_CLASS,
    COORD_GIVES_STEP,
    COORD_GIVES_PRIORITY,
    COORD_GIVES_OUTPUT_TOKENS,
    COORD_GIVES_DEADLINE_S,
    COORD_GIVES_RETENTION_S,
    COORD_GIVES_IS_FINAL,
    COORD_GIVES_EXPECTS_RESUME,
};

enum { COORD_GIVES_COUNT = COORD_GIVES_EXPECTS_RESUME + 1 };

enum coord_identity_where {
    COORD_IN_HEADER,
    COORD_IN_HEADER_JSON,
    COORD_IN_BODY,
    COORD_IN_BODY_SOFT,
};

/* One line of the table. */
struct coord_identity_row {
    struct str name; /* of a header, lower case, or path in the body */
    struct str path; /* COORD_IN_HEADER_JSON: of the member */
    enum coord_schema schema;
    enum coord_identity_gives gives;
    enum coord_identity_where where;
};

enum coord_identity_type {
    COORD_VALUE_TEXT,
    COORD_VALUE_NUMBER, /* its spelling */
    COORD_VALUE_BOOL,   /* "true" or "false" */
    COORD_VALUE_BROKEN, /* of a type that cannot be read here */
};

struct coord_identity_value {
    struct str name; /* of the field, for people */
    struct str text;
    enum coord_schema schema;
    enum coord_identity_gives gives;
    enum coord_identity_type type;
};

enum { COORD_IDENTITY_VALUES = 64, COORD_IDENTITY_JSON_BYTES = 16384 };

/* Everything one request says about itself. */
struct coord_identity_input {
    struct coord_identity_value values[COORD_IDENTITY_VALUES]; /* [count] */
    uint32_t count;
    uint64_t named;          /* bit per schema that names a session */
    bool has_session_header; /* x-session-id was sent, whatever it holds */
    bool is_over;            /* more values than there is room for */
};

struct coord_identity {
    const char *schema; /* which one won, static; "" = none: infer */
    struct str session; /* "" = none */
    struct str parent;  /* session it was started by; "" = a root */
    struct str branch;  /* of the session named, "" = its root; then session is ID/branch */
    struct coord_hints hints;
    char texts[2][COORD_SESSION_MAX]; /* composed session and parent */
};

/* The table, [*ret_count], header fields first. */
const struct coord_identity_row *coord_identity_rows(size_t *ret_count);

/* Begins anew. */
static inline void coord_identity_clear(struct coord_identity_input *input)
{
    input->count = 0;
    input->named = 0;
    input->has_session_header = false;
    input->is_over = false;
}

/* Notes a value. Blank texts say nothing, and neither does AIBrix's base64 of an engine's address.
 */
void coord_identity_add(struct coord_identity_input *input,
                        const struct coord_identity_value *value);

/* Notes a header field if it is one of the table, of extra[extra_count] (names in any case), or
 * x-*-session-id. True: it holds JSON, whose members the caller has to add (COORD_IN_HEADER_JSON).
 */
bool coord_identity_header(struct coord_identity_input *input,
                           const char *const *extra,
                           size_t extra_count,
                           struct str name,
                           struct str value);

/* Decides. skips_invalid: a schema with a bad field is as if it had not been sent. ST_OK (also when
 * nothing was said), or ST_INVAL: too long, not UTF-8, control characters, a wrong type or range,
 * or two values for one field; err names the field and *ret means nothing. */
MUST_CHECK enum status coord_identity_resolve(const struct coord_identity_input *input,
                                              bool skips_invalid,
                                              struct coord_identity *ret,
                                              struct err *err);

/* Is this header field for routers only? */
bool coord_identity_keeps_out(struct str name);

#endif
