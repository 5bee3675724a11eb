/* SPDX-License-Identifier: Apache-2.0 */
/* Small plans whose times can be worked out by hand: an iteration takes 1000 us, and 10 us for each
 * token that is computed, and 100 us for each request that decodes. THREAD: one. */
#ifndef TESTS_UNIT_SIMULATOR_CLUSTER_FIXTURE_H
#define TESTS_UNIT_SIMULATOR_CLUSTER_FIXTURE_H

#include "simulator/cluster/cluster.h"
#include "simulator/model/engine.h"
#include "tests/kit/kit.h"

enum { FIX_SESSIONS = 64, FIX_STEPS = 16 };

/* A plan and what it points to. */
struct fix {
    struct lab_plan plan;
    struct lab_session sessions[FIX_SESSIONS];
    struct lab_step steps[FIX_SESSIONS][FIX_STEPS];
    struct lab_arrival arrivals[FIX_SESSIONS];
    struct lab_result result;
};

/* Blocks of 16 tokens, no network time, checked; 1000 blocks of memory per engine. */
void fix_init(struct fix *fix, uint32_t engines, const char *policy);
/* A session of two steps: 160 tokens in, 2 out; then these and 158 more in, 2 out, 10 ms later. Its
 * index. */
uint32_t fix_session(struct fix *fix, uint64_t at_us);
/* A copy of such a session that the step of parent starts. */
uint32_t fix_child(struct fix *fix, uint32_t parent, uint32_t spawn_step);
/* Runs it; the result is in fix->result until fix_fini. */
void fix_run(struct fix *fix);
void fix_fini(struct fix *fix);
/* Asserts that the session ended at this time. */
void fix_expect_end(const struct fix *fix, uint32_t session, uint64_t at_us);

#endif
