/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommand `saga sim profile`.
 * THREAD: main. */
#ifndef BENCH_LAB_PROFILE_COMMAND_H
#define BENCH_LAB_PROFILE_COMMAND_H

/* argv[0] is "profile". Returns the exit code: 0 done, 1 not, 2 called wrongly. */
int profile_command(int argc, char **argv);

#endif
