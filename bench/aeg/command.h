/* SPDX-License-Identifier: Apache-2.0 */
/* `saga aeg`: what the forecaster is worth on recorded sessions.
 * THREAD: main. */
#ifndef BENCH_AEG_COMMAND_H
#define BENCH_AEG_COMMAND_H

/* argv[0] is "aeg". Exit code: 0 done, 1 failed, 2 called wrongly. */
int aeg_command(int argc, char **argv);

#endif
