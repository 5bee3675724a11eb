/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options from text, with complaints that name the option and what is allowed.
 * PURE. THREAD: any. */
#ifndef BENCH_LAB_READ_H
#define BENCH_LAB_READ_H

#include "common/base/err.h"
#include "common/base/str.h"

enum { LAB_LIST_MAX = 32 };

/* ST_INVAL with "NAME VALUE: must be MUST" in err. */
MUST_CHECK enum status
lab_read_bad(struct err *err, const char *name, struct str value, const char *must);

/* A number from min to max. ST_INVAL with err. */
MUST_CHECK enum status lab_read_number(
    const char *name, struct str text, double min, double max, double *ret, struct err *err);

/* A whole number from min to max. ST_INVAL with err. */
MUST_CHECK enum status lab_read_whole(
    const char *name, struct str text, uint64_t min, uint64_t max, uint64_t *ret, struct err *err);

/* What stands between commas, borrowed; 1 to LAB_LIST_MAX entries, none empty. ret [LAB_LIST_MAX].
 * ST_INVAL with err. */
MUST_CHECK enum status lab_read_list(
    const char *name, struct str text, struct str *ret, uint32_t *ret_count, struct err *err);

/* Which of names [count] the text is. ST_INVAL with err, which lists them. */
MUST_CHECK enum status lab_read_name(const char *name,
                                     struct str text,
                                     const char *const *names,
                                     uint32_t count,
                                     uint32_t *ret,
                                     struct err *err);

#endif
