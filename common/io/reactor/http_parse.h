/* SPDX-License-Identifier: Apache-2.0 */
/* llhttp with our limits and the refusals it leaves to us (missing or second Host, transfer codings
 * other than chunked, coding on HTTP/1.0), filling a struct http_head. One message at a time:
 * feeding stops behind it. THREAD: one owner. LIMITS: header_bytes, header_count. */
#ifndef COMMON_IO_REACTOR_HTTP_PARSE_H
#define COMMON_IO_REACTOR_HTTP_PARSE_H

#include "common/io/reactor/http_head.h"

#include <llhttp.h>

struct http_parser;

enum http_parse_error {
    HTTP_PARSE_OK,
    HTTP_PARSE_MALFORMED,         /* 400 */
    HTTP_PARSE_HEADERS_TOO_LARGE, /* 431 */
    HTTP_PARSE_TOO_MANY_HEADERS,  /* 431 */
    HTTP_PARSE_CODING,            /* 501: a transfer coding we do not speak */
    HTTP_PARSE_NOMEM,             /* 503 */
    HTTP_PARSE_STOPPED,           /* a callback asked to stop */
};

struct http_parser_ops {
    /* The head is complete (also for each 1xx answer). false = stop parsing. */
    bool (*on_head)(struct http_parser *parser);
    /* Body bytes, borrowed from what was fed. */
    void (*on_body)(struct http_parser *parser, const char *data, size_t len);
    /* A chunk of this many bytes is announced. May be NULL. */
    void (*on_chunk)(struct http_parser *parser, uint64_t bytes);
};

struct http_parser {
    llhttp_t ll;
    struct http_head head;
    const struct http_parser_ops *ops;
    size_t max_header_bytes;
    uint32_t max_header_count;
    size_t header_bytes; /* seen so far in this message, trailers included */
    const char *feed;    /* while feeding: its start, and what was fed before it */
    size_t fed_bytes;
    size_t method_end; /* requests: where the method ended, counted from the first byte ever fed */
    enum http_parse_error error;
    bool is_response;
    bool is_head_request; /* response: to a HEAD request, so no body follows */
    bool is_head_done;
    bool is_in_value; /* the last span was a value */
    bool is_complete; /* message complete; http_parser_next before feeding more */
    bool keeps_alive; /* valid when is_complete */
};

/* is_response: parse answers, else requests. */
void http_parser_init(struct http_parser *parser,
                      bool is_response,
                      const struct http_parser_ops *ops);
void http_parser_fini(struct http_parser *parser);
void http_parser_set_limits(struct http_parser *parser, size_t header_bytes, uint32_t header_count);

/* Feeds len bytes; returns how many were used. Stops early when the message is complete or on an
 * error (parser->error). */
size_t http_parser_feed(struct http_parser *parser, const char *data, size_t len);
/* The peer closed: completes a body that ends by close. HTTP_PARSE_MALFORMED when the message is
 * not complete. */
enum http_parse_error http_parser_eof(struct http_parser *parser);
/* Makes ready for the next message; keeps the head's memory when small. */
void http_parser_next(struct http_parser *parser);
/* Content-Length of the message whose head is done; -1 chunked or until close; 0 no body. */
int64_t http_parser_content_length(const struct http_parser *parser);

#endif
