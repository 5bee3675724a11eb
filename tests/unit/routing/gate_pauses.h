/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of policies that hold sessions back. THREAD: one. */
#ifndef TESTS_UNIT_ROUTING_GATE_PAUSES_H
#define TESTS_UNIT_ROUTING_GATE_PAUSES_H

#include "tests/unit/routing/gate_fixture.h"

#define S UINT64_C(1000000) /* us */

static inline struct gate_session *session_of(const struct gate_fix *fix, uint64_t key)
{
    LIST_FOR_EACH(link, &fix->gate.sessions)
    {
        if (gate_session_of(link)->key == key) {
            return gate_session_of(link);
        }
    }
    return NULL;
}

static inline void expect_out(const struct gate_fix *fix, uint64_t key)
{
    assert_int_equal(session_of(fix, key)->state, GATE_OUT);
}

static inline void expect_in(const struct gate_fix *fix, uint64_t key, uint32_t engine)
{
    assert_int_equal(session_of(fix, key)->state, GATE_IN);
    assert_int_equal(session_of(fix, key)->engine, engine);
}

static inline void tick(struct gate_fix *fix, uint64_t now_us)
{
    gate_tick(&fix->gate, now_us);
    assert_true(gate_check(&fix->gate));
}

#endif
