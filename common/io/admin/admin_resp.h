/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the admin port, apart from how they are sent.
 * THREAD: one owner. LIMITS: ADMIN_RESP_BYTES. */
#ifndef COMMON_IO_ADMIN_ADMIN_RESP_H
#define COMMON_IO_ADMIN_ADMIN_RESP_H

#include "common/base/str.h"

enum { ADMIN_RESP_BYTES = 16 << 20 };

/* Starts as 200, application/json, empty. */
struct admin_resp {
    int status;
    const char *content_type; /* static text */
    struct buf body;          /* on mem_heap() */
};

void admin_resp_init(struct admin_resp *resp);
void admin_resp_fini(struct admin_resp *resp);

/* Makes resp an error: {"error":{"message":...,"type":...}}. Forgets what was in the body. */
void admin_resp_error(struct admin_resp *resp, int status, const char *type, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
