/* SPDX-License-Identifier: Apache-2.0 */
/* Expected wait of a step on an engine, from what we sent there ourselves: no gauge of the engine
 * is needed, so nothing is stale and a burst sees its own first half.
 * PURE. THREAD: any. */
#ifndef ROUTING_SCORE_WAIT_H
#define ROUTING_SCORE_WAIT_H

#include "routing/view.h"

#define ROUTE_FAIL_PENALTY_US   10000000.0 /* what a share of 1.0 failed steps costs */
#define ROUTE_SESSION_US        1000000.0 /* k2: what a live session there costs a birth, at least */
#define ROUTE_SESSION_BYTE_US   10.0      /* k1: and this for each byte of the newcomer's prompt */
#define ROUTE_HINT_MAX_SESSIONS 2.0 /* most that a relative's prompt may win, in live sessions */

/* Time until the engine has caught up with what it was given.
 *
 *     wait_us = P * b + (R + Q) * s / S + f * F
 *
 *     P  pending_bytes   uncached prompt bytes in front, bytes
 *     b  us_per_byte     learned, us per byte
 *     R, Q               running and waiting steps
 *     s  step_us         learned time of a step, us
 *     S  slots
 *     f  fail_ratio      recent share of failures; F = ROUTE_FAIL_PENALTY_US
 *
 * Prefill is done one prompt after the other, so P counts in full; decoding shares the engine: S
 * slots finish S steps per s. Source: ours (Little's law); docs/formulas.md#F2. */
double route_wait_us(const struct route_engine *engine);

/* Cost of putting the step there, us; the least wins.
 *
 *     cost_us = wait_us + missed * b - min(hint * b, h * w) + births: w * sessions * mean_slots / S
 *     w = k2 + k1 * prompt_bytes
 *
 *     missed  prompt bytes not held there for the session
 *     hint    prompt bytes held there for a relative
 *     w       what one live session weighs: the newcomer will hold memory and come back, as each of
 * those does h       ROUTE_HINT_MAX_SESSIONS: a common prefix attracts only as far as that costs no
 * balance
 *
 * mean_slots  of the candidates (route_view_mean_slots) */
double
route_cost_us(const struct route_engine *engine, const struct route_step *step, double mean_slots);

/* The cost on each engine into costs_us [view->count]; returns the least, 0 for an empty view. */
double
route_costs_us(const struct route_view *view, const struct route_step *step, double *costs_us);

#endif
