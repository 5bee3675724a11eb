/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. options; 2. the trace is read and the workload cut from it; 3. each recorded
 * session is played alone; 4. sessions and arrivals are drawn for each load and seed; 5. all runs,
 * several at a time; 6. the table or JSON goes to standard output, files where they were asked for.
 * Failures: bad options: a message and exit code 2; all else: a message and 1. */
#include "bench/lab/command.h"

#include "bench/lab/report.h"
#include "bench/lab/saturation.h"
#include "routing/registry.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
#define REPORT_BYTES_MAX (SIZE_MAX / 2)
enum { BLOCK_TOKENS = 16, QUEUE_MAX = 1 << 20, PATH_BYTES = 4096 };
/* Where the search for L* begins when nothing is known, sessions/s. */
#define SEARCH_FROM_PER_S 0.05

struct command {
    struct lab_options opts;
    struct trace trace;
    struct workload workload;
    struct batch batch;
    struct batch_case *cases; /* [case_count], loads times seeds */
    uint32_t case_count;
    uint64_t *alone_us; /* [workload.session_count] */
};

static enum status prepare(struct command *cmd, struct err *err)
{
    const struct lab_options *opts = &cmd->opts;
    enum status st = trace_load_named(&cmd->trace, mem_heap(), cmd->opts.trace, err);
    if (st == ST_OK) {
        const struct workload_opts wanted = {
            .kind = opts->workload, .split = opts->split, .profile = &opts->profile};
        st = workload_make(&cmd->workload, mem_heap(), &cmd->trace, &wanted, err);
    }
    if (st != ST_OK) {
        return st;
    }
    cmd->alone_us = mem_calloc(mem_heap(), cmd->workload.session_count, sizeof(*cmd->alone_us));
    if (cmd->alone_us == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the workload");
    }
    cmd->batch = (struct batch){
        .workload = &cmd->workload,
        .alone_us = cmd->alone_us,
        .engines = opts->engines,
        .jobs = opts->jobs,
        .hours = opts->hours,
        .shows_progress = opts->shows_progress,
        .engine =
            {
                .profile = opts->profile,
                .evict = opts->evict,
                .block_tokens = BLOCK_TOKENS,
                .queue_max = QUEUE_MAX,
                .has_prefix_cache = true,
            },
    };
    return batch_alone(&cmd->batch, cmd->alone_us, err);
}

static enum status draw_cases(struct command *cmd, struct err *err)
{
    const struct lab_options *opts = &cmd->opts;
    uint32_t count = opts->load_count * opts->seed_count;
    cmd->cases = mem_calloc(mem_heap(), count, sizeof(*cmd->cases));
    enum status st = cmd->cases == NULL ? ST_NOMEM : ST_OK;
    cmd->case_count = cmd->cases == NULL ? 0 : count;
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        struct batch_case *made = &cmd->cases[i];
        double load = opts->loads[i / opts->seed_count];
        made->seed = opts->seeds[i % opts->seed_count];
        made->rate_per_s = opts->has_rate ? load : load * lab_options_limit(opts);
        const struct draw_opts draw = {
            .rate_per_s = made->rate_per_s,
            .burst_cv = opts->burst_cv,
            .hours = opts->hours,
            .seed = made->seed,
        };
        st = draw_make(&made->draw, mem_heap(), &cmd->workload, &draw);
    }
    return st == ST_OK ? st : err_set(err, st, "sessions of the runs: %s", status_text(st));
}

static enum status make_runs(struct command *cmd, struct err *err)
{
    const struct lab_options *opts = &cmd->opts;
    uint32_t count = cmd->case_count * opts->policy_count;
    cmd->batch.runs = mem_calloc(mem_heap(), count, sizeof(*cmd->batch.runs));
    if (cmd->batch.runs == NULL) {
        return err_set(err, ST_NOMEM, "no memory for the runs");
    }
    cmd->batch.run_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct batch_run *run = &cmd->batch.runs[i];
        run->of = &cmd->cases[i / opts->policy_count];
        run->policy = opts->policies[i % opts->policy_count];
        run->is_unlimited = str_eq(run->policy, STR(LAB_UNLIMITED));
    }
    return ST_OK;
}

static enum status write_file(const char *path, const struct buf *text, struct err *err)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return err_set(err, ST_IO, "cannot write %s", path);
    }
    bool is_fine = fwrite(text->p, 1, text->len, file) == text->len;
    is_fine = fclose(file) == 0 && is_fine;
    return is_fine ? ST_OK : err_set(err, ST_IO, "cannot write %s", path);
}

static enum status
write_into(const char *folder, const char *name, const struct buf *text, struct err *err)
{
    char path[PATH_BYTES];
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        return err_set(err, ST_TOOBIG, "the path of %s is too long", name);
    }
    return write_file(path, text, err);
}

static enum status to_stdout(const struct buf *text, struct err *err)
{
    bool is_fine = fwrite(text->p, 1, text->len, stdout) == text->len && fflush(stdout) == 0;
    return is_fine ? ST_OK : err_set(err, ST_IO, "cannot write to standard output");
}

struct texts {
    struct buf table;
    struct buf json;
    struct buf sessions;
};

