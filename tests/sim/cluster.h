/* SPDX-License-Identifier: Apache-2.0 */
/* Both real cores in virtual time, with a tiny stand-in for engines and clients, and faults drawn
 * from a seed: engines crash, answer 5xx or never, come and go; clients leave; memory runs out.
 * THREAD: one. The same seed gives the same run. */
#ifndef TESTS_SIM_CLUSTER_H
#define TESTS_SIM_CLUSTER_H

#include "common/base/heap.h"
#include "common/base/rng.h"
#include "common/base/slab.h"
#include "coordinator/core/core.h"
#include "node_agent/core/core.h"
#include "tests/kit/kit.h"

enum {
    SIM_ENGINES_MAX = 64,
    SIM_CLIENTS_MAX = 64,
    SIM_TURNS_MAX = 64,
    SIM_REQUESTS_MAX = 65536,
    SIM_INBOX_MAX = 8192
};

struct sim_faults {
    double crash_per_s;        /* some engine dies; it comes back after a while */
    double churn_per_s;        /* an engine is added or removed */
    double status_ratio;       /* steps answered 503 */
    double client_error_ratio; /* steps answered 400 */
    double lost_ratio;         /* steps never answered */
    double leave_ratio;        /* steps whose client leaves */
    double nomem_ratio;        /* events before which an allocation is made to fail soon */
};

struct sim_plan {
    uint64_t seed;
    uint32_t engines;
    uint32_t clients;
    uint32_t slots;       /* per engine */
    uint32_t queue_max;   /* per engine */
    uint64_t duration_us; /* clients start no new step after it */
    struct sim_faults faults;
};

enum sim_phase { SIM_NONE, SIM_QUEUED, SIM_RUNNING, SIM_ANSWERED, SIM_OVER };

/* What is true of a request, whatever the cores believe. */
struct sim_request {
    enum sim_phase phase;
    uint32_t client;
    uint32_t attempt; /* current */
    uint32_t engine;  /* index, of the current attempt */
    uint32_t ends;    /* must become 1, and never 2 */
};

struct sim_engine {
    bool is_known; /* added and not removed */
    bool is_alive;
};

struct sim_client {
    uint64_t chain[SIM_TURNS_MAX];
    uint32_t bytes[SIM_TURNS_MAX];
    uint8_t is_end[SIM_TURNS_MAX];
    uint32_t turns;
    uint32_t last_engine;
};

struct sim_result {
    uint64_t ok, client_error, failed, cut, gone, refused;
    uint64_t turns_same_engine, turns_other_engine;
    uint64_t events;
};

struct sim {
    struct sim_plan plan;
    struct kit_mem km;
    struct coord_core *coord;
    struct agent_core *agent;
    struct rng rng;
    uint64_t now_us;
    struct heap timeline;
    struct slab items;
    uint64_t seq;
    struct coord_event inbox[SIM_INBOX_MAX]; /* what the shell tells the core next */
    uint32_t inbox_head, inbox_count;
    struct sim_engine engines[SIM_ENGINES_MAX];
    uint32_t engine_count;
    struct sim_client clients[SIM_CLIENTS_MAX];
    struct sim_request requests[SIM_REQUESTS_MAX];
    uint64_t last_req;
    uint32_t live; /* requests not over */
    struct sim_result result;
};

/* Runs the plan to its end, checking every invariant after every event; fails the test with the
 * seed on the first violation. */
void sim_run(const struct sim_plan *plan, struct sim_result *ret);

/* check.c: the invariants. */
void sim_check(const struct sim *sim);
void sim_check_end(const struct sim *sim);

#endif
