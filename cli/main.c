/* SPDX-License-Identifier: Apache-2.0 */
/* The one binary: finds the subcommand and hands over. */
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
};

static const struct command commands[] = {
    {"serve", cmd_serve, "gateway and scheduler in one process"},
    {"engine", cmd_engine, "simulated engines that speak the OpenAI and Anthropic APIs"},
    {"bench", cmd_bench, "replay agent sessions against any OpenAI-compatible URL"},
    {"aeg", cmd_aeg, "measure the forecasts on recorded sessions"},
    {"sim", cmd_sim, "replay agent sessions on modelled engines, policy against policy"},
    {"ctl", cmd_ctl, "ask and control a running gateway"},
    {"config", cmd_config, "check a configuration file, print an example"},
};

static void usage(FILE *to)
{
    (void)fputs("usage: saga COMMAND [options]\n"
                "Gateway and scheduler for AI-agent inference.\n\n",
                to);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        (void)fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].text);
    }
    (void)fputs("\nEach command explains itself with --help. Version: " SAGA_VERSION "\n", to);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return CMD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return CMD_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("saga " SAGA_VERSION);
        return CMD_OK;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    (void)fprintf(stderr, "saga: no command \"%s\"\n\n", argv[1]);
    usage(stderr);
    return CMD_USAGE;
}
