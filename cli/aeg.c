/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/command.h"
#include "cli/cmd.h"

int cmd_aeg(int argc, char **argv)
{
    return aeg_command(argc, argv);
}
