/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON of a request body strictly (no comments, nothing after it, UTF-8 checked) into
 * scratch memory. Numbers stay text (YYJSON_TYPE_RAW): their spelling is not ours to judge, and
 * their value is rarely wanted. THREAD: one owner. OWNERSHIP: the values live until scratch_end. */
#ifndef COORDINATOR_IO_BODY_READ_H
#define COORDINATOR_IO_BODY_READ_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "coordinator/io/body_scratch.h"

/* *ret is the root, an object. ST_INVAL with the byte offset; ST_NOMEM; ST_TOOBIG: more values than
 * a body of that length sensibly holds. Iterative whatever the nesting. */
MUST_CHECK enum status
body_read(struct scratch *scratch, struct str body, yyjson_val **ret, struct err *err);

#endif
