/* SPDX-License-Identifier: Apache-2.0 */
/* The policies, one entry each: ours and those of others to compare with (docs/baselines.md). A new
 * one is one file and one line in registry.c. The coordinator asks place; the other hooks are the
 * node's (gate.h), and those that are NULL decide nothing.
 * PURE. THREAD: the owner of the state. */
#ifndef ROUTING_POLICY_H
#define ROUTING_POLICY_H

#include "common/base/rng.h"
#include "common/base/str.h"
#include "routing/gate_types.h"
#include "routing/pick.h"
#include "routing/prefix_table.h"

/* What a policy remembers from one decision to the next. */
struct route_state {
    uint64_t turn; /* decisions so far */
    struct rng rng;
    double params[GATE_PARAMS_MAX]; /* of the policy, in their order */
    struct prefix_table prefixes;   /* of a policy that asks for it; may be without room even so */
};

struct gate; /* gate.h, as the next ones */
struct gate_session;
struct gate_step;

/* A number that a policy can be tuned by. */
struct route_param {
    const char *name;
    double def;
    double min;
    double max;
    const char *text; /* what it is, with its unit */
};

struct route_policy {
    const char *name;
    const char *text;   /* one line for --help */
    const char *source; /* who published it */
    bool keeps_home;    /* a home whose queue is short is taken without a look at the others */
    uint32_t prefixes;  /* entries of route_state.prefixes, a power of two; 0 = it uses none */
    /* As route_pick; state may be changed. costs_us [view->count] is only for the explanation. */
    enum status (*place)(const struct route_view *view,
                         const struct route_step *step,
                         struct route_state *state,
                         double *costs_us,
                         struct route_choice *ret);

    const struct route_param *params; /* [param_count] <= GATE_PARAMS_MAX; values: gate->params,
 route_state.params */
    uint32_t param_count;
    bool hears_end;     /* clients are to say which step is a session's last */
    bool wants_returns; /* forecasts of the next step's time are to be told (gate_usage) */
    bool knows_future;  /* needs gate_need.remaining_s and gate_usage.next_at_us: not live */
    const char *evict;  /* order in which engines are to give up KV, NULL = as they are set; a
                           parameter of that name switches it off with 0 (route_evict) */

    /* Order in an engine's queue, smallest first, equals by arrival. */
    double (*key)(const struct gate *gate, const struct gate_step *step);
    /* Tokens of an engine's memory that the step is taken to need; NULL = prompt and expected
     * answer. */
    uint32_t (*reserve)(const struct gate *gate, const struct gate_step *step);
    /* Somebody waits at the gate, and something has changed: lets in whom it will. */
    void (*admit)(struct gate *gate);
    /* The session's only step is over, well or not, and it is not known to be its last. Its engine
     * is known, but may be gone, and it may be OUT. */
    void (*on_gap)(struct gate *gate, struct gate_session *session);
    /* The gap is over: its next step has come, and waits or starts after this. */
    void (*on_return)(struct gate *gate, struct gate_session *session);
    /* Its last step is over, and it is about to be forgotten. */
    void (*on_end)(struct gate *gate, struct gate_session *session);
    /* Every epoch_us or a little later. */
    void (*on_epoch)(struct gate *gate);
    uint64_t epoch_us;
};

/* Its evict under these params ([param_count], NULL = defaults). */
const char *route_evict(const struct route_policy *policy, const double *params);

/* --- for the entries --- */

/* Steps of ours that the engine has. */
static inline uint32_t route_outstanding(const struct route_engine *engine)
{
    return engine->running + engine->waiting;
}

/* The engine with the fewest outstanding steps; between equals the key's own order decides. The
 * view is not empty. O(count). */
uint32_t route_least_outstanding(const struct route_view *view, uint64_t key);

/* The placement of prefix_affinity, for those that differ in other things. */
enum status route_place_prefix_affinity(const struct route_view *view,
                                        const struct route_step *step,
                                        struct route_state *state,
                                        double *costs_us,
                                        struct route_choice *ret);

/* The placement of consistent_hash, likewise. */
enum status route_place_consistent_hash(const struct route_view *view,
                                        const struct route_step *step,
                                        struct route_state *state,
                                        double *costs_us,
                                        struct route_choice *ret);

/* Fills costs_us and *ret for a choice that was made in another way. */
void route_explain(const struct route_view *view,
                   const struct route_step *step,
                   uint32_t idx,
                   double *costs_us,
                   struct route_choice *ret);

#endif
