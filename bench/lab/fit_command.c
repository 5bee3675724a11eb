/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the measured steps are read; 2. the constants are fitted; 3. the profile goes to
 * the file or to standard output, what is known about it before it as comments.
 * Failures: bad options: 2; a file that cannot be read or written, data that does not tell: a
 * message and 1. */
#include "bench/lab/fit_command.h"

#include "bench/lab/bench_log.h"
#include "bench/lab/fit.h"
#include "bench/lab/profile_file.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char help_text[] =
    "usage: saga sim profile fit --from BENCH.json [OPTIONS]\n"
    "\n"
    "Fits the constants of a profile to a run of `saga bench --json --rows` against a real "
    "engine.\n"
    "\n"
    "  --from BENCH.json  the run\n"
    "  --like PROFILE     a name or FILE.yaml: has what times cannot tell, as the sizes of batch "
    "and memory; its\n"
    "                     max_running and budget_tokens must be the engine's (default: default)\n"
    "  --name NAME        of the profile (default: fitted)\n"
    "  --out FILE.yaml    where it goes (default: standard output)\n";

struct args {
    const char *from;
    const char *like;
    const char *name;
    const char *out;
};

static bool parse(int argc, char **argv, struct args *ret)
{
    const struct {
        const char *name;
        const char **target;
    } options[] = {{"--from", &ret->from},
                   {"--like", &ret->like},
                   {"--name", &ret->name},
                   {"--out", &ret->out}};
    for (int i = 1; i < argc; i += 2) {
        const char **target = NULL;
        for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
            target = strcmp(argv[i], options[k].name) == 0 ? options[k].target : target;
        }
        if (target == NULL || i + 1 == argc) {
            return false;
        }
        *target = argv[i + 1];
    }
    return ret->from != NULL;
}

static int by_engine_and_time(const void *a, const void *b)
{
    const struct fit_step *x = a;
    const struct fit_step *y = b;
    if (x->engine != y->engine) {
        return x->engine < y->engine ? -1 : 1;
    }
    return x->sent_s < y->sent_s ? -1 : x->sent_s > y->sent_s;
}

/* Number of the engine: that of the first row that has its name. */
static uint32_t engine_of(const struct rows *rows, uint32_t idx)
{
    uint32_t at = 0;
    while (strcmp(rows->rows[at].engine, rows->rows[idx].engine) != 0) {
        at++;
    }
    return at;
}

/* ret [rows->count]; how many. Steps whose engine is not known, while that of others is, cannot be
 * placed: they waited so long that a gateway opened their streams early. */
static uint32_t make_steps(const struct rows *rows, struct fit_step *ret)
{
    uint32_t count = 0;
    bool has_names = false;
    for (uint32_t i = 0; i < rows->count; i++) {
        has_names = has_names || rows->rows[i].engine[0] != '\0';
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->rows[i];
        if (has_names && row->engine[0] == '\0') {
            continue;
        }
        ret[count++] = (struct fit_step){
            .sent_s = row->sent_s,
            .ttft_s = row->ttft_s,
            .step_s = row->step_s,
            .prompt_tokens = row->prompt_tokens,
            .cached_tokens = row->cached_tokens,
            .output_tokens = row->output_tokens > 0 ? row->output_tokens : 1,
            .engine = engine_of(rows, i),
        };
    }
    qsort(ret, count, sizeof(*ret), by_engine_and_time);
    return count;
}

static enum status make(const struct args *args, struct fit *ret, struct err *err)
{
    struct bench_log log = {0};
    struct sim_profile like;
    enum status st = profile_load(args->like, &like, err);
    if (st == ST_OK) {
        st = bench_log_load(&log, mem_heap(), args->from, err);
    }
    if (st != ST_OK) {
        return st;
    }
    (void)str_copy(like.name, sizeof(like.name), str_of(args->name));
    (void)snprintf(like.text, sizeof(like.text), "fitted to a measured run of %u steps",
                   log.rows.count);
    struct fit_step *steps = mem_calloc(mem_heap(), (size_t)log.rows.count + 1, sizeof(*steps));
    if (steps == NULL) {
        st = err_set(err, ST_NOMEM, "no memory for %u steps", log.rows.count);
    } else {
        uint32_t count = make_steps(&log.rows, steps);
        st = fit_make(steps, count, &like, mem_heap(), ret, err);
    }
    mem_free(mem_heap(), steps, ((size_t)log.rows.count + 1) * sizeof(*steps));
    bench_log_fini(&log);
    return st;
}

static enum status write_out(const char *path, const struct buf *text, struct err *err)
{
    FILE *file = path == NULL ? stdout : fopen(path, "we");
    bool is_fine = file != NULL && fwrite(text->p, 1, text->len, file) == text->len;
    if (file != NULL && file != stdout) {
        is_fine = fclose(file) == 0 && is_fine;
    } else if (file != NULL) {
        is_fine = fflush(file) == 0 && is_fine;
    }
    return is_fine ? ST_OK
                   : err_set(err, ST_IO, "cannot write %s", path == NULL ? "the result" : path);
}

static enum status put_out(const struct args *args, const struct fit *fit, struct err *err)
{
    struct buf text;
    buf_init(&text, mem_heap(), SIM_PROFILE_TEXT_MAX);
    enum status st = fit_report(fit, &text);
    if (st == ST_OK && args->out != NULL) {
        (void)fwrite(text.p, 1, text.len, stdout);
    }
    if (st == ST_OK) {
        st = sim_profile_write(&fit->profile, &text);
    }
    st = st == ST_OK ? write_out(args->out, &text, err)
                     : err_set(err, st, "the result: %s", status_text(st));
    buf_fini(&text);
    return st;
}

int fit_command(int argc, char **argv)
{
    struct args args = {.like = "default", .name = "fitted"};
    struct fit fit;
    struct err err = {0};
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)fputs(help_text, stdout);
        return EXIT_FINE;
    }
    if (!parse(argc, argv, &args)) {
        (void)fputs(help_text, stderr);
        return EXIT_USAGE;
    }
    enum status st = make(&args, &fit, &err);
    if (st == ST_OK) {
        st = sim_profile_check(&fit.profile, &err);
    }
    if (st == ST_OK) {
        st = put_out(&args, &fit, &err);
    }
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga sim profile fit: %s\n", err.text);
    }
    return st == ST_OK ? EXIT_FINE : EXIT_FAILED;
}
