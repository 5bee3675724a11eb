/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/budget.h"

enum { US_PER_S = 1000000 };

/* The bucket of this second, emptied if it held an older one. */
static uint32_t bucket_of(struct coord_budget *budget, uint64_t now_us)
{
    uint64_t second = now_us / US_PER_S;
    uint32_t i = (uint32_t)(second % COORD_BUDGET_SECONDS);
    if (budget->second[i] != second) {
        budget->second[i] = second;
        budget->steps[i] = 0;
        budget->retries[i] = 0;
    }
    return i;
}

void coord_budget_note_step(struct coord_budget *budget, uint64_t now_us)
{
    budget->steps[bucket_of(budget, now_us)]++;
}

bool coord_budget_take(struct coord_budget *budget, double ratio, uint64_t now_us)
{
    uint32_t now_bucket = bucket_of(budget, now_us);
    uint64_t second = now_us / US_PER_S;
    uint64_t steps = 0;
    uint64_t retries = 0;
    for (uint32_t i = 0; i < COORD_BUDGET_SECONDS; i++) {
        if (second - budget->second[i] < COORD_BUDGET_SECONDS) {
            steps += budget->steps[i];
            retries += budget->retries[i];
        }
    }
    double allowed = ratio * (double)steps;
    if (retries >= COORD_BUDGET_MIN && (double)retries + 1.0 > allowed) {
        return false;
    }
    budget->retries[now_bucket]++;
    return true;
}
