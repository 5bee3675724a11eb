/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/sse_event.h"

/* Line ends are looked for in windows of this size, so that a stream that uses only one kind of
 * them is not read to its end for the other kind with every line. */
enum { WINDOW_BYTES = 1024 };

/* Offset of the first LF or CR at or after at, or len. */
static size_t find_line_end(const char *data, size_t len, size_t at)
{
    while (at < len) {
        size_t span = len - at < WINDOW_BYTES ? len - at : WINDOW_BYTES;
        const char *lf = memchr(data + at, '\n', span);
        if (lf != NULL) {
            span = (size_t)(lf - (data + at));
        }
        const char *cr = memchr(data + at, '\r', span);
        if (cr != NULL) {
            return (size_t)(cr - data);
        }
        at += span;
        if (lf != NULL) {
            return at;
        }
    }
    return len;
}

size_t sse_scan_event(struct sse_scan *scan, const char *data, size_t len, bool *ret_is_end)
{
    size_t at = 0;
    *ret_is_end = false;
    while (at < len) {
        if (scan->is_after_cr && data[at] == '\n') {
            scan->is_after_cr = false;
            at++;
            continue;
        }
        scan->is_after_cr = false;
        size_t end = find_line_end(data, len, at);
        if (end == len) {
            scan->is_in_line = true;
            return len;
        }
        bool is_empty = end == at && !scan->is_in_line;
        scan->is_in_line = false;
        scan->is_after_cr = data[end] == '\r';
        at = end + 1;
        if (is_empty) {
            if (scan->is_after_cr && at < len && data[at] == '\n') {
                scan->is_after_cr = false;
                at++;
            }
            *ret_is_end = true;
            return at;
        }
    }
    return len;
}

/* Cuts the next line off *rest; false when nothing is left. A CRLF may show up as a line and an
 * empty one. */
static bool next_line(struct str *rest, struct str *ret)
{
    if (rest->len == 0) {
        return false;
    }
    size_t end = find_line_end(rest->p, rest->len, 0);
    *ret = (struct str){rest->p, end};
    size_t skip = end < rest->len ? end + 1 : end;
    rest->p += skip;
    rest->len -= skip;
    return true;
}

/* Value of a line `name: value` (one space after the colon is not part of it). */
static bool field_value(struct str line, struct str name, struct str *ret)
{
    if (!str_starts(line, name)) {
        return false;
    }
    struct str value = {line.p + name.len, line.len - name.len};
    if (value.len > 0 && value.p[0] != ':') {
        return false;
    }
    size_t skip = value.len == 0 ? 0 : value.len > 1 && value.p[1] == ' ' ? 2 : 1;
    *ret = (struct str){value.p + skip, value.len - skip};
    return true;
}

void sse_event_read(struct str event, struct sse_event *ret)
{
    struct str line = STR("");
    struct str value = STR("");
    *ret = (struct sse_event){.name = STR(""), .data = STR("")};
    while (next_line(&event, &line)) {
        if (field_value(line, STR("data"), &value)) {
            if (ret->data_count++ == 0) {
                ret->data = value;
            }
        } else if (field_value(line, STR("event"), &value)) {
            ret->name = value;
        } else if (field_value(line, STR("error"), &value) && ret->data_count == 0) {
            /* Not in the standard: older llama.cpp servers send errors like this. */
            ret->name = STR("error");
            ret->data = value;
            ret->data_count = 1;
        }
    }
}

enum status sse_event_join(struct str event, struct buf *out)
{
    struct str line = STR("");
    struct str value = STR("");
    bool is_first = true;
    while (next_line(&event, &line)) {
        if (!field_value(line, STR("data"), &value)) {
            continue;
        }
        enum status st = is_first ? ST_OK : buf_add_str(out, STR("\n"));
        if (st == ST_OK) {
            st = buf_add_str(out, value);
        }
        if (st != ST_OK) {
            return st;
        }
        is_first = false;
    }
    return ST_OK;
}
