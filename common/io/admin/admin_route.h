/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask for what on the admin port. Nothing of libmicrohttpd in here.
 * THREAD: any. */
#ifndef COMMON_IO_ADMIN_ADMIN_ROUTE_H
#define COMMON_IO_ADMIN_ADMIN_ROUTE_H

#include "common/io/admin/admin.h"

/* What of a request decides. Absent headers are {NULL, 0}. */
struct admin_ask {
    struct str method;
    struct str path;
    struct str host;
    struct str origin;
    struct str authorization;
    bool is_framing_doubtful; /* Content-Length and Transfer-Encoding both */
};

/* The route of a request that may go on (then *ret_tail is set), or NULL with the refusal in resp.
 */
const struct admin_route *admin_route_find(const struct admin_config *config,
                                           const struct admin_ask *ask,
                                           struct str *ret_tail,
                                           struct admin_resp *resp);

#endif
