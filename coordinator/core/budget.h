/* SPDX-License-Identifier: Apache-2.0 */
/* How many retries recent traffic allows, so that an outage does not double its own load.
 * PURE. THREAD: core. */
#ifndef COORDINATOR_CORE_BUDGET_H
#define COORDINATOR_CORE_BUDGET_H

#include "common/base/status.h"

enum { COORD_BUDGET_SECONDS = 10, COORD_BUDGET_MIN = 10 };

/* Zeroed = empty. */
struct coord_budget {
    uint64_t second[COORD_BUDGET_SECONDS]; /* which second each bucket holds */
    uint32_t steps[COORD_BUDGET_SECONDS];
    uint32_t retries[COORD_BUDGET_SECONDS];
};

void coord_budget_note_step(struct coord_budget *budget, uint64_t now_us);

/* True when one more retry fits, and then it is noted:
 *
 *     retries < max(COORD_BUDGET_MIN, ratio * steps)     over the last COORD_BUDGET_SECONDS
 *
 * Source: ours, after the usual retry budgets of proxies; docs/formulas.md#F4.
 *
 * ratio  retry_budget_ratio, 0..1 */
bool coord_budget_take(struct coord_budget *budget, double ratio, uint64_t now_us);

#endif
