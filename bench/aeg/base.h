/* SPDX-License-Identifier: Apache-2.0 */
/* The forecasts to beat, from the training half of one source: the base rate, the last value, and
 * the rule of the SAGA paper (P95 of what that tool took).
 * THREAD: one owner. LIMITS: BASE_TOOLS_MAX texts of tools; others count as all tools do. */
#ifndef BENCH_AEG_BASE_H
#define BENCH_AEG_BASE_H

#include "bench/aeg/drive.h"
#include "bench/replay/samples.h"

enum { BASE_TOOLS_MAX = 512 };

enum base_value { BASE_WAIT, BASE_OUT, BASE_NEW, BASE_TO_GO, BASE_WORK };
enum { BASE_VALUE_COUNT = BASE_WORK + 1 };

struct base_tool {
    const char *tools; /* of the trace */
    struct samples values[BASE_VALUE_COUNT];
};

struct base {
    const struct mem *mem;
    struct base_tool *tools; /* [tool_count]; 0 is all of them */
    uint32_t tool_count;
};

/* ST_NOMEM. */
MUST_CHECK enum status base_init(struct base *base, const struct mem *mem);
void base_fini(struct base *base);

/* One point of a training session. */
void base_add(struct base *base, const struct drive_point *point);

/* Share of waits within this time; 0.5 without any. */
double base_rate(const struct base *base, double within_s);
/* Median, 0 without values; P95 of this text of tools, of all when it is new. */
double base_median(struct base *base, enum base_value value);
double base_p95(struct base *base, const char *tools, enum base_value value);

#endif
