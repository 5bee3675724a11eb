/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/identity_read.h"

#include "coordinator/io/body_read.h"

void identity_read_init(struct identity_read *reader, const struct mem *mem)
{
    scratch_init(&reader->scratch, mem);
    identity_read_begin(reader);
}

void identity_read_fini(struct identity_read *reader)
{
    scratch_fini(&reader->scratch);
}

void identity_read_begin(struct identity_read *reader)
{
    coord_identity_clear(&reader->input);
    reader->json_of = NULL;
    reader->json = NULL;
    reader->used_bytes = 0;
}

static struct str keep(struct identity_read *reader, struct str text)
{
    size_t room = sizeof(reader->texts) - reader->used_bytes;
    size_t len = text.len < IDENTITY_TEXT_BYTES ? text.len : IDENTITY_TEXT_BYTES;
    len = len < room ? len : room; /* the value is one too many then, and refused as such */
    char *p = reader->texts + reader->used_bytes;
    if (len > 0) {
        memcpy(p, text.p, len);
    }
    reader->used_bytes += len;
    return (struct str){p, len};
}

static void add_value(struct identity_read *reader,
                      const struct coord_identity_row *row,
                      enum coord_identity_type type,
                      struct str text)
{
    size_t used_bytes = reader->used_bytes;
    uint32_t count = reader->input.count;
    const struct coord_identity_value found = {
        .name = row->name,
        .text = keep(reader, text),
        .schema = row->schema,
        .gives = row->gives,
        .type = type,
    };
    coord_identity_add(&reader->input, &found);
    if (reader->input.count == count) {
        reader->used_bytes = used_bytes; /* it said nothing */
    }
}

/* A member has been found. Soft ones say nothing unless they are texts. */
static void
take(struct identity_read *reader, const struct coord_identity_row *row, yyjson_val *val)
{
    if (yyjson_is_str(val)) {
        add_value(reader, row, COORD_VALUE_TEXT,
                  (struct str){yyjson_get_str(val), yyjson_get_len(val)});
    } else if (yyjson_is_null(val) ||
               (row->where == COORD_IN_BODY_SOFT && row->gives <= COORD_GIVES_STEP)) {
        return;
    } else if (yyjson_is_raw(val)) {
        add_value(reader, row, COORD_VALUE_NUMBER,
                  (struct str){yyjson_get_raw(val), yyjson_get_len(val)});
    } else if (yyjson_is_bool(val)) {
        add_value(reader, row, COORD_VALUE_BOOL, yyjson_is_true(val) ? STR("true") : STR("false"));
    } else if (row->where != COORD_IN_BODY_SOFT) {
        add_value(reader, row, COORD_VALUE_BROKEN, STR(""));
    }
}

/* The JSON object that a text holds, or NULL. Lives until the next text is read. */
static yyjson_val *read_text(struct identity_read *reader, struct str text)
{
    yyjson_val *root = NULL;
    scratch_end(&reader->scratch);
    bool is_object = text.len > 0 && text.len <= COORD_IDENTITY_JSON_BYTES && text.p[0] == '{';
    return is_object && body_read(&reader->scratch, text, &root, NULL) == ST_OK ? root : NULL;
}

/* The object whose members a path goes on with: the value itself, or what its text holds. */
static yyjson_val *object_of(struct identity_read *reader, yyjson_val *val)
{
    if (!yyjson_is_str(val)) {
        return yyjson_is_obj(val) ? val : NULL;
    }
    if (reader->json_of != val) {
        reader->json_of = val;
        reader->json = read_text(reader, (struct str){yyjson_get_str(val), yyjson_get_len(val)});
    }
    return reader->json;
}

/* All members of that name: two that differ contradict each other. */
static void take_members(struct identity_read *reader,
                         const struct coord_identity_row *row,
                         yyjson_val *obj,
                         struct str name)
{
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *val = NULL;
    yyjson_obj_foreach(obj, i, count, key, val)
    {
        if (yyjson_equals_strn(key, name.p, name.len)) {
            take(reader, row, val);
        }
    }
}

/* Follows what is left of a row's path from a value. */
static void follow(struct identity_read *reader,
                   const struct coord_identity_row *row,
                   struct str rest,
                   yyjson_val *val)
{
    struct str name = rest;
    while (str_split(&rest, '.', &name)) {
        if (val == NULL || yyjson_is_null(val)) {
            return;
        }
        yyjson_val *obj = object_of(reader, val);
        if (obj == NULL) { /* the session of a schema that cannot be read */
            if (row->where == COORD_IN_BODY && row->gives == COORD_GIVES_SESSION) {
                add_value(reader, row, COORD_VALUE_BROKEN, STR(""));
            }
            return;
        }
        if (rest.p == NULL || rest.len == 0) {
            take_members(reader, row, obj, name);
            return;
        }
        val = yyjson_obj_getn(obj, name.p, name.len);
    }
}

void identity_read_member(struct identity_read *reader, struct str name, yyjson_val *val)
{
    size_t count = 0;
    const struct coord_identity_row *rows = coord_identity_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const struct coord_identity_row *row = &rows[i];
        if (row->where < COORD_IN_BODY || !str_starts(row->name, name)) {
            continue;
        }
        if (row->name.len == name.len) {
            take(reader, row, val);
        } else if (row->name.p[name.len] == '.') {
            struct str rest = {row->name.p + name.len + 1, row->name.len - name.len - 1};
            follow(reader, row, rest, val);
        }
    }
}

static void read_json_header(struct identity_read *reader, struct str name, struct str value)
{
    size_t count = 0;
    const struct coord_identity_row *rows = coord_identity_rows(&count);
    reader->json_of = NULL;
    yyjson_val *obj = read_text(reader, value);
    for (size_t i = 0; i < count; i++) {
        const struct coord_identity_row *row = &rows[i];
        if (row->where != COORD_IN_HEADER_JSON || !str_ieq(row->name, name)) {
            continue;
        }
        if (obj != NULL) {
            take_members(reader, row, obj, row->path);
        } else if (value.len > 0) {
            add_value(reader, row, COORD_VALUE_BROKEN, STR(""));
        }
    }
}

void identity_read_header(struct identity_read *reader,
                          const char *const *extra,
                          size_t extra_count,
                          struct str name,
                          struct str value)
{
    if (coord_identity_header(&reader->input, extra, extra_count, name, value)) {
        read_json_header(reader, name, value);
    }
}
