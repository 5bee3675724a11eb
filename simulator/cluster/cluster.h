/* SPDX-License-Identifier: Apache-2.0 */
/* A whole installation in virtual time: the coordinator's and the node agents' cores as they run in
 * production, modelled engines, clients that play sessions closed-loop.
 *
 * A request reaches the gateway network_us after it was sent, the engine at once when the node lets
 * it go, and its tokens and its end the client network_us after the engine made them. The next one
 * is sent gap_us after that, and not before all that the answer started have ended. A root's first
 * gap is not waited for: it arrives when the plan says so. A refused request is sent again as its
 * kind of client does (retry.h); when that has no more tries the session is given up, and to its
 * parent it has ended. A request that no engine can hold is answered 400 and ends its session
 * likewise. What goes wrong on the way is said by a scenario.
 *
 * PURE. THREAD: one owner. The same plan gives the same result, bit for bit, on any compiler.
 * LIMITS: of the cores; memory grows with sessions in flight, not with time. */
#ifndef SIMULATOR_CLUSTER_CLUSTER_H
#define SIMULATOR_CLUSTER_CLUSTER_H

#include "common/base/mem.h"
#include "common/base/str.h"
#include "simulator/cluster/retry.h"
#include "simulator/cluster/scenario.h"
#include "simulator/model/prefill.h"

#define LAB_NONE UINT32_MAX

/* One step of a recorded session. */
struct lab_step {
    uint32_t prompt_tokens;
    uint32_t kept_tokens; /* of the prompt and answer before, that this prompt begins with; 0 in the
                             first */
    uint32_t output_tokens;
    uint64_t gap_us; /* from the answer before (or the spawn) to this request */
    bool is_human;   /* that gap is a person's: not part of the TCT */
    struct str tool; /* that the step before it called, "" = none or not known */
};

struct lab_session {
    const struct lab_step *steps; /* [step_count] >= 1 */
    uint32_t step_count;
    uint32_t system_id;     /* sessions of the same one begin with the same system_tokens */
    uint32_t system_tokens; /* of every prompt, <= the first prompt's tokens */
    uint32_t parent;        /* index of the session that starts it, LAB_NONE = a root */
    uint32_t spawn_step; /* of the parent, whose answer starts it; the parent's next step waits for
                            its end */
    uint32_t tenant;
    uint32_t model;              /* of the scenario's, if it has any */
    enum lab_client_kind client; /* how it tries again */
    uint32_t recorded;           /* which recorded session it is a copy of */
};

struct lab_arrival {
    uint64_t at_us;
    uint32_t session; /* a root */
};

/* An engine at a moment. */
struct lab_sample {
    uint32_t running;            /* requests */
    uint32_t waiting;            /* in the engine and in the node's queue for it */
    uint32_t paused;             /* sessions that live here and are held back */
    double kv_used_ratio;        /* of its blocks, held by running requests */
    uint64_t regenerated_tokens; /* so far, as lab_result's */
};

/* engines [plan->engines], borrowed. */
typedef void (*lab_sample_fn)(void *ctx, uint64_t at_us, const struct lab_sample *engines);

struct config;

struct lab_plan {
    const struct lab_session *sessions; /* [session_count] */
    uint32_t session_count;
    const struct lab_arrival *arrivals; /* [arrival_count] by time */
    uint32_t arrival_count;
    uint32_t engines;
    struct sim_engine_opts engine;   /* of each */
    struct sim_prefill_opts prefill; /* engines beside those that only compute prompts */
    uint64_t store_tokens; /* of a KV store that all share, at engine.tiers.store_link; 0 = none */
    struct str policy;     /* of lab_policy_find */
    const double *params;  /* [param_count of the policy], NULL = its defaults */
    const struct config *config; /* of the gateway; its policy does not count; NULL = defaults */
    uint64_t seed;
    uint64_t network_us; /* one way, client to gateway and gateway to engine together */
    uint64_t until_us; /* virtual time at which it stops; sessions in flight are unfinished then; 0
                          = to the end */
    lab_sample_fn on_sample; /* NULL = nobody looks; changes nothing */
    void *sample_ctx;
    uint64_t sample_every_us;            /* a multiple of 0.1 s, else at the next one */
    const struct lab_scenario *scenario; /* NULL = nothing goes wrong */
    bool is_unlimited; /* the bound: every prefix ever computed is cached everywhere, for free */
    bool is_checked;   /* invariants are asserted at each event: for tests, slow */
};

/* What became of one session. */
struct lab_outcome {
    uint64_t began_at_us;
    uint64_t ended_at_us; /* 0 = unfinished */
    uint64_t human_us;    /* of its gaps; TCT = ended - began - human */
    uint64_t wait_max_us; /* longest time from a request to its first token */
    uint32_t steps;       /* done */
    uint32_t refused;     /* requests */
    uint32_t cut;         /* answers that broke off */
    bool is_given_up;     /* the client had a request refused for good; then unfinished for ever */
};

/* One step's time to first token as its client sees it, in the order in which steps end. */
struct lab_first {
    uint64_t at_us;    /* of the request, of the first try if it was refused */
    uint64_t first_us; /* from there */
};

struct lab_result {
    struct lab_outcome *outcomes; /* [session_count], of mem */
    struct lab_first *firsts;     /* [first_count], of mem */
    uint32_t session_count;
    uint32_t first_count;
    uint32_t first_cap;
    uint64_t ended_at_us; /* virtual */
    uint64_t steps;
    uint64_t prompt_tokens;
    uint64_t cached_tokens;
    uint64_t output_tokens;
    uint64_t regenerated_tokens; /* of the prefilled ones, that some engine had computed for this
                                    session before */
    uint64_t moves;              /* steps sent away from their session's engine */
    uint64_t given_up;           /* sessions */
    uint64_t steals;             /* waiting steps that a policy gave to another engine */
    uint64_t pauses;             /* of sessions, by a policy */
    uint64_t attempts_failed;    /* before the first byte of an answer */
    uint64_t cut;                /* answers that broke off */
    uint64_t preempted;          /* times that an engine threw a running step out of its memory */
    uint64_t gateway_us;         /* sum over requests of the time from arrival there to the end */
    uint64_t in_flight_us;       /* the gateway's count of requests in flight, summed over time */
    uint64_t event_hash;         /* over everything that happened, in order */
    uint64_t events;
};

/* Called now and then; false ends the run early with what there is. done in [0, 1]. */
typedef bool (*lab_progress_fn)(void *ctx, double done_ratio);

struct route_policy;

/* The policy of this name: those of the gateway, and bounds that know the future. NULL = none. */
const struct route_policy *lab_policy_find(struct str name);
/* The idx-th of them, NULL past the end. */
const struct route_policy *lab_policy_at(size_t idx);

/* Runs a plan. ST_OK; ST_INVAL (an unknown policy, a broken session), ST_NOMEM. ST_CLOSED: ended by
 * progress; *ret is what there was then and is to be given back as after ST_OK. progress may be
 * NULL. */
MUST_CHECK enum status lab_run(const struct lab_plan *plan,
                               const struct mem *mem,
                               lab_progress_fn progress,
                               void *ctx,
                               struct lab_result *ret);
void lab_result_fini(struct lab_result *result, const struct mem *mem);

/* TCT that the session would have alone on one engine of the plan, human gaps not counted, us: the
 * slowdown's denominator. Sub-agents that it waits for are part of it. As lab_run; ST_TOOBIG: it
 * does not fit into an engine. */
MUST_CHECK enum status
lab_alone_us(const struct lab_plan *plan, uint32_t session, const struct mem *mem, uint64_t *ret);

#endif
