/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/check.h"

enum { TOKENS_MAX = 1 << 28 };

static bool is_step_sound(const struct lab_step *step, const struct lab_step *before)
{
    uint64_t had = before == NULL ? 0 : (uint64_t)before->prompt_tokens + before->output_tokens;
    return step->prompt_tokens >= 1 && step->prompt_tokens <= TOKENS_MAX &&
           step->output_tokens >= 1 && step->output_tokens <= TOKENS_MAX &&
           step->kept_tokens <= step->prompt_tokens && step->kept_tokens <= had;
}

static bool is_session_sound(const struct lab_plan *plan, uint32_t idx)
{
    const struct lab_session *session = &plan->sessions[idx];
    if (session->step_count == 0 || session->system_tokens > session->steps[0].prompt_tokens) {
        return false;
    }
    if (session->parent != LAB_NONE &&
        (session->parent >= plan->session_count || session->parent == idx ||
         session->spawn_step >= plan->sessions[session->parent].step_count)) {
        return false;
    }
    for (uint32_t i = 0; i < session->step_count; i++) {
        if (!is_step_sound(&session->steps[i], i > 0 ? &session->steps[i - 1] : NULL)) {
            return false;
        }
    }
    return true;
}

/* Roots, each once, by time. */
static enum status check_arrivals(const struct lab_plan *plan, const struct mem *mem)
{
    uint8_t *is_seen = mem_calloc(mem, plan->session_count, sizeof(*is_seen));
    if (is_seen == NULL) {
        return ST_NOMEM;
    }
    enum status st = ST_OK;
    for (uint32_t i = 0; st == ST_OK && i < plan->arrival_count; i++) {
        const struct lab_arrival *arrival = &plan->arrivals[i];
        bool is_sound = arrival->session < plan->session_count &&
                        plan->sessions[arrival->session].parent == LAB_NONE &&
                        is_seen[arrival->session] == 0 &&
                        (i == 0 || arrival->at_us >= plan->arrivals[i - 1].at_us);
        st = is_sound ? ST_OK : ST_INVAL;
        if (is_sound) {
            is_seen[arrival->session] = 1;
        }
    }
    mem_free(mem, is_seen, plan->session_count * sizeof(*is_seen));
    return st;
}

enum status lab_check_plan(const struct lab_plan *plan, const struct mem *mem)
{
    const struct sim_profile *profile = &plan->engine.profile;
    if (plan->session_count == 0 || plan->engines == 0 || plan->engines > LAB_ENGINES_MAX ||
        plan->engine.block_tokens == 0 || profile->max_running == 0 ||
        plan->engine.queue_max < profile->max_running) {
        return ST_INVAL;
    }
    for (uint32_t i = 0; i < plan->session_count; i++) {
        if (!is_session_sound(plan, i)) {
            return ST_INVAL;
        }
    }
    return check_arrivals(plan, mem);
}

/* The node and the engine agree, and nobody rests while there is work. */
static void check_machine(const struct lab *lab, uint32_t idx, bool is_deep, uint32_t *in_flight)
{
    const struct sim_engine *engine = lab->machines[idx].engine;
    uint32_t held = sim_engine_running(engine) + sim_engine_waiting(engine);
    struct agent_queue_view queue;
    bool is_known = agent_core_queue(lab->agent, (struct engine_id){idx}, &queue);
    ASSERT(is_known);
    ASSERT(queue.running == held);
    ASSERT(held == 0 || sim_engine_is_iterating(engine));
    ASSERT(queue.waiting == 0 || queue.running == queue.max_running);
    ASSERT(!is_deep || sim_engine_check(engine));
    *in_flight += queue.running + queue.waiting;
}

void lab_check(const struct lab *lab, bool is_deep)
{
    uint32_t in_flight = 0;
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        check_machine(lab, i, is_deep, &in_flight);
    }
    ASSERT(in_flight == lab->in_flight);
    ASSERT(coord_core_in_flight(lab->coord) == lab->in_flight);
    ASSERT(lab->inbox_count == 0 && lab->refusal_count == 0 && lab->touched_count == 0);
}

void lab_check_end(const struct lab *lab)
{
    const struct lab_result *result = lab->result;
    struct sim_engine_counters sum = {0};
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        const struct sim_engine_counters *n = sim_engine_counters(lab->machines[i].engine);
        sum.submitted_count += n->submitted_count;
        sum.finished_count += n->finished_count;
        sum.preempted_count += n->preempted_count;
        sum.prompt_tokens += n->prompt_tokens;
        sum.hit_tokens += n->hit_tokens;
        sum.computed_tokens += n->computed_tokens;
        sum.generated_tokens += n->generated_tokens;
    }
    ASSERT(sum.submitted_count == result->steps && sum.finished_count == result->steps);
    ASSERT(sum.prompt_tokens == result->prompt_tokens);
    ASSERT(sum.hit_tokens == result->cached_tokens);
    ASSERT(sum.generated_tokens == result->output_tokens);
    ASSERT(sum.preempted_count > 0 || sum.computed_tokens + sum.hit_tokens == sum.prompt_tokens);
    ASSERT(coord_core_counters(lab->coord)->steps_done == result->steps + lab->too_big);
    ASSERT(result->gateway_us == result->in_flight_us); /* Little's law, exact when all is over */
}
