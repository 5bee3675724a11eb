/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true: of a plan before it runs, of a run at each event and at its end.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_CHECK_H
#define SIMULATOR_CLUSTER_CHECK_H

#include "simulator/cluster/state.h"

/* ST_INVAL when something in it cannot be, ST_NOMEM. O(sessions, steps, arrivals). */
MUST_CHECK enum status lab_check_plan(const struct lab_plan *plan, const struct mem *mem);

/* Asserts the invariants, after an event. is_deep: looks into the engines' memory too. */
void lab_check(const struct lab *lab, bool is_deep);

/* Asserts that nothing got lost, when every session has ended. */
void lab_check_end(const struct lab *lab);

#endif
