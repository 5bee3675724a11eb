/* SPDX-License-Identifier: Apache-2.0 */
/* A profile as a person names it: one that is built in, or a YAML file of their own.
 * THREAD: any. */
#ifndef BENCH_LAB_PROFILE_FILE_H
#define BENCH_LAB_PROFILE_FILE_H

#include "simulator/model/profile_read.h"

/* name is a file when it has a / or ends in .yaml or .yml. err begins with the file's name.
 * ST_INVAL (also: no such built-in profile), ST_IO, ST_TOOBIG, ST_NOMEM. */
MUST_CHECK enum status profile_load(const char *name, struct sim_profile *ret, struct err *err);

#endif
