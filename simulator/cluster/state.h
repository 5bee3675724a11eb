/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share; nobody else includes it.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_STATE_H
#define SIMULATOR_CLUSTER_STATE_H

#include "common/base/hash.h"
#include "common/base/heap.h"
#include "common/base/map.h"
#include "common/base/rng.h"
#include "common/base/slab.h"
#include "coordinator/core/core.h"
#include "node_agent/core/core.h"
#include "routing/policy.h"
#include "simulator/cluster/chain.h"
#include "simulator/model/engine.h"

enum {
    LAB_LIVE_BITS = 24, /* of a request id: whose it is; a counter above */
    LAB_LIVE_MAX = (1 << LAB_LIVE_BITS) - 1,
    LAB_ENGINES_MAX = 1024,
    LAB_NAME_BYTES = 16,
};

enum lab_phase {
    LAB_AWAY,    /* it thinks, its tools run, its sub-agents work, or the request is on its way */
    LAB_QUEUED,  /* with the gateway or in a node's queue */
    LAB_MOVING,  /* likewise, and its KV is on its way to the engine */
    LAB_RUNNING, /* on an engine */
};

/* A session that has begun and not ended. */
struct lab_live {
    struct heap_node node; /* its next request reaches the gateway, or its KV an engine */
    struct lab_chain chain;
    struct request_id req; /* of its last request */
    uint64_t gateway_at_us;
    uint64_t sent_at_us;  /* first try of this step */
    uint64_t first_at_us; /* its first token at the client */
    uint64_t ready_at_us; /* when it would go on, sub-agents or not */
    uint32_t idx;         /* in the slab */
    uint32_t session;
    uint32_t parent;          /* in the slab, LAB_NONE = a root */
    uint32_t step;            /* the one that runs, or comes next */
    uint32_t tries;           /* of it that were refused */
    uint32_t children;        /* sub-agents of the step before that work */
    uint32_t computed_tokens; /* of prompt and answer of the step before */
    uint32_t had_tokens;      /* of this step's prompt, computed for the step before */
    uint32_t given_tokens;    /* of this step's prompt, cached everywhere (is_unlimited) */
    uint32_t engine;          /* that had its last step, LAB_NONE = none yet */
    uint32_t attempt;
    uint32_t goes_to;                /* engine that its KV is on its way to */
    uint64_t key;                    /* of the session, as the node was told; 0 = not yet */
    struct sim_request_id on_engine; /* while the engine has it, 0 = it has not */
    bool has_first;                  /* this attempt's first token has reached the gateway */
    enum lab_phase phase;
    char name[LAB_NAME_BYTES]; /* the id it sends */
    char parent_name[LAB_NAME_BYTES];
};

/* An engine, and when its iteration ends. */
struct lab_machine {
    struct heap_node node;
    struct sim_engine *engine;
    uint64_t begun_at_us;
    uint32_t idx;
    uint64_t again_tokens;   /* see lab_result.regenerated_tokens; without preemptions */
    uint32_t absent;         /* steps in the node's slots that the engine has not, or has no more */
    uint32_t slow_per_mille; /* from the next iteration on */
    uint32_t begun_per_mille; /* of the one that runs */
    bool is_down;
    bool is_removed;
    bool is_touched; /* in lab->touched */
};

/* A request that ended without an answer. */
struct lab_refusal {
    uint32_t live;
    uint32_t retry_after_s; /* 0 = not said */
    bool is_final;          /* trying again is no use */
    bool is_cut;            /* no refusal: the answer broke off */
};

struct lab {
    const struct lab_plan *plan;
    const struct route_policy *policy;
    const struct mem *mem;
    struct lab_result *result;
    struct coord_core *coord;
    struct agent_core *agent;
    struct heap timeline;
    struct slab lives;
    struct rng rng; /* of clients' back-off */
    struct rng net_rng;
    struct heap post;    /* letters (net.h) by time */
    struct slab letters; /* struct lab_letter */
    struct heap_node postman;
    uint64_t now_us;
    uint64_t seq;
    uint64_t last_req;
    enum status st; /* first failure; the run ends */

    struct lab_machine *machines; /* [plan->engines + 1]; the last one is that of prefill */
    struct sim_store *store;      /* NULL = none */
    struct sim_prefill *prefill;  /* NULL = each engine computes its prompts */
    uint32_t *touched;            /* [touched_count]: got work since the last look */
    uint32_t touched_count;

    struct map keys;           /* lab_live.key -> place in the slab */
    struct coord_event *inbox; /* [inbox_cap], a ring: what the core hears next */
    uint32_t inbox_head;
    uint32_t inbox_count;
    uint32_t inbox_cap;

    struct lab_refusal *refusals; /* [refusal_count] */
    uint32_t refusal_count;
    uint32_t refusal_cap;

    uint32_t *child_from; /* [session_count + 1]: where a session's start in children */
    uint32_t *children;   /* sessions, by parent */
    struct map systems;   /* of an unlimited cache: system_id -> its tokens that are there */
    struct heap_node arrival;
    uint32_t arrival_next;
    struct heap_node tick;
    uint32_t roots_over; /* ended or given up */
    uint32_t in_flight;
    uint64_t too_big;           /* requests that an engine answered 400 */
    struct lab_sample *samples; /* [plan->engines], NULL without on_sample */
    uint64_t sample_at_us;      /* when the next one is due */
};

enum lab_note_kind {
    LAB_NOTE_ARRIVAL = 1,
    LAB_NOTE_REQUEST,
    LAB_NOTE_START,
    LAB_NOTE_ITERATION,
    LAB_NOTE_PREEMPTED,
    LAB_NOTE_FIRST,
    LAB_NOTE_END,
    LAB_NOTE_REFUSED,
    LAB_NOTE_TICK,
    LAB_NOTE_ADVICE, /* what a policy asked of an engine */
    LAB_NOTE_LETTER,
    LAB_NOTE_CUT,
};

/* Something happened: part of the hash of the run. */
static inline void lab_note(struct lab *lab, enum lab_note_kind kind, uint64_t a, uint64_t b)
{
    lab->result->events++;
    uint64_t at = hash_mix(lab->result->event_hash, lab->now_us);
    lab->result->event_hash = hash_mix(at, hash_mix(a, (b << 8) + (uint64_t)kind));
}

static inline void lab_fail(struct lab *lab, enum status st)
{
    lab->st = lab->st == ST_OK ? st : lab->st;
}

/* Puts it on the timeline; what is planned first happens first among equals. */
static inline void lab_plan_at(struct lab *lab, struct heap_node *node, uint64_t at_us)
{
    lab_fail(lab, heap_insert(&lab->timeline, node, at_us, lab->seq++));
}

/* prefix and number in decimal. */
static inline void lab_name(char ret[LAB_NAME_BYTES], char prefix, uint32_t number)
{
    uint32_t digits = 1;
    for (uint32_t rest = number / 10; rest > 0; rest /= 10) {
        digits++;
    }
    ret[0] = prefix;
    ret[digits + 1] = '\0';
    for (; digits > 0; digits--) {
        ret[digits] = (char)('0' + number % 10);
        number /= 10;
    }
}

static inline struct lab_live *lab_live_at(const struct lab *lab, uint32_t idx)
{
    return slab_at(&lab->lives, idx);
}

static inline const struct lab_step *lab_live_step(const struct lab *lab,
                                                   const struct lab_live *live)
{
    return &lab->plan->sessions[live->session].steps[live->step];
}

#endif
