/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/scenario.h"

#define S_PER_HOUR 3600.0

/* What the tenants that say so bring, of L*. */
static double tenants_load(const struct scenario *scenario)
{
    double sum = 0;
    for (uint32_t i = 0; i < scenario->tenant_count; i++) {
        sum += scenario->tenants[i].load;
    }
    return sum;
}

double scenario_mean_load(const struct scenario *scenario, double hours)
{
    double end_s = hours * S_PER_HOUR;
    double sum = 0;
    for (uint32_t i = 0; i < scenario->load_count && scenario->loads[i].from_s < end_s; i++) {
        bool is_last = i + 1 == scenario->load_count;
        double until_s = is_last ? end_s : scenario->loads[i + 1].from_s;
        until_s = until_s < end_s ? until_s : end_s;
        sum += scenario->loads[i].share * (until_s - scenario->loads[i].from_s);
    }
    if (scenario->load_count > 0) {
        return sum / end_s;
    }
    for (uint32_t i = 0; i < scenario->tenant_count; i++) {
        if (scenario->tenants[i].load == 0) {
            return 0;
        }
    }
    return tenants_load(scenario);
}

double scenario_warp_s(const struct scenario *scenario, double hours, double even_s)
{
    double mean = scenario_mean_load(scenario, hours);
    double left_s = even_s;
    for (uint32_t i = 0; i < scenario->load_count; i++) {
        const struct scenario_load *now = &scenario->loads[i];
        double speed = now->share / mean;
        bool is_last = i + 1 == scenario->load_count;
        double lasts_s = is_last ? 0 : scenario->loads[i + 1].from_s - now->from_s;
        if (is_last || left_s < lasts_s * speed) {
            return now->from_s + left_s / speed;
        }
        left_s -= lasts_s * speed;
    }
    return even_s;
}

enum status scenario_parts(const struct scenario *scenario,
                           double load,
                           const double *limits,
                           enum workload_kind kind,
                           struct scenario_part *ret,
                           struct err *err)
{
    double rest = load - tenants_load(scenario);
    uint32_t open_count = 0;
    for (uint32_t i = 0; i < scenario->tenant_count; i++) {
        const struct scenario_tenant *tenant = &scenario->tenants[i];
        rest -= tenant->share * load;
        open_count += tenant->load == 0 && tenant->share == 0 ? 1 : 0;
    }
    if (open_count > 0 && rest <= 0) {
        return err_set(err, ST_INVAL,
                       "a load of %g leaves nothing for the tenants that are to bring the rest",
                       load);
    }
    for (uint32_t i = 0; i < scenario->tenant_count; i++) {
        const struct scenario_tenant *tenant = &scenario->tenants[i];
        enum workload_kind own = tenant->has_workload ? tenant->workload : kind;
        double brings = tenant->load > 0 ? tenant->load : tenant->share * load;
        brings = brings > 0 ? brings : rest / open_count;
        ret[i] = (struct scenario_part){
            .rate_per_s = brings * limits[own], .workload = own, .model = tenant->model};
    }
    return ST_OK;
}

/* The engines of each model; at least one each while there are enough. */
static void divide(struct scenario_run *run, const struct scenario *scenario, uint32_t engines)
{
    uint32_t left = engines;
    for (uint32_t i = 0; i < scenario->model_count; i++) {
        bool is_last = i + 1 == scenario->model_count;
        uint32_t count = (uint32_t)(scenario->models[i].engines_share * engines + 0.5);
        count = count > 0 ? count : 1;
        count = is_last || count > left ? left : count;
        run->model_names[i] = str_of(scenario->models[i].name);
        run->model_engines[i] = count;
        left -= count;
    }
}

void scenario_run_init(struct scenario_run *run, const struct scenario *scenario, uint32_t engines)
{
    *run = (struct scenario_run){0};
    divide(run, scenario, engines);
    for (uint32_t i = 0; i < scenario->tenant_count; i++) {
        run->tenant_names[i] = str_of(scenario->tenants[i].name);
    }
    run->lab = (struct lab_scenario){
        .faults = scenario->faults,
        .fault_count = scenario->fault_count,
        .net = scenario->net,
        .stale_us = scenario->stale_us,
        .model_names = run->model_names,
        .model_engines = run->model_engines,
        .model_count = scenario->model_count,
        .tenant_names = run->tenant_names,
        .tenant_count = scenario->tenant_count,
    };
}
