/* SPDX-License-Identifier: Apache-2.0 */
/* The file that tells a script that a program listens, and where.
 * THREAD: main. */
#ifndef CLI_READY_H
#define CLI_READY_H

#include "common/base/err.h"

/* Writes {"pid":N,"listen":["HOST:PORT",...],"admin":"HOST:PORT"|null} under a temporary name
 * beside path and renames it, so that a reader sees all or nothing. listens [count]; admin may be
 * NULL. ST_IO. */
MUST_CHECK enum status ready_write(
    const char *path, const char *const *listens, size_t count, const char *admin, struct err *err);

#endif
