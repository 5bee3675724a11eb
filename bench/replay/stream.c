/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/stream.h"

#include "common/base/json.h"

void stream_init(struct stream *stream, const struct mem *mem)
{
    *stream = (struct stream){0};
    buf_init(&stream->line, mem, STREAM_LINE_MAX);
    buf_init(&stream->reply, mem, STREAM_REPLY_MAX);
}

void stream_reset(struct stream *stream)
{
    struct buf line = stream->line;
    struct buf reply = stream->reply;
    line.len = 0;
    reply.len = 0;
    *stream = (struct stream){.line = line, .reply = reply};
}

void stream_fini(struct stream *stream)
{
    if (stream != NULL) {
        buf_fini(&stream->line);
        buf_fini(&stream->reply);
    }
}

static void copy_error(yyjson_val *root, char *out)
{
    yyjson_val *error = yyjson_obj_get(root, "error");
    struct str text = json_str(error);
    if (text.p == NULL && !json_get_str(error, "message", &text)) {
        text = STR("error without a message");
    }
    (void)str_copy(out, STREAM_ERROR_BYTES, text);
}

void stream_error_text(struct str body, char *out)
{
    yyjson_doc *doc = body.len == 0 ? NULL : yyjson_read(body.p, body.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (yyjson_obj_get(root, "error") != NULL) {
        copy_error(root, out);
    } else {
        (void)str_copy(out, STREAM_ERROR_BYTES, body);
    }
    yyjson_doc_free(doc);
}

static uint32_t get_tokens(yyjson_val *obj, const char *key)
{
    uint64_t n = 0;
    return json_get_u64(obj, key, &n) && n < UINT32_MAX ? (uint32_t)n : 0;
}

static void read_usage(struct stream *stream, yyjson_val *usage)
{
    if (!yyjson_is_obj(usage)) {
        return;
    }
    stream->has_usage = true;
    stream->prompt_tokens = get_tokens(usage, "prompt_tokens");
    stream->output_tokens = get_tokens(usage, "completion_tokens");
    stream->cached_tokens =
        get_tokens(yyjson_obj_get(usage, "prompt_tokens_details"), "cached_tokens");
}

static enum status add_text(struct stream *stream, yyjson_val *val, bool *ret_is_delta)
{
    struct str text = json_str(val);
    if (text.len == 0) {
        return ST_OK;
    }
    *ret_is_delta = true;
    enum status st = buf_add_str(&stream->reply, text);
    return st == ST_FULL ? ST_OK : st;
}

static enum status read_choice(struct stream *stream, yyjson_val *choice)
{
    yyjson_val *delta = yyjson_obj_get(choice, "delta");
    bool is_delta = false;
    enum status st = add_text(stream, yyjson_obj_get(delta, "content"), &is_delta);
    struct str reasoning = STR("");
    if (json_get_str(delta, "reasoning_content", &reasoning) ||
        json_get_str(delta, "reasoning", &reasoning)) {
        is_delta = is_delta || reasoning.len > 0;
    }
    is_delta = is_delta || yyjson_arr_size(yyjson_obj_get(delta, "tool_calls")) > 0;
    stream->delta_count += is_delta;
    stream->has_finish =
        stream->has_finish || yyjson_is_str(yyjson_obj_get(choice, "finish_reason"));
    return st;
}

static enum status read_data(struct stream *stream, struct str data)
{
    if (str_eq(data, STR("[DONE]"))) {
        stream->has_done = true;
        return ST_OK;
    }
    yyjson_doc *doc = data.len == 0 ? NULL : yyjson_read(data.p, data.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    enum status st = ST_OK;
    if (!yyjson_is_obj(root)) {
        stream->bad_count++;
    } else if (yyjson_obj_get(root, "error") != NULL) {
        stream->has_error = true;
        copy_error(root, stream->error);
    } else {
        st = read_choice(stream, yyjson_arr_get_first(yyjson_obj_get(root, "choices")));
        read_usage(stream, yyjson_obj_get(root, "usage"));
    }
    yyjson_doc_free(doc);
    return st;
}

static enum status read_line(struct stream *stream, struct str line)
{
    if (line.len > 0 && line.p[line.len - 1] == '\r') {
        line.len--;
    }
    if (!str_starts(line, STR("data:"))) {
        return ST_OK;
    }
    struct str data = {line.p + 5, line.len - 5};
    return read_data(stream, str_trim(data));
}

/* The end of a line has come; its beginning may be kept in stream->line. */
static enum status end_line(struct stream *stream, struct str rest)
{
    if (stream->is_skipping) {
        stream->is_skipping = false;
        stream->line.len = 0;
        return ST_OK;
    }
    if (stream->line.len == 0) {
        return read_line(stream, rest);
    }
    enum status st = buf_add_str(&stream->line, rest);
    if (st == ST_FULL) {
        stream->bad_count++;
        st = ST_OK;
    } else if (st == ST_OK) {
        st = read_line(stream, buf_str(&stream->line));
    }
    stream->line.len = 0;
    return st;
}

enum status stream_feed(struct stream *stream, const char *data, size_t len)
{
    enum status st = ST_OK;
    while (len > 0 && st == ST_OK) {
        const char *nl = memchr(data, '\n', len);
        size_t n = nl == NULL ? len : (size_t)(nl - data);
        struct str piece = {data, n};
        if (nl != NULL) {
            st = end_line(stream, piece);
            n++;
        } else if (!stream->is_skipping) {
            st = buf_add_str(&stream->line, piece);
            if (st == ST_FULL) {
                stream->bad_count++;
                stream->is_skipping = true;
                st = ST_OK;
            }
        }
        data += n;
        len -= n;
    }
    return st;
}
