/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/collapse.h"

/* Mean slowdown of the sessions that come in [from_s, to_s); 0 = of none. */
static double
mean_between(const struct metrics_session *sessions, uint32_t count, double from_s, double to_s)
{
    double sum = 0;
    uint32_t had = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct metrics_session *session = &sessions[i];
        if (session->at_s >= from_s && session->at_s < to_s && !session->is_given_up) {
            sum += metrics_slowdown(session);
            had++;
        }
    }
    return had > 0 ? sum / had : 0;
}

double collapse_recovery_s(const struct metrics_session *sessions, uint32_t count, double from_s)
{
    double end_s = count > 0 ? sessions[count - 1].at_s + 1e-9 : 0;
    double steady = mean_between(sessions, count, RECOVERY_STEADY_FROM * end_s, end_s);
    if (steady > COLLAPSE_RATIO) {
        return COLLAPSE_NEVER;
    }
    uint32_t windows = end_s > from_s ? (uint32_t)((end_s - from_s) / COLLAPSE_WINDOW_S) + 1 : 0;
    for (uint32_t i = 0; i < windows; i++) {
        double at_s = from_s + i * COLLAPSE_WINDOW_S;
        double mean = mean_between(sessions, count, at_s, at_s + COLLAPSE_WINDOW_S);
        if (mean > 0 && mean <= RECOVERY_RATIO * steady) {
            return at_s + COLLAPSE_WINDOW_S - from_s;
        }
    }
    return COLLAPSE_NEVER;
}

/* Walks from the end for as long as windows are bad. */
double collapse_at_s(const struct metrics_session *sessions, uint32_t count)
{
    double found_s = COLLAPSE_NEVER;
    uint32_t bad = 0;
    for (uint32_t left = count; left > 0;) {
        uint64_t window = (uint64_t)(sessions[left - 1].at_s / COLLAPSE_WINDOW_S);
        double begin_s = (double)window * COLLAPSE_WINDOW_S;
        double sum = 0;
        uint32_t had = 0;
        for (; left > 0 && sessions[left - 1].at_s >= begin_s; left--) {
            if (!sessions[left - 1].is_given_up) {
                sum += metrics_slowdown(&sessions[left - 1]);
                had++;
            }
        }
        if (had > 0 && sum <= COLLAPSE_RATIO * had) {
            break;
        }
        if (had > 0) {
            found_s = begin_s;
            bad++;
        }
    }
    return bad >= COLLAPSE_WINDOWS ? found_s : COLLAPSE_NEVER;
}
