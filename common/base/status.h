/* SPDX-License-Identifier: Apache-2.0 */
/* Outcome of a call, and the macros every header uses. The list is status.def.
 * PURE. THREAD: any. */
#ifndef COMMON_BASE_STATUS_H
#define COMMON_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK                    __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt_idx, arg_idx) __attribute__((format(printf, fmt_idx, arg_idx)))

enum status {
#define X(name, text, http, retryable) ST_##name,
#include "common/base/status.def"
#undef X
};

/* Number of members of enum status; not a member itself, so that switches stay complete. */
enum {
    STATUS_COUNT = 0
#define X(name, text, http, retryable) +1
#include "common/base/status.def"
#undef X
};

/* Short text for logs and error bodies; static storage, never NULL. */
const char *status_text(enum status st);

/* Name without the ST_ prefix ("NOMEM"); static storage, never NULL. */
const char *status_name(enum status st);

/* HTTP status code a gateway reply uses for st. */
int status_http(enum status st);

/* True when the same call may succeed later or elsewhere. */
bool status_is_retryable(enum status st);

/* Discards a result on purpose; why says so to the reader. */
static inline void status_ignore(enum status st, const char *why)
{
    (void)st;
    (void)why;
}

/* Our own bug: never for input. assert_fail() is supplied by common/rt (production) or the test
 * kit. */
_Noreturn void assert_fail(const char *expr, const char *file, int line);

#define ASSERT(cond)                                \
    do {                                            \
        if (!(cond)) {                              \
            assert_fail(#cond, __FILE__, __LINE__); \
        }                                           \
    } while (0)

#endif
