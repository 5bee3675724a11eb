/* SPDX-License-Identifier: Apache-2.0 */
/* `saga sim`: recorded sessions on modelled engines in virtual time, under placement policies.
 * THREAD: one owner (it starts its own). */
#ifndef BENCH_LAB_COMMAND_H
#define BENCH_LAB_COMMAND_H

/* argv[0] is the subcommand's name. Returns an exit code: 0 done, 1 failed, 2 called wrongly. */
int lab_command(int argc, char **argv);

#endif
