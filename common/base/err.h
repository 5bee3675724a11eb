/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation that travels with a status: what failed, in words a person can act on.
 * PURE. THREAD: any (the struct belongs to one caller). */
#ifndef COMMON_BASE_ERR_H
#define COMMON_BASE_ERR_H

#include "common/base/status.h"

enum { ERR_TEXT_BYTES = 256 };

struct err {
    enum status status;        /* ST_OK until err_set */
    char text[ERR_TEXT_BYTES]; /* NUL-terminated, cut when longer */
};

/* Stores st and the formatted text in err (which may be NULL) and returns st, so that a caller can
 * write: return err_set(err, ST_INVAL, "port %u is out of range", port); */
enum status err_set(struct err *err, enum status st, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
