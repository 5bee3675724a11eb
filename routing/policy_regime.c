/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in three classes that take turns, each as long as a budget of memory times time lasts,
 * twice as long from round to round; in a class the smallest area of memory times time first. */
#include "routing/keys.h"

enum { LARGE_RATIO, RESERVE_RATIO };

static const struct route_param params[] = {
    [LARGE_RATIO] = {"large_ratio", 0.25, 0.0, 1.0,
                     "share of an engine's memory above which a prompt is large"},
    [RESERVE_RATIO] = {"reserve_ratio", 2.0, 1.0, 100.0,
                       "room of a step whose answer is the smaller part, in prompts"},
};

/* With an answer of more than the prompt: RESPONSE_HEAVY. */
enum class { LARGE, PROMPT_HEAVY, RESPONSE_HEAVY, CLASSES };

/* Notes of an engine. */
enum {
    TURN,   /* the class whose turn it is */
    BUDGET, /* of a turn in this round, tokens times steps of decoding */
    SPENT,  /* of it */
};

#define BUDGET_FIRST_TOKENS 100000.0 /* of an engine that does not say how much it holds */

static enum class class_of(const struct gate *gate,
                           const struct gate_engine *engine,
                           uint32_t prompt,
                           uint32_t output) {
    double large = gate->params[LARGE_RATIO] * engine->info.kv_tokens;
    if (large > 0.0 && prompt > large){return LARGE;}
return output > prompt ? RESPONSE_HEAVY : PROMPT_HEAVY;
}

static uint32_t last_output(const struct gate_step *step)
{
    return step->session == NULL ? 0 : step->session->last.output_tokens;
}

/* The limit of a try, doubled until the session's last answer would have been within it. */
static double limit_of(const struct gate_step *step)
{
    double limit = 1.0;
    while (limit < last_output(step)) {
        limit *= 2.0;
    }
    return limit;
}

static enum class step_class(const struct gate *gate, const struct gate_step *step) {
    return class_of(gate, gate->engines[step->engine], step->need.prompt_tokens, last_output(step));
}

static double width_of(const struct gate *gate, const struct gate_step *step)
{
    double prompt = step->need.prompt_tokens;
    return step_class(gate, step) == RESPONSE_HEAVY ? prompt + limit_of(step)
                                                    : gate->params[RESERVE_RATIO] * prompt;
}

static uint32_t reserve(const struct gate *gate, const struct gate_step *step)
{
    double width = width_of(gate, step);
    return width < (double)UINT32_MAX ? (uint32_t)width : UINT32_MAX;
}

static double key(const struct gate *gate, const struct gate_step *step)
{
    static const double turn = 1e18; /* more than any area */
    enum class own = step_class(gate, step);
    double limit = limit_of(step);
    uint32_t now = (uint32_t)gate->engines[step->engine]->notes[TURN];
    uint32_t wait = ((uint32_t)own + CLASSES - now) % CLASSES;
    double area = own == RESPONSE_HEAVY
                      ? step->need.prompt_tokens * limit + limit * (limit + 1.0) / 2.0
                      : width_of(gate, step) * limit;
    return wait * turn + area;
}

/* Turns end when steps have used so much, of whatever class. */
static void on_gap(struct gate *gate, struct gate_session *session)
{
    struct gate_engine *engine = gate->engines[session->engine];
    double *notes = engine->notes;
    double output = session->last.output_tokens;
    if (engine->running + engine->queued == 0) { /* all done: the rounds begin anew */
        notes[TURN] = LARGE;
        notes[BUDGET] = 0.0;
        notes[SPENT] = 0.0;
        return;
    }
    if (notes[BUDGET] == 0.0) {
        notes[BUDGET] = engine->info.kv_tokens > 0 ? engine->info.kv_tokens : BUDGET_FIRST_TOKENS;
    }
    notes[SPENT] += session->last.prompt_tokens * output + output * (output + 1.0) / 2.0;
    while (notes[SPENT] >= notes[BUDGET]) {
        notes[SPENT] -= notes[BUDGET];
        notes[TURN] += 1.0;
        if (notes[TURN] == CLASSES) {
            notes[TURN] = LARGE;
            notes[BUDGET] *= 2.0;
        }
    }
}

const struct route_policy route_policy_regime = {
    .name = "regime",
    .text = "prefix_affinity; in an engine's queue large prompts, other prompts and long answers "
            "take turns, of each the smallest memory times time first",
    .source = "Feng et al., arXiv 2607.09248",
    .place = route_place_prefix_affinity,
    .params = params,
    .param_count = sizeof(params) / sizeof(params[0]),
    .reserve = reserve,
    .key = key,
    .on_gap = on_gap,
};
