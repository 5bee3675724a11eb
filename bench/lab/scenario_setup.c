/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/scenario_setup.h"

#include "bench/lab/tenants_shares.h"

#include <stdio.h>

/* Of --arrivals gamma without --burst. */
#define GAMMA_CV 2.0

static enum status
load_arrivals(struct scenario_setup *setup, struct lab_options *opts, struct err *err)
{
    if (opts->arrivals == NULL || strcmp(opts->arrivals, "poisson") == 0) {
        bool is_gamma = opts->arrivals != NULL && opts->burst_cv != 1;
        return is_gamma ? err_set(err, ST_INVAL, "--arrivals poisson has no --burst") : ST_OK;
    }
    if (strcmp(opts->arrivals, "gamma") == 0) {
        opts->burst_cv = opts->burst_cv != 1 ? opts->burst_cv : GAMMA_CV;
        return ST_OK;
    }
    if (opts->burst_cv != 1) {
        return err_set(err, ST_INVAL, "--burst has no say over the times of a file");
    }
    return arrivals_times_load(&setup->times, opts->arrivals, err);
}

static enum status
load_tenants(struct scenario_setup *setup, const struct lab_options *opts, struct err *err)
{
    if (opts->tenants == NULL) {
        return ST_OK;
    }
    if (setup->scenario.tenant_count > 0) {
        return err_set(err, ST_INVAL, "--tenants: scenario %s has its own", opts->scenario);
    }
    setup->has_scenario = true;
    return tenants_shares_load(&setup->scenario, opts->tenants, err);
}

/* Loads that the scenario brings with it. */
static void take_load(const struct scenario_setup *setup, struct lab_options *opts)
{
    double own = scenario_mean_load(&setup->scenario, opts->hours);
    if (own > 0 && !opts->has_load) {
        opts->loads[0] = own;
        opts->load_count = 1;
    }
}

static enum status
check(const struct scenario_setup *setup, const struct lab_options *opts, struct err *err)
{
    for (uint32_t i = 0; opts->workload >= WORKLOAD_CHAT && i < setup->scenario.tenant_count; i++) {
        if (setup->scenario.tenants[i].has_workload) {
            return err_set(err, ST_INVAL,
                           "tenants that have their own workload do not go with --workload %s",
                           workload_names[opts->workload]);
        }
    }
    if (opts->is_finding && setup->has_scenario) {
        return err_set(err, ST_INVAL, "--find-saturation: L* is of calm times, without a scenario");
    }
    return ST_OK;
}

enum status
scenario_setup_make(struct scenario_setup *ret, struct lab_options *opts, struct err *err)
{
    *ret = (struct scenario_setup){0};
    enum status st = load_arrivals(ret, opts, err);
    if (st == ST_OK && opts->scenario != NULL) {
        ret->has_scenario = true;
        st = scenario_load(&ret->scenario, opts->scenario, err);
    }
    if (st == ST_OK) {
        st = load_tenants(ret, opts, err);
    }
    if (st == ST_OK) {
        st = check(ret, opts, err);
    }
    if (st == ST_OK && ret->has_scenario && !opts->has_rate) {
        take_load(ret, opts);
    }
    return st;
}

void scenario_setup_fini(struct scenario_setup *setup)
{
    arrivals_times_fini(&setup->times);
}

enum workload_kind scenario_setup_kind(const struct scenario_setup *setup,
                                       const struct lab_options *opts)
{
    for (uint32_t i = 0; i < setup->scenario.tenant_count; i++) {
        const struct scenario_tenant *tenant = &setup->scenario.tenants[i];
        if (tenant->has_workload && tenant->workload != opts->workload) {
            return WORKLOAD_MIX;
        }
    }
    return opts->workload;
}

/* With --rate, L* is what it says: loads of tenants and over time are shares of that. */
static double
load_of(const struct scenario_setup *setup, const struct lab_options *opts, uint32_t load)
{
    double own = scenario_mean_load(&setup->scenario, opts->hours);
    return opts->has_rate ? (own > 0 ? own : 1) : opts->loads[load];
}

enum status scenario_setup_draw(const struct scenario_setup *setup,
                                const struct lab_options *opts,
                                uint32_t load,
                                const struct workload *workload,
                                struct batch_case *made,
                                struct err *err)
{
    struct scenario_part parts[SCENARIO_TENANTS_MAX] = {{0}};
    double limits[WORKLOAD_KIND_COUNT];
    for (uint32_t i = 0; i < WORKLOAD_KIND_COUNT; i++) {
        limits[i] =
            opts->has_rate ? opts->loads[load] : lab_options_limit_of(opts, (enum workload_kind)i);
    }
    made->load = load_of(setup, opts, load);
    made->rate_per_s = made->load * limits[opts->workload];
    enum status st =
        scenario_parts(&setup->scenario, made->load, limits, opts->workload, parts, err);
    if (st != ST_OK) {
        return st;
    }
    if (setup->scenario.tenant_count > 0) {
        made->rate_per_s = 0;
    }
    for (uint32_t i = 0; i < setup->scenario.tenant_count; i++) {
        made->rate_per_s += parts[i].rate_per_s;
    }
    const struct draw_opts draw = {
        .rate_per_s = made->rate_per_s,
        .burst_cv = opts->burst_cv,
        .hours = opts->hours,
        .seed = made->seed,
        .times = setup->times.count > 0 ? &setup->times : NULL,
        .scenario = setup->has_scenario ? &setup->scenario : NULL,
        .parts = parts,
    };
    st = draw_make(&made->draw, mem_heap(), workload, &draw);
    return st == ST_OK ? st : err_set(err, st, "sessions of the runs: %s", status_text(st));
}

void scenario_setup_list(void)
{
    for (size_t i = 0; scenario_builtin_at(i) != NULL; i++) {
        struct scenario scenario;
        struct err err = {0};
        const struct scenario_builtin *built = scenario_builtin_at(i);
        if (scenario_load(&scenario, built->name, &err) == ST_OK) {
            (void)printf("%-24s %s\n", built->name, scenario.text);
        }
    }
}
