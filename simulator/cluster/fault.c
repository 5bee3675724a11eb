/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/fault.h"

#include "simulator/cluster/client.h"
#include "simulator/cluster/hub.h"
#include "simulator/cluster/machine.h"
#include "simulator/cluster/reach.h"

/* --- steps --- */

static void fail(struct lab *lab, struct lab_live *live, enum coord_fail why)
{
    struct coord_event ev = {.kind = COORD_EV_ATTEMPT_FAILED};
    ev.u.failed =
        (struct coord_attempt_failed){.req = live->req, .attempt = live->attempt, .why = why};
    live->phase = LAB_QUEUED; /* until the coordinator says what becomes of it */
    lab->result->attempts_failed++;
    lab_hub_tell(lab, &ev);
}

/* --- engines --- */

/* All that it has dies: streams that have begun break off, the others may be tried elsewhere. */
static void crash(struct lab *lab, uint32_t engine)
{
    for (uint32_t i = 0; i < lab->lives.fresh_idx; i++) {
        struct lab_live *live = lab_live_at(lab, i);
        if (live->phase != LAB_RUNNING || live->engine != engine || live->on_engine.v == 0) {
            continue;
        }
        bool is_aborted = lab_machine_abort(lab, live);
        ASSERT(is_aborted);
        if (live->has_first) {
            lab->result->cut++;
            lab_hub_cut(lab, live);
        } else {
            fail(lab, live, COORD_FAIL_DIED);
        }
    }
    sim_engine_lose_cache(lab->machines[engine].engine);
}

/* Makes the engine what it is to be from now on. */
static void change(struct lab *lab, uint32_t engine)
{
    struct lab_weather now = lab_reach_weather(lab, engine);
    struct lab_machine *machine = &lab->machines[engine];
    bool was_down = machine->is_down;
    bool was_removed = machine->is_removed;
    machine->is_down = now.is_down;
    machine->is_removed = now.is_removed;
    if (machine->slow_per_mille != now.slow_per_mille) {
        lab_machine_cut_run(lab, engine);
        machine->slow_per_mille = now.slow_per_mille;
    }
    if (now.is_down && !was_down) {
        crash(lab, engine);
    }
    if (now.is_removed && !was_removed) {
        lab_hub_remove_engine(lab, engine);
    } else if (!now.is_removed && was_removed) {
        lab_hub_add_engine(lab, engine);
    }
}

static void on_fault(struct lab *lab, const struct lab_letter *letter)
{
    const struct lab_fault *fault = &lab->plan->scenario->faults[letter->u.fault];
    bool is_loss = fault->kind == LAB_FAULT_LOSE_CACHE && letter->kind == LAB_LETTER_FAULT;
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        if (lab_reach_is_of(fault, i) && is_loss) {
            sim_engine_lose_cache(lab->machines[i].engine);
        } else if (lab_reach_is_of(fault, i)) {
            change(lab, i);
        }
    }
}

/* What was held back arrives; an answer that is nobody's any more is dropped. */
static void on_answer(struct lab *lab, const struct lab_letter *letter)
{
    uint32_t engine = letter->u.answer.engine;
    uint64_t until_us = lab_reach_weather(lab, engine).cut_until_us;
    if (until_us > 0 && letter->kind != LAB_LETTER_CONNECT) {
        lab_net_post(lab, letter, until_us); /* another partition took over */
        return;
    }
    lab->machines[engine].absent -= letter->kind == LAB_LETTER_FIRST ? 0 : 1;
    struct lab_live *live =
        lab_reach_find(lab, letter->u.answer.req, letter->u.answer.attempt, true);
    if (live == NULL || live->phase != LAB_RUNNING) {
        return;
    }
    if (letter->kind == LAB_LETTER_FIRST) {
        lab_client_first(lab, live);
    } else if (letter->kind == LAB_LETTER_END) {
        lab_client_answered(lab, live, letter->u.answer.cached_tokens);
    } else {
        fail(lab, live, COORD_FAIL_CONNECT);
    }
}

void lab_fault_deliver(struct lab *lab)
{
    struct lab_letter letter = lab_net_take(lab);
    lab_note(lab, LAB_NOTE_LETTER, (uint64_t)letter.kind, 0);
    switch (letter.kind) {
    case LAB_LETTER_FAULT:
    case LAB_LETTER_CHANGE:
        on_fault(lab, &letter);
        break;
    case LAB_LETTER_COORD:
        lab_hub_tell(lab, &letter.u.coord);
        break;
    case LAB_LETTER_UNWANTED:
        lab->machines[letter.u.agent.ev.engine.v].absent--;
        lab_hub_tell_agent(lab, &letter.u.agent.ev);
        break;
    case LAB_LETTER_AGENT:
        if (letter.u.agent.ev.need != NULL) {
            letter.u.agent.ev.need = &letter.u.agent.need;
        }
        if (letter.u.agent.ev.usage != NULL) {
            letter.u.agent.ev.usage = &letter.u.agent.usage;
        }
        lab_hub_tell_agent(lab, &letter.u.agent.ev);
        break;
    case LAB_LETTER_CONNECT:
    case LAB_LETTER_FIRST:
    case LAB_LETTER_END:
        on_answer(lab, &letter);
        break;
    }
}
