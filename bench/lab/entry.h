/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of --policies: a policy, and what is its own beside what all have. An entry is
 * written NAME[:KEY=VALUE[;KEY=VALUE]...]; KEY is one of engine_spec.h's, of the policy's numbers,
 * or of the gateway's configuration.
 * THREAD: one owner while it is made, any after. OWNERSHIP: labels are borrowed from the options.
 */
#ifndef BENCH_LAB_ENTRY_H
#define BENCH_LAB_ENTRY_H

#include "bench/lab/options.h"
#include "common/base/config.h"
#include "routing/params.h"

struct lab_entry {
    struct str label;  /* as it was written */
    struct str policy; /* of it; the bound runs under UNLIMITED_POLICY */
    bool is_unlimited;
    bool has_kv_scale;    /* its own: no sweep changes it */
    bool has_tier_tokens; /* likewise */
    struct lab_engine_spec engine;
    double params[GATE_PARAMS_MAX]; /* of the policy */
    struct config config;           /* of the gateway */
};

/* Sets of the gateway's keys that decide nothing here are as good as any other; routing.policy is
 * refused, as that is what an entry is. ST_INVAL with err, ST_NOMEM. ret is to be given back by
 * lab_entry_fini also after a failure. */
MUST_CHECK enum status lab_entry_make(struct lab_entry *ret,
                                      const struct lab_options *opts,
                                      struct str text,
                                      struct err *err);
void lab_entry_fini(struct lab_entry *entry);

/* Its engines at one place of the sweep over memory, see lab_options_memory. */
struct lab_engine_spec
lab_entry_engine(const struct lab_entry *entry, const struct lab_options *opts, uint32_t memory);

#endif
