/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that live in files: read once, compared without telling where they differ, never logged.
 * THREAD: any. LIMITS: SECRET_BYTES. */
#ifndef COMMON_RT_SECRET_H
#define COMMON_RT_SECRET_H

#include "common/base/err.h"
#include "common/base/str.h"

enum { SECRET_BYTES = 1024 };

/* First line of the file without blanks around it, NUL-terminated. ST_OK; ST_IO (unreadable);
 * ST_INVAL (empty, too long, or with bytes that cannot stand in a header). ret is written only on
 * ST_OK. */
MUST_CHECK enum status secret_read(const char *path, char ret[SECRET_BYTES], struct err *err);

/* Equal? Takes as long for any two of the same lengths. */
bool secret_equal(struct str a, struct str b);

#endif
