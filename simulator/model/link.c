/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/model/link.h"

bool sim_link_is_sound(const struct sim_link_opts *opts)
{
    return opts->bytes_per_s > 0 && opts->bytes_per_s <= SIM_LINK_BYTES_PER_S_MAX;
}

/* Whole seconds apart, for else the product overflows. */
static uint64_t transfer_us(const struct sim_link *link, uint64_t bytes)
{
    uint64_t per_s = link->opts.bytes_per_s;
    return bytes / per_s * 1000000 + (bytes % per_s * 1000000 + per_s - 1) / per_s;
}

static uint64_t free_at_us(const struct sim_link *link, uint64_t now_us)
{
    return link->free_at_us > now_us ? link->free_at_us : now_us;
}

uint64_t sim_link_load(struct sim_link *link, uint64_t bytes, uint64_t now_us)
{
    link->free_at_us = free_at_us(link, now_us) + link->opts.latency_us + transfer_us(link, bytes);
    return link->free_at_us;
}

void sim_link_write(struct sim_link *link, uint64_t bytes, uint64_t now_us)
{
    if (link->opts.has_write_time) {
        link->free_at_us = free_at_us(link, now_us) + transfer_us(link, bytes);
    }
}
