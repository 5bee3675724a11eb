/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. sessions and arrivals are drawn for each load and seed; 2. all runs, several at a
 * time; 3. the reports are made, then written.
 * Failures: as said by whoever failed; nothing is printed then. */
#include "bench/lab/sweep.h"

#include "bench/lab/output.h"
#include "bench/lab/played.h"
#include "bench/lab/report.h"

struct sweep {
    const struct lab_setup *setup;
    struct batch *batch;
    struct batch_case *cases; /* [case_count], loads times seeds */
    uint32_t case_count;
};

static enum status
draw_case(const struct lab_setup *setup, uint32_t load, struct batch_case *made, struct err *err)
{
    if (setup->opts.played == NULL) {
        return scenario_setup_draw(&setup->scenario, &setup->opts, load, &setup->workload, made,
                                   err);
    }
    enum status st = played_draw(&made->draw, mem_heap(), &setup->log, &setup->workload);
    if (st == ST_OK) {
        made->rate_per_s = played_rate_per_s(&made->draw);
    }
    return st == ST_OK ? st
                       : err_set(err, st, "the sessions that were played: %s", status_text(st));
}

static enum status draw_cases(struct sweep *sweep, struct err *err)
{
    const struct lab_options *opts = &sweep->setup->opts;
    uint32_t count = opts->load_count * opts->seed_count;
    sweep->cases = mem_calloc(mem_heap(), count, sizeof(*sweep->cases));
    if (sweep->cases == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the runs");
    }
    sweep->case_count = count;
    enum status st = ST_OK;
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        struct batch_case *made = &sweep->cases[i];
        made->seed = opts->seeds[i % opts->seed_count];
        st = draw_case(sweep->setup, i / opts->seed_count, made, err);
    }
    return st;
}

static enum status make_runs(struct sweep *sweep, struct err *err)
{
    uint32_t entries = sweep->setup->entry_count;
    uint32_t a_memory = sweep->case_count * entries;
    uint32_t count = lab_options_memories(&sweep->setup->opts) * a_memory;
    sweep->batch->runs = mem_calloc(mem_heap(), count, sizeof(*sweep->batch->runs));
    if (sweep->batch->runs == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the runs");
    }
    sweep->batch->run_count = count;
    for (uint32_t i = 0; i < count; i++) {
        sweep->batch->runs[i] = lab_setup_run(sweep->setup, i % entries, i / a_memory,
                                              &sweep->cases[i % a_memory / entries]);
    }
    return ST_OK;
}

struct texts {
    struct buf table;
    struct buf json;
    struct buf sessions;
    struct buf engines;
};

static enum status
put_out(const struct lab_options *opts, const struct texts *texts, struct err *err)
{
    enum status st = output_put(opts->json, &texts->table, &texts->json, err);
    if (st == ST_OK && opts->plot != NULL) {
        st = output_into(opts->plot, "runs.json", &texts->json, err);
    }
    if (st == ST_OK && opts->plot != NULL) {
        st = output_into(opts->plot, "sessions.csv", &texts->sessions, err);
    }
    if (st == ST_OK && opts->plot != NULL) {
        st = output_into(opts->plot, "engines.csv", &texts->engines, err);
    }
    return st;
}

static enum status print(const struct sweep *sweep, struct err *err)
{
    const struct lab_options *opts = &sweep->setup->opts;
    const struct lab_report report = {.opts = opts, .batch = sweep->batch};
    struct texts texts;
    buf_init(&texts.table, mem_heap(), OUTPUT_BYTES_MAX);
    buf_init(&texts.json, mem_heap(), OUTPUT_BYTES_MAX);
    buf_init(&texts.sessions, mem_heap(), OUTPUT_BYTES_MAX);
    buf_init(&texts.engines, mem_heap(), OUTPUT_BYTES_MAX);
    enum status st = lab_report_table(&report, &texts.table);
    if (st == ST_OK && (opts->json != NULL || opts->plot != NULL)) {
        st = lab_report_json(&report, &texts.json);
    }
    if (st == ST_OK && opts->plot != NULL) {
        st = lab_report_sessions(&report, &texts.sessions);
    }
    if (st == ST_OK && opts->plot != NULL) {
        st = lab_report_engines(&report, &texts.engines);
    }
    st = st == ST_OK ? put_out(opts, &texts, err)
                     : err_set(err, st, "the report: %s", status_text(st));
    buf_fini(&texts.table);
    buf_fini(&texts.json);
    buf_fini(&texts.sessions);
    buf_fini(&texts.engines);
    return st;
}

static void release(struct sweep *sweep)
{
    batch_release(sweep->batch);
    mem_free(mem_heap(), sweep->batch->runs, sweep->batch->run_count * sizeof(*sweep->batch->runs));
    sweep->batch->runs = NULL;
    sweep->batch->run_count = 0;
    for (uint32_t i = 0; i < sweep->case_count; i++) {
        draw_fini(&sweep->cases[i].draw);
    }
    mem_free(mem_heap(), sweep->cases, sweep->case_count * sizeof(*sweep->cases));
}

enum status lab_sweep(struct lab_setup *setup, struct err *err)
{
    struct sweep sweep = {.setup = setup, .batch = &setup->batch};
    enum status st = draw_cases(&sweep, err);
    if (st == ST_OK) {
        st = make_runs(&sweep, err);
    }
    if (st == ST_OK) {
        st = batch_run_all(sweep.batch, err);
    }
    if (st == ST_OK) {
        st = print(&sweep, err);
    }
    release(&sweep);
    return st;
}
