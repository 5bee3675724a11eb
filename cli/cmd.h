/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of the one binary. argv[0] is the subcommand's name. Each prints its usage for
 * --help and returns an exit code: 0 done, 1 failed, 2 called wrongly.
 * THREAD: main. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

enum { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

int cmd_serve(int argc, char **argv);
int cmd_engine(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_aeg(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_config(int argc, char **argv);

#endif
