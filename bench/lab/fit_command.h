/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommand `saga sim profile fit`.
 * THREAD: main. */
#ifndef BENCH_LAB_FIT_COMMAND_H
#define BENCH_LAB_FIT_COMMAND_H

/* argv[0] is "fit". Returns the exit code: 0 fitted, 1 not, 2 called wrongly. */
int fit_command(int argc, char **argv);

#endif
