/* SPDX-License-Identifier: Apache-2.0 */
/* A request line or status line with its header fields, as received: names keep their spelling,
 * order and duplicates are kept, values are trimmed of surrounding blanks. THREAD: one owner.
 * LIMITS: bytes and count, given to the parser that fills it. */
#ifndef COMMON_IO_REACTOR_HTTP_HEAD_H
#define COMMON_IO_REACTOR_HTTP_HEAD_H

#include "common/base/str.h"

struct http_field {
    uint32_t name_at; /* offsets into text */
    uint32_t name_len;
    uint32_t value_at;
    uint32_t value_len;
};

struct http_head {
    struct buf text; /* target (requests), then names and values back to back; a reason phrase is
                        not kept */
    struct http_field *fields; /* [count] */
    uint32_t count;
    uint32_t cap;
    uint32_t target_len; /* bytes of the target at the start of text */
    uint16_t status;     /* responses */
    uint8_t method;      /* requests: an llhttp method number (enum llhttp_method) */
    uint8_t minor;       /* HTTP/1.minor */
};

void http_head_init(struct http_head *head);
void http_head_fini(struct http_head *head);

struct str http_head_target(const struct http_head *head);
struct str http_head_name(const struct http_head *head, uint32_t idx);
struct str http_head_value(const struct http_head *head, uint32_t idx);
/* Value of the first field with this name (any case); false when absent. */
bool http_head_get(const struct http_head *head, struct str name, struct str *ret);
/* How many fields have this name. */
uint32_t http_head_count(const struct http_head *head, struct str name);
/* Does the comma list in all fields of this name hold this token (any case)? */
bool http_head_has_token(const struct http_head *head, struct str name, struct str token);
/* True for fields that belong to one connection and are never forwarded: Connection, Keep-Alive,
 * Proxy-*, TE, Trailer, Transfer-Encoding, Upgrade, and every name listed in the head's Connection
 * fields. */
bool http_head_is_hop_by_hop(const struct http_head *head, uint32_t idx);

#endif
