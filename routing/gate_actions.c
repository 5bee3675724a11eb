/* SPDX-License-Identifier: Apache-2.0 */
/* What the event under way asks for, and the engines that it touched. */
#include "routing/gate.h"
#include "routing/gate_inside.h"

struct gate_action *gate_act(struct gate *gate, enum gate_action_kind kind)
{
    if (kind != GATE_START) {
        if (gate->advice_count == GATE_ADVICE_MAX || gate->action_cap < GATE_ADVICE_MAX) {
            gate->counters.left_out++;
            return NULL;
        }
        gate->advice_count++;
    }
    ASSERT(gate->action_count < gate->action_cap);
    struct gate_action *action = &gate->actions[gate->action_count++];
    *action = (struct gate_action){.kind = kind, .engine = GATE_NONE, .from = GATE_NONE};
    return action;
}

void gate_mark(struct gate *gate, struct gate_engine *engine)
{
    if (!engine->is_dirty) {
        engine->is_dirty = true;
        gate->dirty[gate->dirty_count++] = engine->idx;
    }
}
