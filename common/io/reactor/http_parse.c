/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/reactor/http_parse.h"

#include <stdlib.h>

enum {
    HEAD_KEEP_BYTES = 4096,
    INTERIM_STATUS_MAX = 200,
    FIELD_FRAME_BYTES = 4, /* ": " and CRLF */
};

static int fail(struct http_parser *parser, enum http_parse_error error)
{
    parser->error = error;
    return -1;
}

static struct http_parser *owner(llhttp_t *ll)
{
    return (struct http_parser *)(void *)((char *)ll - offsetof(struct http_parser, ll));
}

static int take_text(struct http_parser *parser, const char *at, size_t len)
{
    parser->header_bytes += len;
    if (parser->header_bytes > parser->max_header_bytes) {
        return fail(parser, HTTP_PARSE_HEADERS_TOO_LARGE);
    }
    if (buf_add(&parser->head.text, at, len) != ST_OK) {
        return fail(parser, HTTP_PARSE_NOMEM);
    }
    return 0;
}

static int on_method(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *parser = owner(ll);
    parser->method_end = parser->fed_bytes + (size_t)(at - parser->feed) + len;
    return 0;
}

static int on_url(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *parser = owner(ll);
    size_t place = parser->fed_bytes + (size_t)(at - parser->feed);
    if (parser->head.text.len == 0 && place != parser->method_end + 1) {
        return fail(parser, HTTP_PARSE_MALFORMED); /* llhttp skips any number of blanks */
    }
    int rc = take_text(parser, at, len);
    parser->head.target_len = (uint32_t)parser->head.text.len;
    return rc;
}

static int add_field(struct http_parser *parser)
{
    struct http_head *head = &parser->head;
    if (head->count >= parser->max_header_count) {
        return fail(parser, HTTP_PARSE_TOO_MANY_HEADERS);
    }
    if (head->count == head->cap) {
        uint32_t cap = head->cap == 0 ? 16 : head->cap * 2;
        struct http_field *fields = realloc(head->fields, cap * sizeof(*fields));
        if (fields == NULL) {
            return fail(parser, HTTP_PARSE_NOMEM);
        }
        head->fields = fields;
        head->cap = cap;
    }
    head->fields[head->count] = (struct http_field){.name_at = (uint32_t)head->text.len};
    head->count++;
    return 0;
}

/* Counted against the limit and dropped: trailer fields, chunk extensions, reason phrases. */
static int skip_text(struct http_parser *parser, size_t len)
{
    parser->header_bytes += len;
    return parser->header_bytes > parser->max_header_bytes
               ? fail(parser, HTTP_PARSE_HEADERS_TOO_LARGE)
               : 0;
}

static int on_field(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *parser = owner(ll);
    if (parser->is_head_done) {
        size_t frame = parser->is_in_value ? FIELD_FRAME_BYTES : 0;
        parser->is_in_value = false;
        return skip_text(parser, len + frame);
    }
    struct http_head *head = &parser->head;
    if (parser->is_in_value || head->count == 0) {
        parser->is_in_value = false;
        parser->header_bytes += FIELD_FRAME_BYTES;
        if (add_field(parser) != 0) {
            return -1;
        }
    }
    head->fields[head->count - 1].name_len += (uint32_t)len;
    return take_text(parser, at, len);
}

static int on_value(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *parser = owner(ll);
    if (parser->is_head_done) {
        parser->is_in_value = true;
        return skip_text(parser, len);
    }
    struct http_field *field = &parser->head.fields[parser->head.count - 1];
    if (!parser->is_in_value) {
        parser->is_in_value = true;
        field->value_at = (uint32_t)parser->head.text.len;
    }
    field->value_len += (uint32_t)len;
    return take_text(parser, at, len);
}

static int on_value_complete(llhttp_t *ll)
{
    struct http_parser *parser = owner(ll);
    if (parser->is_head_done) {
        parser->is_in_value = true;
        return 0;
    }
    struct http_head *head = &parser->head;
    struct http_field *field = &head->fields[head->count - 1];
    if (!parser->is_in_value) { /* empty value: no span was reported */
        parser->is_in_value = true;
        field->value_at = (uint32_t)head->text.len;
    }
    while (field->value_len > 0) {
        char last = head->text.p[field->value_at + field->value_len - 1];
        if (last != ' ' && last != '\t') {
            break;
        }
        field->value_len--;
    }
    return 0;
}

/* llhttp puts no bound on chunk extensions and reason phrases. */
static int on_skipped(llhttp_t *ll, const char *at, size_t len)
{
    (void)at;
    return skip_text(owner(ll), len);
}

/* The limit holds for each chunk's extensions, and for the trailers. */
static int on_chunk_complete(llhttp_t *ll)
{
    owner(ll)->header_bytes = 0;
    return 0;
}

static int check_host(struct http_parser *parser)
{
    const struct http_head *head = &parser->head;
    uint32_t hosts = http_head_count(head, STR("host"));
    bool is_bad = hosts > 1 || (hosts == 0 && head->minor >= 1);
    return is_bad ? fail(parser, HTTP_PARSE_MALFORMED) : 0;
}

static int check_coding(struct http_parser *parser)
{
    const struct http_head *head = &parser->head;
    struct str coding = {0};
    if (!http_head_get(head, STR("transfer-encoding"), &coding)) {
        return 0;
    }
    if (head->minor == 0 || http_head_count(head, STR("transfer-encoding")) != 1) {
        return fail(parser, HTTP_PARSE_MALFORMED);
    }
    return str_ieq(coding, STR("chunked")) ? 0 : fail(parser, HTTP_PARSE_CODING);
}

