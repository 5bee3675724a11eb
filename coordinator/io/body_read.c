/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/body_read.h"

enum {
    BODY_SLACK_BYTES = 67108864, /* a parse may take this much and */
    BODY_SLACK_RATIO = 4, /* so many times the body; more is a body of nothing but brackets */
};

static unsigned hex_value(const char *p)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 0x10000;
        value = value * 16 + digit;
    }
    return value;
}

static bool is_unit(const char *p, size_t left, unsigned from)
{
    return left >= 6 && p[0] == '\\' && p[1] == 'u' && (hex_value(p + 2) & ~0x3FFU) == from;
}

/* An escape of half a character (\ud83d alone) is valid JSON text that some clients send and
 * engines take; the reader refuses it. Our copy gets a private-use character of the same length
 * instead: \uD800..DFFF becomes \uE000..E7FF. */
static bool mend_surrogates(char *text, size_t len)
{
    bool is_changed = false;
    size_t at = 0;
    while (at < len) {
        char *slash = memchr(text + at, '\\', len - at);
        if (slash == NULL) {
            break;
        }
        at = (size_t)(slash - text);
        if (is_unit(slash, len - at, 0xD800) && is_unit(slash + 6, len - at - 6, 0xDC00)) {
            at += 12;
        } else if (is_unit(slash, len - at, 0xD800) || is_unit(slash, len - at, 0xDC00)) {
            slash[2] = 'e';
            slash[3] = (char)('0' + ((hex_value(slash + 2) >> 8) & 7));
            is_changed = true;
            at += 6;
        } else {
            at += 2;
        }
    }
    return is_changed;
}

static yyjson_doc *read_mended(struct scratch *scratch, struct str body, yyjson_read_err *why)
{
    yyjson_alc alc = scratch_yyjson(scratch);
    char *copy = scratch_alloc(scratch, body.len + YYJSON_PADDING_SIZE);
    if (copy == NULL) {
        why->code = YYJSON_READ_ERROR_MEMORY_ALLOCATION;
        return NULL;
    }
    memcpy(copy, body.p, body.len);
    memset(copy + body.len, 0, YYJSON_PADDING_SIZE);
    if (!mend_surrogates(copy, body.len)) {
        return NULL;
    }
    return yyjson_read_opts(copy, body.len, YYJSON_READ_NUMBER_AS_RAW | YYJSON_READ_INSITU, &alc,
                            why);
}

enum status body_read(struct scratch *scratch, struct str body, yyjson_val **ret, struct err *err)
{
    size_t want_bytes = body.len + YYJSON_PADDING_SIZE + (body.len / 6 + 64) * sizeof(yyjson_val);
    if (body.len == 0) {
        return err_set(err, ST_INVAL, "the body is empty");
    }
    if (body.len > SIZE_MAX / 16) {
        return err_set(err, ST_TOOBIG, "the body is too long to be parsed");
    }
    if (scratch_begin(scratch, want_bytes, body.len * BODY_SLACK_RATIO + BODY_SLACK_BYTES) !=
        ST_OK) {
        return err_set(err, ST_NOMEM, "no memory to parse the body");
    }
    yyjson_alc alc = scratch_yyjson(scratch);
    yyjson_read_err why = {.code = YYJSON_READ_SUCCESS};
    /* Without YYJSON_READ_INSITU the text is not written to. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)body.p, body.len,
                                       YYJSON_READ_NUMBER_AS_RAW, &alc, &why);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_INVALID_STRING) {
        doc = read_mended(scratch, body, &why);
    }
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return scratch->is_over ? err_set(err, ST_TOOBIG, "the body holds too many JSON values")
                                : err_set(err, ST_NOMEM, "no memory to parse the body");
    }
    if (doc == NULL) {
        return err_set(err, ST_INVAL, "the body is not valid JSON: %s at byte %zu",
                       why.msg != NULL ? why.msg : "error", why.pos);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root)) {
        return err_set(err, ST_INVAL, "the body must be a JSON object");
    }
    *ret = root;
    return ST_OK;
}
