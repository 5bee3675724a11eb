/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. a feed holds whole events: each is read where it lies. 2. The rest of an event
 * that is cut is copied and waits for its end in the next feed. Failures: no memory for a part, or
 * an event over SSE_EVENT_MAX: the event is skipped up to its end and counted. */
#include "coordinator/io/sse.h"

#include "coordinator/io/answer.h"

enum { PARTIAL_KEPT_BYTES = 4096 /* a buffer up to this size waits for the next cut event */ };

void sse_reader_init(struct sse_reader *reader, enum coord_route route)
{
    *reader = (struct sse_reader){.route = route};
    answer_facts_init(&reader->facts, mem_heap());
    buf_init(&reader->partial, mem_heap(), SSE_EVENT_MAX);
    sse_shape_init(&reader->shape, mem_heap());
}

void sse_reader_fini(struct sse_reader *reader)
{
    if (reader != NULL) {
        answer_facts_fini(&reader->facts);
        buf_fini(&reader->partial);
        sse_shape_fini(&reader->shape);
    }
}

static void read_joined(struct sse_reader *reader, struct str name, struct str event)
{
    struct buf data;
    buf_init(&data, reader->partial.mem, SSE_EVENT_MAX);
    if (sse_event_join(event, &data) == ST_OK) {
        (void)answer_read_event(reader->route, name, buf_str(&data), &reader->facts);
    } else {
        reader->skipped_count++;
    }
    buf_fini(&data);
}

static struct str strip_mark(struct sse_reader *reader, struct str event)
{
    if (!reader->is_started && str_starts(event, STR("\xEF\xBB\xBF"))) {
        event.p += 3;
        event.len -= 3;
    }
    reader->is_started = true;
    return event;
}

static void read_event(struct sse_reader *reader, struct str bytes)
{
    struct sse_event event;
    if (sse_shape_matches(&reader->shape, bytes)) {
        reader->facts.event_count++;
        return;
    }
    bytes = strip_mark(reader, bytes);
    sse_event_read(bytes, &event);
    if (event.data_count > 1) {
        read_joined(reader, event.name, bytes);
    } else if (str_eq(event.data, STR("[DONE]"))) {
        reader->facts.has_done = true;
    } else if (event.data.len > 0 &&
               answer_read_event(reader->route, event.name, event.data, &reader->facts)) {
        sse_shape_learn(&reader->shape, bytes);
    }
}

/* head: the first SSE_EVENT_MAX bytes, or less when there was no memory for more. */
static void skip_event(struct sse_reader *reader, struct str head)
{
    struct sse_event event;
    sse_event_read(strip_mark(reader, head), &event);
    answer_skip_event(event.name, &reader->facts);
    reader->skipped_count++;
}

/* Bytes of an event that goes on after them, or ends with them. */
static void take_part(struct sse_reader *reader, struct str part, bool is_end)
{
    struct buf *partial = &reader->partial;
    if (!reader->is_skipping && partial->len == 0 && is_end && part.len <= SSE_EVENT_MAX) {
        read_event(reader, part);
        return;
    }
    if (!reader->is_skipping && part.len > 0) {
        size_t room = SSE_EVENT_MAX - partial->len;
        struct str head = {part.p, part.len < room ? part.len : room};
        bool is_kept = buf_add_str(partial, head) == ST_OK;
        if (!is_kept || head.len < part.len) {
            skip_event(reader, partial->len > 0 ? buf_str(partial) : head);
            reader->is_skipping = true;
        }
    }
    if (is_end && !reader->is_skipping) {
        read_event(reader, buf_str(partial));
    }
    if (is_end || reader->is_skipping) {
        partial->len = 0;
        if (partial->cap > PARTIAL_KEPT_BYTES) {
            buf_fini(partial);
        }
    }
    reader->is_skipping = reader->is_skipping && !is_end;
}

void sse_reader_feed(struct sse_reader *reader, const char *data, size_t len)
{
    while (len > 0) {
        bool is_end = false;
        size_t used = sse_scan_event(&reader->scan, data, len, &is_end);
        take_part(reader, (struct str){data, used}, is_end);
        data += used;
        len -= used;
    }
}

void sse_reader_end(struct sse_reader *reader)
{
    if (reader->partial.len > 0) {
        take_part(reader, STR(""), true);
    }
    reader->is_skipping = false;
    reader->scan = (struct sse_scan){.is_in_line = false};
    answer_end_stream(&reader->facts);
}
