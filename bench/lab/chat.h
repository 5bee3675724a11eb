/* SPDX-License-Identifier: Apache-2.0 */
/* Flat chat: sessions made from a trace of requests that names the blocks of their prompts (the
 * FAST'25 release of Mooncake's traces). docs/scenarios.md says how.
 * THREAD: one owner. LIMITS: CHAT_REQUESTS_MAX, CHAT_BLOCKS_MAX. */
#ifndef BENCH_LAB_CHAT_H
#define BENCH_LAB_CHAT_H

#include "bench/lab/workload.h"
#include "bench/replay/lines.h"

enum { CHAT_REQUESTS_MAX = 1 << 20, CHAT_BLOCKS_MAX = 4096, CHAT_BLOCK_TOKENS = 512 };

/* JSON lines {"timestamp": ms, "input_length", "output_length", "hash_ids": [one per 512 tokens]},
 * by time. The workload is of kind WORKLOAD_CHAT. ST_INVAL or ST_PROTO with err, ST_NOMEM, as
 * lines_next. */
MUST_CHECK enum status chat_load(struct workload *ret,
                                 const char *path,
                                 const struct workload_opts *opts,
                                 struct err *err);
MUST_CHECK enum status chat_read(struct workload *ret,
                                 const char *name,
                                 struct lines *lines,
                                 const struct workload_opts *opts,
                                 struct err *err);

#endif
