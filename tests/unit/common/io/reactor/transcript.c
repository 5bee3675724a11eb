/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/transcript.h"

#include <stdlib.h>

static struct transcript *owner(struct http_parser *parser)
{
    return (struct transcript *)(void *)((char *)parser - offsetof(struct transcript, parser));
}

static void need(enum status st)
{
    if (st != ST_OK) {
        abort(); /* out of memory in a test */
    }
}

static void add(struct transcript *script, struct str text)
{
    need(buf_add_str(&script->text, text));
}

static bool on_head(struct http_parser *parser)
{
    struct transcript *script = owner(parser);
    const struct http_head *head = &parser->head;
    script->head_count++;
    need(buf_add_fmt(&script->text,
                     "head method=%d status=%d minor=%d length=%lld target=", head->method,
                     head->status, head->minor, (long long)http_parser_content_length(parser)));
    if (head->target_len > 0) {
        add(script, http_head_target(head));
    }
    add(script, STR("\n"));
    for (uint32_t i = 0; i < head->count; i++) {
        add(script, STR("  "));
        add(script, http_head_name(head, i));
        add(script, STR("="));
        add(script, http_head_value(head, i));
        add(script, STR("\n"));
    }
    return true;
}

static void on_body(struct http_parser *parser, const char *data, size_t len)
{
    need(buf_add(&owner(parser)->body, data, len));
}

void transcript_start(struct transcript *script, bool is_response, bool is_head_request)
{
    static const struct http_parser_ops ops = {.on_head = on_head, .on_body = on_body};
    memset(script, 0, sizeof(*script));
    http_parser_init(&script->parser, is_response, &ops);
    script->parser.is_head_request = is_head_request;
    buf_init(&script->text, mem_heap(), SIZE_MAX / 2);
    buf_init(&script->body, mem_heap(), SIZE_MAX / 2);
}

static void end_message(struct transcript *script)
{
    add(script, STR("body="));
    if (script->body.len > 0) {
        add(script, buf_str(&script->body));
    }
    script->body.len = 0;
    need(buf_add_fmt(&script->text, "\nend keep=%d\n", script->parser.keeps_alive));
    script->message_count++;
}

void transcript_feed(struct transcript *script, const char *data, size_t len)
{
    struct http_parser *parser = &script->parser;
    while (len > 0 && script->error == HTTP_PARSE_OK) {
        size_t used = http_parser_feed(parser, data, len);
        if (parser->error != HTTP_PARSE_OK) {
            script->error = parser->error;
            return;
        }
        if (used > len || (used == 0 && !parser->is_complete)) {
            abort(); /* it would be fed the same bytes for ever */
        }
        data += used;
        len -= used;
        if (parser->is_complete) {
            end_message(script);
            http_parser_next(parser);
        }
    }
}

void transcript_end(struct transcript *script)
{
    struct http_parser *parser = &script->parser;
    if (script->error == HTTP_PARSE_OK && parser->is_head_done) {
        script->error = http_parser_eof(parser);
        if (script->error == HTTP_PARSE_OK) {
            end_message(script);
        }
    }
    if (script->error != HTTP_PARSE_OK) {
        add(script, STR("refused body="));
        if (script->body.len > 0) {
            add(script, buf_str(&script->body));
        }
        add(script, STR("\n"));
    }
    need(buf_add(&script->text, "", 1));
}

void transcript_fini(struct transcript *script)
{
    http_parser_fini(&script->parser);
    buf_fini(&script->text);
    buf_fini(&script->body);
}
