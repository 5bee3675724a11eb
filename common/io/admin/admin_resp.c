/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/admin/admin_resp.h"

#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 512 };

void admin_resp_init(struct admin_resp *resp)
{
    *resp = (struct admin_resp){.status = 200, .content_type = "application/json"};
    buf_init(&resp->body, mem_heap(), ADMIN_RESP_BYTES);
}

void admin_resp_fini(struct admin_resp *resp)
{
    if (resp != NULL && resp->body.mem != NULL) {
        buf_fini(&resp->body);
    }
}

void admin_resp_error(struct admin_resp *resp, int status, const char *type, const char *fmt, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    resp->status = status;
    resp->content_type = "application/json";
    resp->body.len = 0;
    enum status st = buf_add_str(&resp->body, STR("{\"error\":{\"message\":\""));
    st = st == ST_OK ? buf_add_json(&resp->body, str_of(len < 0 ? "?" : message)) : st;
    st = st == ST_OK ? buf_add_str(&resp->body, STR("\",\"type\":\"")) : st;
    st = st == ST_OK ? buf_add_json(&resp->body, str_of(type)) : st;
    st = st == ST_OK ? buf_add_str(&resp->body, STR("\"}}\n")) : st;
    if (st != ST_OK) {
        resp->body.len = 0; /* the status code alone must do */
    }
}