static int on_headers_complete(llhttp_t *ll)
{
    struct http_parser *parser = owner(ll);
    struct http_head *head = &parser->head;
    head->minor = (uint8_t)ll->http_minor;
    head->method = (uint8_t)ll->method;
    head->status = (uint16_t)ll->status_code;
    if (ll->http_major != 1 || ll->http_minor > 1) {
        return fail(parser, HTTP_PARSE_MALFORMED);
    }
    if ((!parser->is_response && check_host(parser) != 0) || check_coding(parser) != 0) {
        return -1;
    }
    ll->upgrade = 0; /* upgrades are not spoken: the request is served as it stands */
    parser->is_head_done = true;
    if (!parser->ops->on_head(parser)) {
        return fail(parser, HTTP_PARSE_STOPPED);
    }
    return parser->is_response && parser->is_head_request ? 1 : 0;
}

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *parser = owner(ll);
    parser->ops->on_body(parser, at, len);
    return 0;
}

static int on_chunk_header(llhttp_t *ll)
{
    struct http_parser *parser = owner(ll);
    if (parser->ops->on_chunk != NULL) {
        parser->ops->on_chunk(parser, ll->content_length);
    }
    return 0;
}

static int on_message_complete(llhttp_t *ll)
{
    struct http_parser *parser = owner(ll);
    parser->is_complete = true;
    parser->keeps_alive = llhttp_should_keep_alive(ll) == 1;
    return HPE_PAUSED;
}

static const llhttp_settings_t *settings(void)
{
    static const llhttp_settings_t all = {
        .on_method = on_method,
        .on_url = on_url,
        .on_header_field = on_field,
        .on_header_value = on_value,
        .on_header_value_complete = on_value_complete,
        .on_headers_complete = on_headers_complete,
        .on_body = on_body,
        .on_message_complete = on_message_complete,
        .on_status = on_skipped,
        .on_chunk_header = on_chunk_header,
        .on_chunk_extension_name = on_skipped,
        .on_chunk_extension_value = on_skipped,
        .on_chunk_complete = on_chunk_complete,
    };
    return &all;
}

static void start(struct http_parser *parser)
{
    llhttp_init(&parser->ll, parser->is_response ? HTTP_RESPONSE : HTTP_REQUEST, settings());
    parser->head.count = 0;
    parser->head.target_len = 0;
    parser->head.text.len = 0;
    parser->header_bytes = 0;
    parser->error = HTTP_PARSE_OK;
    parser->is_head_done = false;
    parser->is_in_value = false;
    parser->is_complete = false;
    parser->keeps_alive = false;
}

void http_parser_init(struct http_parser *parser,
                      bool is_response,
                      const struct http_parser_ops *ops)
{
    memset(parser, 0, sizeof(*parser));
    http_head_init(&parser->head);
    parser->ops = ops;
    parser->is_response = is_response;
    parser->max_header_bytes = 65536;
    parser->max_header_count = 128;
    start(parser);
}

void http_parser_fini(struct http_parser *parser)
{
    http_head_fini(&parser->head);
}

void http_parser_set_limits(struct http_parser *parser, size_t header_bytes, uint32_t header_count)
{
    parser->max_header_bytes = header_bytes;
    parser->max_header_count = header_count;
}

size_t http_parser_feed(struct http_parser *parser, const char *data, size_t len)
{
    if (parser->is_complete || parser->error != HTTP_PARSE_OK || len == 0) {
        return 0;
    }
    parser->feed = data;
    llhttp_errno_t rc = llhttp_execute(&parser->ll, data, len);
    parser->fed_bytes +=
        len; /* after a message that ends earlier only the difference to method_end matters */
    if (rc == HPE_OK) {
        return len;
    }
    if (parser->is_complete) {
        return (size_t)(llhttp_get_error_pos(&parser->ll) - data);
    }
    if (parser->error == HTTP_PARSE_OK) {
        parser->error = HTTP_PARSE_MALFORMED;
    }
    return 0;
}

enum http_parse_error http_parser_eof(struct http_parser *parser)
{
    if (parser->is_complete) {
        return HTTP_PARSE_OK;
    }
    llhttp_finish(&parser->ll);
    if (!parser->is_complete && parser->error == HTTP_PARSE_OK) {
        parser->error = HTTP_PARSE_MALFORMED;
    }
    parser->keeps_alive = false;
    return parser->is_complete ? HTTP_PARSE_OK : parser->error;
}

void http_parser_next(struct http_parser *parser)
{
    if (parser->head.text.cap > HEAD_KEEP_BYTES) {
        http_head_fini(&parser->head);
        http_head_init(&parser->head);
    }
    start(parser);
}

int64_t http_parser_content_length(const struct http_parser *parser)
{
    const llhttp_t *ll = &parser->ll;
    if ((ll->flags & F_CHUNKED) != 0) {
        return -1;
    }
    if ((ll->flags & F_CONTENT_LENGTH) != 0) {
        return ll->content_length > INT64_MAX ? INT64_MAX : (int64_t)ll->content_length;
    }
    if (!parser->is_response) {
        return 0;
    }
    bool has_no_body = parser->is_head_request || parser->head.status == 204 ||
                       parser->head.status == 304 || parser->head.status < INTERIM_STATUS_MAX;
    return has_no_body ? 0 : -1;
}
