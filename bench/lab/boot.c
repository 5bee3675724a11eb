/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/boot.h"

#include "common/base/rng.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double
round_mean(const struct boot_group *groups, uint32_t group_count, struct rng *rng, bool *ret_any)
{
    double sum = 0;
    uint64_t count = 0;
    for (uint32_t g = 0; g < group_count; g++) {
        const struct boot_group *group = &groups[rng_below(rng, group_count)];
        for (uint32_t i = 0; i < group->count; i++) {
            sum += group->values[rng_below(rng, group->count)];
        }
        count += group->count;
    }
    *ret_any = count > 0;
    return count > 0 ? sum / (double)count : 0;
}

struct boot_ci boot_mean(const struct boot_group *groups, uint32_t group_count, uint64_t seed)
{
    double means[BOOT_ROUNDS];
    uint32_t made = 0;
    struct rng rng;
    rng_init(&rng, seed);
    for (uint32_t i = 0; i < BOOT_ROUNDS && group_count > 0; i++) {
        bool any = false;
        double mean = round_mean(groups, group_count, &rng, &any);
        if (any) {
            means[made++] = mean;
        }
    }
    if (made == 0) {
        return (struct boot_ci){0};
    }
    qsort(means, made, sizeof(*means), by_value);
    return (struct boot_ci){
        .low = means[made * 25 / 1000],
        .high = means[(made - 1) - made * 25 / 1000],
    };
}
