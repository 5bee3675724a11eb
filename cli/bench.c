/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/command.h"
#include "cli/cmd.h"

int cmd_bench(int argc, char **argv)
{
    return replay_command(argc, argv);
}
