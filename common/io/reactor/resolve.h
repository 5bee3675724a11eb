/* SPDX-License-Identifier: Apache-2.0 */
/* Host names to addresses on a thread of its own, so that a slow name server never stops a loop.
 * THREAD: any may ask; the answer is fetched by polling from the asker's own thread after its loop
 * was woken. LIMITS: RESOLVE_ADDRS_MAX addresses a name. */
#ifndef COMMON_IO_REACTOR_RESOLVE_H
#define COMMON_IO_REACTOR_RESOLVE_H

#include "common/io/reactor/net.h"

enum { RESOLVE_ADDRS_MAX = 8 };

struct resolve_name;

/* Starts to keep a name resolved: at once, then every 30 s (2 s after a failure). host is copied.
 * ST_NOMEM. */
MUST_CHECK enum status resolve_open(struct resolve_name **ret, const char *host, uint16_t port);
void resolve_close(struct resolve_name *name);
/* The addresses known now. ST_OK with *ret_count >= 1; ST_AGAIN: first look-up still running;
 * ST_NOTFOUND: it failed. */
MUST_CHECK enum status
resolve_get(struct resolve_name *name, struct net_addr ret[RESOLVE_ADDRS_MAX], size_t *ret_count);

#endif
