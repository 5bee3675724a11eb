/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the profile is looked up or read; 2. its text goes to standard output.
 * Failures: a message and exit code 1; called wrongly: 2. */
#include "bench/lab/profile_command.h"

#include "bench/lab/fit_command.h"
#include "bench/lab/profile_file.h"

#include <stdio.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char help_text[] =
    "usage: saga sim profile list\n"
    "       saga sim profile show NAME|FILE.yaml\n"
    "       saga sim profile check FILE.yaml\n"
    "       saga sim profile fit --from BENCH.json ...\n"
    "\n"
    "A profile says how long an iteration of an engine takes and how large its memory is. `show` "
    "prints one as YAML,\n"
    "to be edited and given to --profile of saga sim and saga engine; `check` says what is wrong "
    "with a file; `fit` makes one\n"
    "from a measured run, see saga sim profile fit --help.\n";

static int list(void)
{
    for (size_t i = 0; sim_profile_at(i) != NULL; i++) {
        (void)printf("%-20s %s\n", sim_profile_at(i)->name, sim_profile_at(i)->text);
    }
    return EXIT_FINE;
}

static int fail(const struct err *err)
{
    (void)fprintf(stderr, "saga sim profile: %s\n", err->text);
    return EXIT_FAILED;
}

/* A built-in one gets a name of its own, so that a file of it is never taken for it. */
static int show(const char *name)
{
    struct sim_profile profile;
    struct err err = {0};
    struct buf text;
    if (profile_load(name, &profile, &err) != ST_OK) {
        return fail(&err);
    }
    if (sim_profile_find(str_of(profile.name)) != NULL) {
        (void)snprintf(profile.name, sizeof(profile.name), "my-%.60s",
                       sim_profile_find(str_of(profile.name))->name);
    }
    buf_init(&text, mem_heap(), SIM_PROFILE_TEXT_MAX);
    enum status st = sim_profile_write(&profile, &text);
    if (st == ST_OK && (fwrite(text.p, 1, text.len, stdout) != text.len || fflush(stdout) != 0)) {
        st = ST_IO;
    }
    buf_fini(&text);
    if (st != ST_OK) {
        status_ignore(err_set(&err, st, "cannot print: %s", status_text(st)), "printed below");
        return fail(&err);
    }
    return EXIT_FINE;
}

static int check(const char *path)
{
    struct sim_profile profile;
    struct err err = {0};
    if (profile_load(path, &profile, &err) != ST_OK) {
        return fail(&err);
    }
    (void)printf("%s: fine\n", profile.name);
    return EXIT_FINE;
}

int profile_command(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
        (void)fputs(help_text, stdout);
        return EXIT_FINE;
    }
    if (strcmp(verb, "list") == 0 && argc == 2) {
        return list();
    }
    if (strcmp(verb, "show") == 0 && argc == 3) {
        return show(argv[2]);
    }
    if (strcmp(verb, "check") == 0 && argc == 3) {
        return check(argv[2]);
    }
    if (strcmp(verb, "fit") == 0) {
        return fit_command(argc - 1, argv + 1);
    }
    (void)fputs(help_text, stderr);
    return EXIT_USAGE;
}
