/* SPDX-License-Identifier: Apache-2.0 */
/* The trace that is built into the program: data/agent_sample.jsonl.gz.
 * THREAD: any (constant). */
#ifndef BENCH_REPLAY_SAMPLE_H
#define BENCH_REPLAY_SAMPLE_H

#include "common/base/str.h"

/* The file's bytes, gzip. */
struct str sample_data(void);

#endif
