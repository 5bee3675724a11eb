/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants by start-time fair queueing, in each engine's queue: the tenant that was served least
 * for its weight goes first, its own steps by arrival. Service is engine time of steps: what they
 * took when they are over, the tenant's mean while they run. A tenant that had nothing to do does
 * not save up: its clock is put to the slowest of those that have. */
#include "routing/keys.h"

enum { TENANT_LIFT_S };

/* One epoch late at most is a tenant that comes back put to the others' clock. */
#define EPOCH_US 100000
/* What a tenant's step is taken to cost until one is over. */
#define FIRST_STEP_S 10.0

/* Its virtual time: what it was served for its weight, and what it went without asking. */
static double clock_s(const struct gate_tenant *tenant)
{
    double step_s = tenant->done > 0 ? tenant->served_s / (double)tenant->done : FIRST_STEP_S;
    return (tenant->served_s + step_s * tenant->running) / tenant->weight +
           tenant->notes[TENANT_LIFT_S];
}

static double key(const struct gate *gate, const struct gate_step *step)
{
    (void)gate;
    return step->session == NULL ? 0.0 : clock_s(step->session->tenant);
}

/* The slowest clock of those with steps; when there are none the fastest of all. */
static double now_s(const struct gate *gate)
{
    double least = 0.0;
    double most = 0.0;
    bool is_busy = false;
    for (uint32_t i = 0; i < gate->tenant_slab.fresh_idx; i++) {
        const struct gate_tenant *tenant = slab_at(&gate->tenant_slab, i);
        double own = clock_s(tenant);
        most = own > most ? own : most;
        if (tenant->steps > 0 && (!is_busy || own < least)) {
            least = own;
            is_busy = true;
        }
    }
    return is_busy ? least : most;
}

static void on_epoch(struct gate *gate)
{
    double now = now_s(gate);
    for (uint32_t i = 0; i < gate->tenant_slab.fresh_idx; i++) {
        struct gate_tenant *tenant = slab_at(&gate->tenant_slab, i);
        double own = clock_s(tenant);
        if (tenant->steps == 0 && own < now) {
            tenant->notes[TENANT_LIFT_S] += now - own;
        }
    }
}

const struct route_policy route_policy_sfq = {
    .name = "sfq",
    .text = "prefix_affinity; in an engine's queue the tenant that was served least for its weight",
    .source = "start-time fair queueing, Goyal, Vin and Cheng 1996",
    .place = route_place_prefix_affinity,
    .key = key,
    .on_epoch = on_epoch,
    .epoch_us = EPOCH_US,
};
