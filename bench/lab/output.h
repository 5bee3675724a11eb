/* SPDX-License-Identifier: Apache-2.0 */
/* Where results go.
 * THREAD: main. */
#ifndef BENCH_LAB_OUTPUT_H
#define BENCH_LAB_OUTPUT_H

#include "common/base/err.h"
#include "common/base/str.h"

#define OUTPUT_BYTES_MAX (SIZE_MAX / 2)

/* json_to: "-" = JSON on standard output instead of the text; a path = there, and the text on
 * standard output; NULL = the text alone. ST_IO with err. */
MUST_CHECK enum status
output_put(const char *json_to, const struct buf *text, const struct buf *json, struct err *err);

/* Into a folder, which is made when it is missing. ST_IO, ST_TOOBIG with err. */
MUST_CHECK enum status
output_into(const char *folder, const char *name, const struct buf *text, struct err *err);

#endif
