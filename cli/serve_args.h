/* SPDX-License-Identifier: Apache-2.0 */
/* Command line of `saga serve`: flags over the file over defaults, checked.
 * THREAD: main. */
#ifndef CLI_SERVE_ARGS_H
#define CLI_SERVE_ARGS_H

#include "common/base/config.h"
#include "common/base/err.h"

struct serve_args {
    int argc; /* as given, for reading the configuration again */
    char **argv;
    const char *config_file;
    const char *ready_file;
    uint32_t sim_count; /* --engines sim:N */
    double sim_speed;   /* --sim-speed X */
    bool has_engine;    /* --engine was given: the engines of the file are not used */
    bool wants_help;
};

/* Reads flags into args and the configuration into cfg (config_defaults already applied).
 * Complaints go to standard error. ST_OK; ST_INVAL: usage error; ST_IO and others: the file. */
MUST_CHECK enum status
serve_args_read(struct serve_args *args, struct config *cfg, int argc, char **argv);
void serve_args_usage(void);

#endif
