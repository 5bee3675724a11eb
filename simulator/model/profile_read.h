/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as text, so that people can bring their own: the part of YAML that a table of constants
 * needs, one `key: value` a line, `#` comments, values plain or in quotes without escapes. The keys
 * are the fields of struct sim_profile.
 *
 * PURE. THREAD: any. LIMITS: SIM_PROFILE_TEXT_MAX bytes. */
#ifndef SIMULATOR_MODEL_PROFILE_READ_H
#define SIMULATOR_MODEL_PROFILE_READ_H

#include "common/base/err.h"
#include "simulator/model/profile.h"

enum { SIM_PROFILE_TEXT_MAX = 65536 };

/* Reads a profile: each key once, all but `text` required. ST_INVAL: err has the line and what is
 * wrong with it. ST_TOOBIG. */
MUST_CHECK enum status sim_profile_read(struct str text, struct sim_profile *ret, struct err *err);

/* What no single value can say: batch and memory fit each other, the name is no built-in profile's.
 * ST_INVAL with err. */
MUST_CHECK enum status sim_profile_check(const struct sim_profile *profile, struct err *err);

/* Appends the profile in the form that sim_profile_read takes; numbers come back exactly.
 * ST_FULL, ST_NOMEM. */
MUST_CHECK enum status sim_profile_write(const struct sim_profile *profile, struct buf *out);

#endif
