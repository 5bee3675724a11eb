/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. options; 2. policies and their settings; 3. the trace is read, the workload cut
 * from it, each recorded session played alone; 4. what was asked for: a sweep, or a search.
 * Failures: bad options: a message and exit code 2; all else: a message and 1. */
#include "bench/lab/command.h"

#include "bench/lab/plan_fleet.h"
#include "bench/lab/saturation.h"
#include "bench/lab/sweep.h"
#include "routing/policy.h"

#include <stdio.h>
#include <unistd.h>

enum { EXIT_FINE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
/* Where the search for L* begins when nothing is known, sessions/s. */
#define SEARCH_FROM_PER_S 0.05

static enum status find_limit(struct lab_setup *setup, struct err *err)
{
    const struct lab_options *opts = &setup->opts;
    double known = lab_options_limit(opts);
    double from = known > 0 ? known : SEARCH_FROM_PER_S * opts->engines / 16;
    struct saturation found;
    enum status st = saturation_find(setup, from, stderr, &found, err);
    if (st == ST_OK) {
        (void)printf("%.4f sessions/s (workload %s, %u x %s, mean slowdown at low load %.2f)\n",
                     found.rate_per_s, workload_names[opts->workload], opts->engines,
                     opts->profile.name, found.low_slowdown);
    }
    return st;
}

static enum status run(struct lab_setup *setup, struct err *err)
{
    enum status st = lab_setup_load(setup, err);
    if (st != ST_OK) {
        return st;
    }
    if (setup->opts.is_planning) {
        return lab_plan_fleet(setup, err);
    }
    return setup->opts.is_finding ? find_limit(setup, err) : lab_sweep(setup, err);
}

static void list_policies(void)
{
    for (size_t i = 0; lab_policy_at(i) != NULL; i++) {
        const struct route_policy *policy = lab_policy_at(i);
        (void)printf("%-20s %s\n", policy->name, policy->text);
        for (uint32_t k = 0; k < policy->param_count; k++) {
            const struct route_param *param = &policy->params[k];
            (void)printf("  %-18s %s (%g; %g to %g)\n", param->name, param->text, param->def,
                         param->min, param->max);
        }
    }
    (void)printf("%-20s %s\n", LAB_UNLIMITED,
                 "the bound: every prefix ever computed is cached everywhere, for free");
}

int lab_command(int argc, char **argv)
{
    static struct lab_setup setup;
    struct err err = {0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    enum status st = lab_options_parse(
        argc, argv, cpus > 0 && cpus < LAB_JOBS_MAX ? (uint32_t)cpus : 1, &setup.opts, &err);
    if (st == ST_OK && setup.opts.wants_help) {
        (void)fputs(lab_options_help(setup.opts.is_planning), stdout);
        return EXIT_FINE;
    }
    if (st == ST_OK && setup.opts.lists_policies) {
        list_policies();
        return EXIT_FINE;
    }
    if (st == ST_OK && setup.opts.lists_scenarios) {
        scenario_setup_list();
        return EXIT_FINE;
    }
    if (st == ST_OK) {
        st = lab_setup_entries(&setup, &err);
    }
    bool is_understood = st == ST_OK;
    setup.opts.shows_progress = setup.opts.shows_progress || isatty(STDERR_FILENO) == 1;
    st = st == ST_OK ? run(&setup, &err) : st;
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga sim: %s\n", err.text);
    }
    lab_setup_fini(&setup);
    if (!is_understood) {
        return EXIT_USAGE;
    }
    return st == ST_OK ? EXIT_FINE : EXIT_FAILED;
}
