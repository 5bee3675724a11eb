/* SPDX-License-Identifier: Apache-2.0 */
/* What comes next in a session, from what was counted (learn.h): of the session itself, drawn
 * towards its class, its tenant, everybody. Formulas: docs/formulas.md#F7 .. #F10.
 * PURE. THREAD: one owner. */
#ifndef AEG_FORECAST_H
#define AEG_FORECAST_H

#include "aeg/learn.h"

/* Each part has a confidence in [0, 1]: the weight of evidence in it, that of the session and its
 * class in full, of the tenant by half, of everybody by a quarter, of no evidence not at all. */
struct aeg_sizes {
    double median;
    double mean;
    double confidence;
};

struct aeg_forecast {
    struct dist_curve wait; /* the gap's length from its begin, us */
    uint64_t elapsed_us;    /* of the open gap; 0 when none is */
    double survival_ratio;  /* P(gap > elapsed) */
    double hazard_per_s;    /* of returning now */
    double return_ratio;    /* P(returns at all | elapsed) */
    double return_confidence;
    struct aeg_sizes new_tokens; /* of the next step's prompt */
    struct aeg_sizes out_tokens;
    struct aeg_sizes steps_to_go; /* after those done */
    double work_s;                /* that these steps will ask of an engine */
    double work_confidence;
    double reuse_ratio; /* P_reuse: the share of the next prompt that is context held now,
                           times that it comes at all */
    double reuse_confidence;
};

/* O(levels * bins). Any session that aeg_observe_start has seen; also before its first step, then
 * for that step. */
void aeg_forecast(const struct aeg *aeg,
                  const struct aeg_session *session,
                  uint64_t now_us,
                  struct aeg_forecast *ret);

/* Only the wait: the fields up to return_confidence, as aeg_forecast gives them; the rest is 0. For
 * about half the time. */
void aeg_forecast_wait(const struct aeg *aeg,
                       const struct aeg_session *session,
                       uint64_t now_us,
                       struct aeg_forecast *ret);

/* P(the next request comes within this time from now), in [0, 1]. */
double aeg_forecast_return(const struct aeg_forecast *forecast, uint64_t within_us);

#endif
