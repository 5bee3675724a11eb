/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request and its answer, waiting for both: for subcommands that are clients of the admin
 * port. Not for anything that serves.
 * THREAD: any. LIMITS: HTTP_ASK_BYTES per answer, the deadline per request. */
#ifndef CLI_HTTP_ASK_H
#define CLI_HTTP_ASK_H

#include "common/base/err.h"
#include "common/base/str.h"

enum { HTTP_ASK_BYTES = 64 << 20 };

struct http_ask {
    struct str url; /* http://HOST:PORT or unix:PATH */
    const char *method;
    const char *path;    /* with the query, ready for the wire */
    struct str key;      /* bearer key, empty = none */
    struct str body;     /* JSON, empty = none */
    uint64_t timeout_us; /* for all of it */
};

/* The body goes to ret_body (initialised by the caller), its status code to *ret_status. ST_OK
 * (whatever the status code); ST_INVAL (url); ST_IO, ST_TIMEOUT, ST_PROTO (no HTTP answer, or cut),
 * ST_FULL, ST_NOMEM, with err. */
MUST_CHECK enum status
http_ask(const struct http_ask *ask, int *ret_status, struct buf *ret_body, struct err *err);

#endif
