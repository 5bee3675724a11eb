/* SPDX-License-Identifier: Apache-2.0 */
/* Why a step went where it went: candidates, predicted reuse, wait, branch. Kept in a ring.
 * PURE. */
#ifndef COORDINATOR_CORE_RECEIPT_H
#define COORDINATOR_CORE_RECEIPT_H

#include "common/base/str.h"

struct coord_receipt;

enum { COORD_RECEIPT_HEADER_BYTES = 2048 };

/* Short JSON of one line, printable ASCII only, at most COORD_RECEIPT_HEADER_BYTES (fit for a
 * header value). Returns bytes written (always terminated). */
size_t coord_receipt_write_short(const struct coord_receipt *receipt, char *out, size_t cap);

#endif
