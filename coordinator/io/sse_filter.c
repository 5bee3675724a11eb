/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/sse.h"

#include "coordinator/io/answer_look.h"

#include <yyjson.h>

enum { HELD_KEPT_BYTES = 4096 /* a buffer up to this size waits for the next cut event */ };

void sse_filter_init(struct sse_filter *filter)
{
    *filter = (struct sse_filter){.is_passing = false};
    buf_init(&filter->held, mem_heap(), SSE_HOLD_MAX);
    sse_shape_init(&filter->shape, mem_heap());
}

void sse_filter_fini(struct sse_filter *filter)
{
    if (filter != NULL) {
        buf_fini(&filter->held);
        sse_shape_fini(&filter->shape);
    }
}

static bool is_usage_json(struct str data)
{
    yyjson_read_flag flags = YYJSON_READ_ALLOW_INVALID_UNICODE | YYJSON_READ_ALLOW_INF_AND_NAN;
    /* Without YYJSON_READ_INSITU the text is not written to. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)data.p, data.len, flags, NULL, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *choices = yyjson_obj_get(root, "choices");
    bool is_usage = yyjson_is_arr(choices) && yyjson_arr_size(choices) == 0 &&
                    yyjson_is_obj(yyjson_obj_get(root, "usage"));
    yyjson_doc_free(doc);
    return is_usage;
}

/* The event that an engine sends because we asked: no choices, only usage. */
static bool is_usage_event(const struct sse_filter *filter, struct str bytes)
{
    /* Nearly every event has no usage, or null for it: no parsing then. */
    if (bytes.len > SSE_HOLD_MAX || !answer_has_member(bytes, STR("\"usage\""))) {
        return false;
    }
    struct sse_event event;
    sse_event_read(bytes, &event);
    if (event.data_count == 1) {
        return is_usage_json(event.data);
    }
    struct buf data;
    buf_init(&data, filter->held.mem, SSE_HOLD_MAX);
    bool is_usage = event.data_count > 1 && sse_event_join(bytes, &data) == ST_OK &&
                    is_usage_json(buf_str(&data));
    buf_fini(&data);
    return is_usage;
}

static void clear_held(struct sse_filter *filter)
{
    filter->held.len = 0;
    if (filter->held.cap > HELD_KEPT_BYTES) {
        buf_fini(&filter->held);
    }
}

/* A whole event: to the client, unless it is the one. */
static enum status judge(struct sse_filter *filter, struct str event, struct buf *out)
{
    if (event.len == 0 || sse_shape_matches(&filter->shape, event)) {
        return buf_add_str(out, event);
    }
    if (is_usage_event(filter, event)) {
        filter->is_cr_taken = event.p[event.len - 1] == '\r';
        return ST_OK;
    }
    sse_shape_learn(&filter->shape, event);
    return buf_add_str(out, event);
}

/* Bytes of an event that goes on after them, or ends with them. */
static enum status
take_part(struct sse_filter *filter, struct str part, bool is_end, struct buf *out)
{
    enum status st = ST_OK;
    if (filter->is_passing) {
        filter->is_passing = !is_end;
        return buf_add_str(out, part);
    }
    if (is_end && filter->held.len == 0) {
        return judge(filter, part, out);
    }
    if (part.len > SSE_HOLD_MAX - filter->held.len) {
        filter->is_passing = !is_end;
        st = buf_add_str(out, buf_str(&filter->held));
        clear_held(filter);
        return st == ST_OK ? buf_add_str(out, part) : st;
    }
    st = buf_add_str(&filter->held, part);
    if (st == ST_OK && is_end) {
        st = judge(filter, buf_str(&filter->held), out);
        clear_held(filter);
    }
    return st;
}

/* An event ended in a CR that was the last byte of a feed: an LF now is still of its line end. */
static enum status take_lf(struct sse_filter *filter, struct buf *out)
{
    enum status st = filter->is_cr_taken ? ST_OK : buf_add(out, "\n", 1);
    filter->scan.is_after_cr = false;
    return st;
}

enum status
sse_filter_feed(struct sse_filter *filter, const char *data, size_t len, struct buf *out)
{
    enum status st = ST_OK;
    while (len > 0 && st == ST_OK) {
        bool is_end = false;
        size_t used = 1;
        bool is_between = filter->held.len == 0 && !filter->is_passing;
        if (is_between && filter->scan.is_after_cr && data[0] == '\n') {
            st = take_lf(filter, out);
        } else {
            filter->is_cr_taken = false;
            used = sse_scan_event(&filter->scan, data, len, &is_end);
            st = take_part(filter, (struct str){data, used}, is_end, out);
        }
        data += used;
        len -= used;
    }
    return st;
}

enum status sse_filter_end(struct sse_filter *filter, struct buf *out)
{
    enum status st = judge(filter, buf_str(&filter->held), out);
    clear_held(filter);
    filter->is_passing = false;
    filter->scan = (struct sse_scan){.is_in_line = false};
    return st;
}
