/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. options; 2. the trace is read; 3. each source is learned and forecast, with a line
 * of progress on standard error; 4. the result goes to standard output.
 * Failures: bad options or trace: a message and exit code 2 or 1. */
#include "bench/aeg/command.h"

#include "bench/aeg/report.h"

#include <stdio.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, REPORT_BYTES_MAX = 1 << 24 };

struct options {
    const char *trace; /* NULL = the sample that is built in */
    bool is_json;
    bool wants_help;
};

static const char *const help =
    "usage: saga aeg eval [--trace FILE] [--json]\n"
    "Learns on half of the recorded sessions of each source and forecasts the other half: when "
    "the\n"
    "next step comes, how large it is, how much work is left; against three simple forecasts.\n\n"
    "  --trace FILE  recorded sessions (JSON lines, also gzip); default: the built-in sample\n"
    "  --json        the result as JSON instead of tables\n";

static bool parse(int argc, char **argv, struct options *ret)
{
    *ret = (struct options){0};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        ret->wants_help = true;
        return true;
    }
    if (argc < 2 || strcmp(argv[1], "eval") != 0) {
        (void)fputs("saga aeg: what is to be done? \"eval\" is known\n", stderr);
        return false;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            ret->is_json = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            ret->wants_help = true;
        } else if (strcmp(argv[i], "--trace") == 0 && i + 1 < argc) {
            i++;
            ret->trace = argv[i];
        } else {
            (void)fprintf(stderr, "saga aeg eval: cannot use \"%s\"; see --help\n", argv[i]);
            return false;
        }
    }
    return true;
}

static void
on_progress(void *ctx, const char *source, const char *doing, uint32_t pass, uint32_t passes)
{
    (void)ctx;
    (void)fprintf(stderr, "[%u/%u] %s: %s\n", pass, passes, source, doing);
}

static enum status print(struct eval *eval, bool is_json)
{
    struct buf text;
    buf_init(&text, mem_heap(), REPORT_BYTES_MAX);
    enum status st = is_json ? report_eval_json(eval, &text) : report_eval_text(eval, &text);
    if (st == ST_OK && (fwrite(text.p, 1, text.len, stdout) != text.len || fflush(stdout) != 0)) {
        st = ST_IO;
    }
    buf_fini(&text);
    return st;
}

int aeg_command(int argc, char **argv)
{
    struct options opts;
    struct trace trace = {0};
    struct eval eval = {0};
    struct err err = {0};
    if (!parse(argc, argv, &opts)) {
        return EXIT_USAGE;
    }
    if (opts.wants_help) {
        (void)fputs(help, stdout);
        return EXIT_FINE;
    }
    enum status st = trace_load_named(&trace, mem_heap(), opts.trace, &err);
    if (st == ST_OK) {
        st = eval_run(&eval, mem_heap(), &trace, on_progress, NULL);
        if (st == ST_OK) {
            st = print(&eval, opts.is_json);
        }
        if (st != ST_OK) {
            status_ignore(err_set(&err, st, "%s", status_text(st)), "printed below");
        }
    }
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga aeg eval: %s\n", err.text);
    }
    eval_fini(&eval);
    trace_fini(&trace);
    return st == ST_OK ? EXIT_FINE : EXIT_FAILED;
}
