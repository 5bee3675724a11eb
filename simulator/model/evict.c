/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/evict.h"

static uint32_t pick_lru(const struct sim_kv *kv)
{
    return sim_kv_idle_first(kv);
}

static const struct sim_evict policies[] = {
    {.name = "lru", .pick = pick_lru},
};

const struct sim_evict *sim_evict_find(struct str name)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        if (str_eq(name, str_of(policies[i].name))) {
            return &policies[i];
        }
    }
    return NULL;
}

const struct sim_evict *sim_evict_default(void)
{
    return &policies[0];
}
