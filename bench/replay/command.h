/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommand `saga bench`.
 * THREAD: main. */
#ifndef BENCH_REPLAY_COMMAND_H
#define BENCH_REPLAY_COMMAND_H

/* argv[0] is the subcommand's name. Returns the exit code: 0 all steps were answered, 1 not, 2
 * called wrongly. */
int replay_command(int argc, char **argv);

#endif