static enum status
put_out(const struct lab_options *opts, const struct texts *texts, struct err *err)
{
    bool is_json_out = opts->json != NULL && strcmp(opts->json, "-") == 0;
    enum status st = to_stdout(is_json_out ? &texts->json : &texts->table, err);
    if (st == ST_OK && opts->json != NULL && !is_json_out) {
        st = write_file(opts->json, &texts->json, err);
    }
    if (st == ST_OK && opts->plot != NULL) {
        (void)mkdir(opts->plot, 0777);
        st = write_into(opts->plot, "runs.json", &texts->json, err);
    }
    if (st == ST_OK && opts->plot != NULL) {
        st = write_into(opts->plot, "sessions.csv", &texts->sessions, err);
    }
    return st;
}

static enum status print(const struct command *cmd, struct err *err)
{
    const struct lab_report report = {.opts = &cmd->opts, .batch = &cmd->batch};
    struct texts texts;
    buf_init(&texts.table, mem_heap(), REPORT_BYTES_MAX);
    buf_init(&texts.json, mem_heap(), REPORT_BYTES_MAX);
    buf_init(&texts.sessions, mem_heap(), REPORT_BYTES_MAX);
    enum status st = lab_report_table(&report, &texts.table);
    if (st == ST_OK && (cmd->opts.json != NULL || cmd->opts.plot != NULL)) {
        st = lab_report_json(&report, &texts.json);
    }
    if (st == ST_OK && cmd->opts.plot != NULL) {
        st = lab_report_sessions(&report, &texts.sessions);
    }
    st = st == ST_OK ? put_out(&cmd->opts, &texts, err)
                     : err_set(err, st, "the report: %s", status_text(st));
    buf_fini(&texts.table);
    buf_fini(&texts.json);
    buf_fini(&texts.sessions);
    return st;
}

static enum status find_limit(struct command *cmd, struct err *err)
{
    const struct lab_options *opts = &cmd->opts;
    double known = lab_options_limit(opts);
    double from = known > 0 ? known : SEARCH_FROM_PER_S * opts->engines / 16;
    const struct draw_opts draw = {
        .rate_per_s = from,
        .burst_cv = opts->burst_cv,
        .hours = opts->hours,
        .seed = opts->seeds[0],
    };
    struct saturation found;
    enum status st = saturation_find(&cmd->batch, &draw, stderr, &found, err);
    if (st == ST_OK) {
        (void)printf("%.4f sessions/s (workload %s, %u x %s, mean slowdown at low load %.2f)\n",
                     found.rate_per_s, workload_names[opts->workload], opts->engines,
                     opts->profile.name, found.low_slowdown);
    }
    return st;
}

static enum status run(struct command *cmd, struct err *err)
{
    enum status st = prepare(cmd, err);
    if (st == ST_OK && cmd->opts.is_finding) {
        return find_limit(cmd, err);
    }
    if (st == ST_OK) {
        st = draw_cases(cmd, err);
    }
    if (st == ST_OK) {
        st = make_runs(cmd, err);
    }
    if (st == ST_OK) {
        st = batch_run_all(&cmd->batch, err);
    }
    return st == ST_OK ? print(cmd, err) : st;
}

static void release(struct command *cmd)
{
    batch_release(&cmd->batch);
    mem_free(mem_heap(), cmd->batch.runs, cmd->batch.run_count * sizeof(*cmd->batch.runs));
    for (uint32_t i = 0; i < cmd->case_count; i++) {
        draw_fini(&cmd->cases[i].draw);
    }
    mem_free(mem_heap(), cmd->cases, cmd->case_count * sizeof(*cmd->cases));
    mem_free(mem_heap(), cmd->alone_us, cmd->workload.session_count * sizeof(*cmd->alone_us));
    workload_fini(&cmd->workload);
    trace_fini(&cmd->trace);
}

static enum status check_policies(const struct lab_options *opts, struct err *err)
{
    for (uint32_t i = 0; i < opts->policy_count; i++) {
        struct str name = opts->policies[i];
        if (!str_eq(name, STR(LAB_UNLIMITED)) && route_policy_find(name) == NULL) {
            return err_set(err, ST_INVAL, "no policy \"%.*s\"; see --list-policies", (int)name.len,
                           name.p);
        }
    }
    return ST_OK;
}

static void list_policies(void)
{
    for (size_t i = 0; route_policy_at(i) != NULL; i++) {
        const struct route_policy *policy = route_policy_at(i);
        (void)printf("%-20s %s\n", policy->name, policy->text);
    }
    (void)printf("%-20s %s\n", LAB_UNLIMITED,
                 "the bound: every prefix ever computed is cached everywhere, for free");
}

int lab_command(int argc, char **argv)
{
    struct command cmd = {0};
    struct err err = {0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    enum status st = lab_options_parse(
        argc, argv, cpus > 0 && cpus < BATCH_JOBS_MAX ? (uint32_t)cpus : 1, &cmd.opts, &err);
    if (st == ST_OK && cmd.opts.wants_help) {
        (void)fputs(lab_options_help(), stdout);
        return EXIT_FINE;
    }
    if (st == ST_OK && cmd.opts.lists_policies) {
        list_policies();
        return EXIT_FINE;
    }
    if (st == ST_OK) {
        st = check_policies(&cmd.opts, &err);
    }
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga sim: %s\n", err.text);
        return EXIT_USAGE;
    }
    cmd.opts.shows_progress = cmd.opts.shows_progress || isatty(STDERR_FILENO) == 1;
    st = run(&cmd, &err);
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga sim: %s\n", err.text);
    }
    release(&cmd);
    return st == ST_OK ? EXIT_FINE : EXIT_FAILED;
}
