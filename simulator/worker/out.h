/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer to write text into without looking at each outcome: the first failure sticks and is
 * asked for once at the end.
 *
 * THREAD: one owner. LIMITS: max_bytes. */
#ifndef SIMULATOR_WORKER_OUT_H
#define SIMULATOR_WORKER_OUT_H

#include "common/base/str.h"

#include <yyjson.h>

enum { SIM_OUT_BYTES_MAX = 64 << 20, SIM_JSON_DEPTH_MAX = 32 };

struct sim_out {
    struct buf buf;
    enum status st; /* ST_OK until something did not fit; later additions do nothing */
};

void sim_out_init(struct sim_out *out, const struct mem *mem);
void sim_out_fini(struct sim_out *out);
/* Empties it, the memory stays. */
void sim_out_clear(struct sim_out *out);

void sim_out_str(struct sim_out *out, struct str text);
void sim_out_fmt(struct sim_out *out, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A JSON string with its quotes. */
void sim_out_json(struct sim_out *out, struct str text);
/* Any JSON value, without white space; what is nested deeper than SIM_JSON_DEPTH_MAX becomes null.
 */
void sim_out_val(struct sim_out *out, yyjson_val *val);

#endif
