/* SPDX-License-Identifier: Apache-2.0 */
/* What the node's hooks of several policies have in common.
 * PURE. THREAD: the owner of the gate. */
#ifndef ROUTING_KEYS_H
#define ROUTING_KEYS_H

#include "routing/gate.h"
#include "routing/policy.h"

/* The key of fcfs_program: when the step's session first came, us. */
double route_key_born(const struct gate *gate, const struct gate_step *step);

/* For how long KV is to be pinned for a session that has gone to its tools: the t that makes
 *
 *     P(return <= t) * worth_us - t
 *
 * largest, 0 when none makes it positive or nothing is known. The forecast is linear between
 * gate_horizons_us, so t is one of them. Source: our reading of Continuum, docs/baselines.md. */
uint64_t route_pin_us(const struct gate_usage *usage, double worth_us);

/* floor(log2(1 + served_s / unit_s)): levels of attained service, each twice as long as the one
 * before. unit_s > 0. */
uint32_t route_service_level(double served_s, double unit_s);

#endif
