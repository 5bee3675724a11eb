/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/command.h"
#include "bench/lab/profile_command.h"
#include "cli/cmd.h"
#include "cli/sim_events.h"

#include <stdio.h>
#include <string.h>

int cmd_sim(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "profile") == 0) {
        return profile_command(argc - 1, argv + 1);
    }
    if (argc < 2 || strcmp(argv[1], "--events") != 0) {
        return lab_command(argc, argv);
    }
    bool is_json = argc == 4 && strcmp(argv[3], "--json") == 0;
    if (argc != 3 && !is_json) {
        (void)fputs("usage: saga sim --events FILE [--json]\n", stderr);
        return CMD_USAGE;
    }
    return sim_events(argv[2], is_json);
}
