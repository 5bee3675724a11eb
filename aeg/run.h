/* SPDX-License-Identifier: Apache-2.0 */
/* A session on its way through a declared workflow: where it is, and how far the declaration is to
 * be trusted. Formulas: docs/formulas.md#F12, #F13.
 * PURE. THREAD: one owner. OWNERSHIP: plain storage; the spec outlives it. */
#ifndef AEG_RUN_H
#define AEG_RUN_H

#include "aeg/forecast.h"
#include "aeg/spec.h"

enum aeg_trust {
    AEG_TRUST_PATH, /* which node follows, and how many */
    AEG_TRUST_GAP,
    AEG_TRUST_NEW,
    AEG_TRUST_OUTPUT,
    AEG_TRUST_WORK,
};

enum { AEG_TRUSTS = AEG_TRUST_WORK + 1 };

/* Zeroed: no workflow; all calls do nothing then. */
struct aeg_run {
    const struct aeg_spec *spec;
    struct aeg_spec_set seen;
    uint16_t node;            /* of the last step, AEG_SPEC_NODES = not known */
    uint8_t repeats;          /* visits of seen nodes that are still due */
    int8_t trust[AEG_TRUSTS]; /* log2 of the odds that it is declared rightly, in eighths (F13) */
};

_Static_assert(sizeof(struct aeg_run) <= 48, "one in every session");

void aeg_run_start(struct aeg_run *run, const struct aeg_spec *spec);

/* A new step (not a repeated request) names its node; new_tokens 0 = not known. True when it is a
 * node of the workflow. "" = does not say: the place is not known then, which disproves nothing. */
bool aeg_run_arrived(struct aeg_run *run, struct str node, uint32_t new_tokens);
/* That step was answered; 0 = not known. */
void aeg_run_answered(struct aeg_run *run, uint32_t output_tokens, uint64_t service_us);
/* The next request has come, so long after the answer. Before its aeg_run_arrived. */
void aeg_run_returned(struct aeg_run *run, uint64_t gap_us);

/* Weight of the declaration in [0, 1]; 0 without a workflow. */
double aeg_run_trust(const struct aeg_run *run, enum aeg_trust what);

/* Lays what is declared over a forecast that was just made for this session. O(nodes + edges +
 * bins). */
void aeg_run_apply(const struct aeg_run *run,
                   const struct aeg_session *session,
                   struct aeg_forecast *forecast);

#endif
