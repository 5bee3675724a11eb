/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char event_start[] =
    "data: {\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"
    "\"model\":\"mock\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"";
static const char event_end[] = "\"},\"finish_reason\":null}]}\n\n";
static const char answer_start[] =
    "{\"id\":\"m\",\"object\":\"chat.completion\",\"model\":\"mock\",\"choices\":[{\"index\":0,"
    "\"message\":{\"role\":\"assistant\",\"content\":\"";
static const char answer_end[] =
    "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":9,"
    "\"total_tokens\":18}}";

/* start, the mark with replica and time, padding up to bytes, end. */
static size_t
text_build(char *ret_text, size_t bytes, const char *start, const char *end, const char *mark)
{
    size_t start_len = strlen(start);
    size_t end_len = strlen(end);
    size_t mark_len = strlen(mark);
    size_t at = start_len + mark_len;

    memcpy(ret_text, start, start_len);
    memcpy(ret_text + start_len, mark, mark_len);
    if (bytes > at + end_len) {
        memset(ret_text + at, 'x', bytes - at - end_len);
        at = bytes - end_len;
    }
    memcpy(ret_text + at, end, end_len);
    return at + end_len;
}

/* "@@R3T0000000000000000@@": replica and CLOCK_MONOTONIC in ns, 16 digits (enough for 115 days). */
static void mark_write(char ret_mark[32], uint32_t replica, uint64_t now_ns)
{
    char digits[16];

    for (size_t i = 16; i-- > 0; now_ns /= 10) {
        digits[i] = (char)('0' + now_ns % 10);
    }
    memcpy(ret_mark, "@@R", 3);
    ret_mark[3] = (char)('0' + replica / 10 % 10);
    ret_mark[4] = (char)('0' + replica % 10);
    ret_mark[5] = 'T';
    memcpy(ret_mark + 6, digits, 16);
    memcpy(ret_mark + 22, "@@", 3);
}

size_t mock_text_event(char *ret_text, size_t bytes, uint32_t replica, uint64_t now_ns)
{
    char mark[32];

    mark_write(mark, replica, now_ns);
    return text_build(ret_text, bytes, event_start, event_end, mark);
}

size_t mock_text_answer(char *ret_text, size_t bytes, uint32_t replica, uint64_t now_ns)
{
    char mark[32];

    mark_write(mark, replica, now_ns);
    return text_build(ret_text, bytes, answer_start, answer_end, mark);
}

size_t mock_text_finish(char *ret_text, size_t cap, bool wants_usage, uint32_t chunk_count)
{
    static const char head[] =
        "data: "
        "{\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"
        "\"model\":\"mock\",\"choices\":";
    int len = snprintf(ret_text, cap,
                       "%s[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", head);
    size_t at = (size_t)len;

    if (wants_usage) {
        len = snprintf(ret_text + at, cap - at,
                       "%s[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":%u,"
                       "\"total_tokens\":%u}}\n\n",
                       head, chunk_count, chunk_count + 100U);
        at += (size_t)len;
    }
    len = snprintf(ret_text + at, cap - at, "data: [DONE]\n\n");
    return at + (size_t)len;
}

static bool ask_line(struct mock_ask *ask, const struct wire_line *line)
{
    uint64_t value = wire_line_u64(line);

    if (wire_line_is(line, "x-mock-id")) {
        ask->id = value;
    } else if (wire_line_is(line, "x-mock-chunks")) {
        ask->chunk_count = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    } else if (wire_line_is(line, "x-mock-interval-us")) {
        ask->interval_us = value;
    } else if (wire_line_is(line, "x-mock-delay-us")) {
        ask->delay_us = value;
    } else if (wire_line_is(line, "x-mock-chunk-bytes")) {
        ask->chunk_bytes = value > MOCK_EVENT_MAX / 2 ? MOCK_EVENT_MAX / 2 : (uint32_t)value;
    } else if (wire_line_is(line, "x-mock-silent")) {
        ask->silence = value > MOCK_HOLDS ? MOCK_TALKS : (unsigned)value;
    } else if (wire_line_is(line, "expect")) {
        ask->wants_continue = wire_line_has(line, "100-continue");
    } else if (wire_line_is(line, "connection")) {
        ask->is_close = wire_line_has(line, "close");
    } else {
        return false;
    }
    return true;
}

bool mock_ask_read(const char *head,
                   size_t len,
                   struct mock_ask *ret_ask,
                   struct wire_body *ret_body)
{
    struct wire_line line;
    enum wire_framing framing = WIRE_NONE;
    uint64_t length = 0;
    size_t at = 0;
    const char *path = memchr(head, ' ', len);
    const char *path_end = NULL;

    memset(ret_ask, 0, sizeof(*ret_ask));
    ret_ask->chunk_count = 16;
    ret_ask->chunk_bytes = 200;
    if (path == NULL) {
        return false;
    }
    path++;
    path_end = memchr(path, ' ', len - (size_t)(path - head));
    if (path_end == NULL || (size_t)(path_end - path) >= sizeof(ret_ask->path)) {
        return false;
    }
    memcpy(ret_ask->path, path, (size_t)(path_end - path));
    ret_ask->is_get = strncmp(head, "GET ", 4) == 0;
    while (wire_line_next(head, len, &at, &line)) {
        if (wire_line_is(&line, "content-length")) {
            framing = WIRE_LENGTH;
            length = wire_line_u64(&line);
        } else if (wire_line_is(&line, "transfer-encoding")) {
            framing = WIRE_CHUNKED;
        } else {
            (void)ask_line(ret_ask, &line);
        }
    }
    wire_body_init(ret_body, framing, length);
    return true;
}

static bool flag_is_true(const char *edge, size_t len, const char *key)
{
    const char *at = memmem(edge, len, key, strlen(key));
    const char *end = edge + len;

    if (at == NULL) {
        return false;
    }
    for (at += strlen(key); at < end && (*at == ' ' || *at == ':');) {
        at++;
    }
    return end - at >= 4 && memcmp(at, "true", 4) == 0;
}

void mock_ask_look(struct mock_ask *ask, const char *edge, size_t len)
{
    ask->is_stream = ask->is_stream || flag_is_true(edge, len, "\"stream\"");
    ask->wants_usage = ask->wants_usage || flag_is_true(edge, len, "\"include_usage\"");
}
