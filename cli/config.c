/* SPDX-License-Identifier: Apache-2.0 */
/* saga config: check a file, print an example, print the manual's pages. */
#include "cli/cmd.h"
#include "common/rt/config_read.h"
#include "common/rt/metric.h"

#include <stdio.h>
#include <string.h>

enum { CONFIG_OUT_BYTES = 1 << 20 };

static const char usage[] =
    "usage: saga config check FILE      say whether FILE is a configuration that `saga serve` "
    "takes\n"
    "       saga config example         print a complete file with every key at its default\n"
    "       saga config docs [metrics]  print docs/config.md (or docs/metrics.md)\n"
    "\n"
    "Exit code: 0 fine, 1 something is wrong (said on standard error), 2 called wrongly.\n";

typedef enum status (*render_fn)(struct buf *out);

static int print_rendered(render_fn render)
{
    struct buf out;
    int rc = CMD_FAILED;
    buf_init(&out, mem_heap(), CONFIG_OUT_BYTES);
    if (render(&out) != ST_OK) {
        (void)fprintf(stderr, "saga config: out of memory\n");
    } else if (fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0) {
        rc = CMD_OK;
    } else {
        perror("saga config");
    }
    buf_fini(&out);
    return rc;
}

static void print_errors(const struct config_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        (void)fprintf(stderr, "%s\n", errors->text[i]);
    }
    if (errors->total_count > errors->count) {
        (void)fprintf(stderr, "... and %zu more\n", errors->total_count - errors->count);
    }
}

static int check_file(const char *path)
{
    static struct config_errors errors;
    struct config cfg;
    if (config_defaults(&cfg, mem_heap()) != ST_OK) {
        (void)fprintf(stderr, "saga config: out of memory\n");
        return CMD_FAILED;
    }
    enum status st = config_read_file(&cfg, path, &errors);
    /* With a half-read file the cross checks would only repeat what was said. */
    if (st == ST_OK) {
        st = config_check(&cfg, &errors);
    }
    print_errors(&errors);
    if (st == ST_OK) {
        (void)printf("%s: ok, %zu engine%s\n", path, cfg.engine_count,
                     cfg.engine_count == 1 ? "" : "s");
    } else if (errors.total_count == 0) {
        (void)fprintf(stderr, "%s: %s\n", path, status_text(st));
    }
    config_fini(&cfg);
    return st == ST_OK ? CMD_OK : CMD_FAILED;
}

int cmd_config(int argc, char **argv)
{
    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        (void)fputs(usage, stdout);
        return CMD_OK;
    }
    if (argc == 3 && strcmp(argv[1], "check") == 0) {
        return check_file(argv[2]);
    }
    if (argc == 2 && strcmp(argv[1], "example") == 0) {
        return print_rendered(config_example);
    }
    if (argc == 2 && strcmp(argv[1], "docs") == 0) {
        return print_rendered(config_docs);
    }
    if (argc == 3 && strcmp(argv[1], "docs") == 0 && strcmp(argv[2], "metrics") == 0) {
        return print_rendered(metric_docs);
    }
    (void)fputs(usage, stderr);
    return CMD_USAGE;
}
