/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/setup.h"

#include "bench/lab/chat.h"
#include "bench/lab/played.h"

/* The smallest and the largest memory of all runs; each makes an engine. */
struct range {
    uint32_t least_kv_tokens;
    double most_kv_scale;
};

static enum status look_at(const struct lab_setup *setup,
                           const struct lab_engine_spec *spec,
                           struct range *range,
                           struct err *err)
{
    struct sim_engine_opts engine;
    enum status st = lab_engine_spec_apply(spec, &setup->opts.profile, &engine, err);
    if (st == ST_OK) {
        uint32_t tokens = engine.profile.kv_tokens;
        tokens -= tokens % engine.block_tokens;
        range->least_kv_tokens = tokens < range->least_kv_tokens ? tokens : range->least_kv_tokens;
        range->most_kv_scale =
            spec->kv_scale > range->most_kv_scale ? spec->kv_scale : range->most_kv_scale;
    }
    return st;
}

static enum status find_range(const struct lab_setup *setup, struct range *ret, struct err *err)
{
    struct range range = {.least_kv_tokens = UINT32_MAX};
    enum status st = ST_OK;
    for (uint32_t e = 0; e < setup->entry_count; e++) {
        for (uint32_t m = 0; m < lab_options_memories(&setup->opts) && st == ST_OK; m++) {
            struct lab_engine_spec spec = lab_entry_engine(&setup->entries[e], &setup->opts, m);
            st = look_at(setup, &spec, &range, err);
        }
    }
    *ret = range;
    return st;
}

/* Results are told apart by what the entries are called. */
static enum status check_twice(const struct lab_options *opts, uint32_t idx, struct err *err)
{
    struct str label = opts->policies[idx];
    for (uint32_t i = 0; i < idx; i++) {
        if (str_eq(opts->policies[i], label)) {
            return err_set(err, ST_INVAL, "--policies: %.*s stands there twice", (int)label.len,
                           label.p);
        }
    }
    return ST_OK;
}

/* Where the scenario's load goes down for good, runs have to recover from there on. */
static void take_recovery(struct lab_setup *setup)
{
    const struct scenario *scenario = &setup->scenario.scenario;
    uint32_t count = scenario->load_count;
    if (setup->opts.recovery_from_s < 0 && count > 1 &&
        scenario->loads[count - 1].share < scenario->loads[count - 2].share) {
        setup->opts.recovery_from_s = scenario->loads[count - 1].from_s;
    }
}

enum status lab_setup_entries(struct lab_setup *setup, struct err *err)
{
    struct range range;
    enum status st = scenario_setup_make(&setup->scenario, &setup->opts, err);
    if (st == ST_OK) {
        take_recovery(setup);
    }
    for (uint32_t i = 0; i < setup->opts.policy_count && st == ST_OK; i++) {
        st = check_twice(&setup->opts, i, err);
        if (st != ST_OK) {
            return st;
        }
        setup->entry_count++;
        st = lab_entry_make(&setup->entries[i], &setup->opts, setup->opts.policies[i], err);
    }
    return st == ST_OK ? find_range(setup, &range, err) : st;
}

static enum status
load_sessions(struct lab_setup *setup, const struct range *range, struct err *err)
{
    const struct lab_options *opts = &setup->opts;
    if (opts->played != NULL) {
        enum status st = bench_log_load(&setup->log, mem_heap(), opts->played, err);
        return st == ST_OK ? played_workload(&setup->workload, mem_heap(), &setup->log, err) : st;
    }
    const struct workload_opts wanted = {
        .kind = scenario_setup_kind(&setup->scenario, opts),
        .split = opts->split,
        .only = opts->only,
        .leave_out = opts->leave_out,
        .kv_tokens = range->least_kv_tokens,
        .profile = &opts->profile,
    };
    if (opts->workload == WORKLOAD_CHAT) {
        return opts->trace != NULL
                   ? chat_load(&setup->workload, opts->trace, &wanted, err)
                   : err_set(err, ST_INVAL, "--workload chat needs --trace, a Mooncake trace");
    }
    enum status st = trace_load_named(&setup->trace, mem_heap(), opts->trace, err);
    return st == ST_OK ? workload_make(&setup->workload, mem_heap(), &setup->trace, &wanted, err)
                       : st;
}

enum status lab_setup_load(struct lab_setup *setup, struct err *err)
{
    const struct lab_options *opts = &setup->opts;
    struct range range;
    struct lab_engine_spec alone = opts->engine;
    enum status st = find_range(setup, &range, err);
    if (st == ST_OK) {
        st = load_sessions(setup, &range, err);
    }
    if (st != ST_OK) {
        return st;
    }
    setup->alone_us =
        mem_calloc(mem_heap(), setup->workload.session_count, sizeof(*setup->alone_us));
    if (setup->alone_us == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the workload");
    }
    setup->batch = (struct batch){
        .workload = &setup->workload,
        .scenario = setup->scenario.has_scenario ? &setup->scenario.scenario : NULL,
        .alone_us = setup->alone_us,
        .engines = opts->engines,
        .jobs = opts->jobs,
        .hours = opts->played != NULL ? 0 : opts->hours,
        .network_us = opts->played != NULL ? 0 : BATCH_NETWORK_US,
        .shows_progress = opts->shows_progress,
        .keeps_timeline = opts->plot != NULL,
    };
    alone.kv_scale = range.most_kv_scale;
    alone.tier_tokens = 0;
    alone.store_tokens = 0;
    st = lab_engine_spec_apply(&alone, &opts->profile, &setup->batch.alone, err);
    return st == ST_OK ? batch_alone(&setup->batch, setup->alone_us, err) : st;
}

void lab_setup_fini(struct lab_setup *setup)
{
    for (uint32_t i = 0; i < setup->entry_count; i++) {
        lab_entry_fini(&setup->entries[i]);
    }
    mem_free(mem_heap(), setup->alone_us, setup->workload.session_count * sizeof(*setup->alone_us));
    workload_fini(&setup->workload);
    trace_fini(&setup->trace);
    bench_log_fini(&setup->log);
    scenario_setup_fini(&setup->scenario);
}

struct batch_run
lab_setup_run(const struct lab_setup *setup, uint32_t entry, uint32_t memory, struct batch_case *of)
{
    struct batch_run run = {.of = of, .entry = &setup->entries[entry]};
    struct err err = {0};
    run.spec = lab_entry_engine(run.entry, &setup->opts, memory);
    run.status = lab_engine_spec_apply(&run.spec, &setup->opts.profile, &run.engine, &err);
    return run;
}
