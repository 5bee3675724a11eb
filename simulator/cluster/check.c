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
    if (session->step_count == 0 || (uint32_t)session->client >= LAB_CLIENT_KINDS ||
        session->system_tokens > session->steps[0].prompt_tokens) {
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

static bool is_ratio(double ratio)
{
    return ratio >= 0 && ratio < 1;
}

static bool is_scenario_sound(const struct lab_plan *plan)
{
    const struct lab_scenario *scenario = plan->scenario;
    if (scenario->fault_count > LAB_FAULTS_MAX || scenario->model_count > LAB_MODELS_MAX ||
        !is_ratio(scenario->net.loss_ratio) || !is_ratio(scenario->net.duplicate_ratio) ||
        (scenario->fault_count > 0 && plan->prefill.engines > 0)) { /* not modelled together */
        return false;
    }
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const struct lab_fault *fault = &scenario->faults[i];
        bool is_slow = fault->kind == LAB_FAULT_SLOW;
        if ((fault->until_us > 0 && fault->until_us <= fault->at_us) ||
            (fault->kind == LAB_FAULT_PARTITION && fault->until_us == 0) ||
            (is_slow && (fault->slow_per_mille < 1000 || fault->slow_per_mille > 1000000))) {
            return false;
        }
    }
    for (uint32_t i = 0; scenario->model_count > 0 && i < plan->session_count; i++) {
        if (plan->sessions[i].model >= scenario->model_count) {
            return false;
        }
    }
    return true;
}

enum status lab_check_plan(const struct lab_plan *plan, const struct mem *mem)
{
    const struct sim_profile *profile = &plan->engine.profile;
    if (lab_policy_find(plan->policy) == NULL || plan->session_count == 0 || plan->engines == 0 ||
        plan->engines > LAB_ENGINES_MAX || plan->engine.block_tokens == 0 ||
        profile->max_running == 0 || plan->engine.queue_max < profile->max_running) {
        return ST_INVAL;
    }
    if (plan->scenario != NULL && !is_scenario_sound(plan)) {
        return ST_INVAL;
    }
    for (uint32_t i = 0; i < plan->session_count; i++) {
        if (!is_session_sound(plan, i)) {
            return ST_INVAL;
        }
    }
    return check_arrivals(plan, mem);
}

/* No order is a reason to rest; without one only slots are. */
static void check_queue(const struct lab *lab, const struct agent_queue_view *queue)
{
    ASSERT(queue->waiting == 0 || queue->running > 0);
    ASSERT(lab->policy->key != NULL || queue->waiting == 0 || queue->running == queue->max_running);
}

/* The node and the engine agree, and nobody rests while there is work. */
static void check_machine(const struct lab *lab, uint32_t idx, bool is_deep, uint32_t *in_flight)
{
    const struct lab_machine *machine = &lab->machines[idx];
    const struct sim_engine *engine = machine->engine;
    uint32_t held = sim_engine_running(engine) + sim_engine_waiting(engine);
    struct agent_queue_view queue = {0};
    bool is_known = agent_core_queue(lab->agent, (struct engine_id){idx}, &queue);
    ASSERT(is_known || machine->is_removed);
    ASSERT(queue.running == held + machine->absent);
    ASSERT(held == 0 || !machine->is_down);
    ASSERT(held == 0 || sim_engine_is_iterating(engine));
    check_queue(lab, &queue);
    ASSERT(!is_deep || sim_engine_check(engine));
    *in_flight += queue.running + queue.waiting;
}

void lab_check(const struct lab *lab, bool is_deep)
{
    uint32_t in_flight = 0;
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        check_machine(lab, i, is_deep, &in_flight);
    }
    in_flight += agent_core_at_gate(lab->agent);
    ASSERT(!is_deep || gate_check(agent_core_gate(lab->agent)));
    ASSERT(!is_deep || lab->prefill == NULL || sim_prefill_check(lab->prefill));
    /* Steps that came a second time wait in nodes' queues until they are found out. */
    bool is_doubling = lab->plan->scenario != NULL && lab->plan->scenario->net.duplicate_ratio > 0;
    ASSERT(in_flight == lab->in_flight || (is_doubling && in_flight > lab->in_flight));
    ASSERT(coord_core_in_flight(lab->coord) == lab->in_flight);
    ASSERT(lab->inbox_count == 0 && lab->refusal_count == 0 && lab->touched_count == 0);
}

static struct sim_engine_counters sum_of(const struct lab *lab)
{
    struct sim_engine_counters sum = {0};
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        const struct sim_engine_counters *n = sim_engine_counters(lab->machines[i].engine);
        sum.submitted_count += n->submitted_count;
        sum.finished_count += n->finished_count;
        sum.aborted_count += n->aborted_count;
        sum.preempted_count += n->preempted_count;
        sum.prompt_tokens += n->prompt_tokens;
        sum.hit_tokens += n->hit_tokens;
        sum.computed_tokens += n->computed_tokens;
        sum.generated_tokens += n->generated_tokens;
    }
    return sum;
}

/* The engines' tokens are those of the steps that ended, and of what died with its engine. */
static void check_tokens(uint64_t engines, uint64_t steps, bool is_whole)
{
    ASSERT(engines == steps || (!is_whole && engines > steps));
}

void lab_check_end(const struct lab *lab)
{
    const struct lab_result *result = lab->result;
    const struct sim_engine_counters sum = sum_of(lab);
    bool is_whole = sum.aborted_count == 0;
    ASSERT(sum.submitted_count == sum.finished_count + sum.aborted_count);
    ASSERT(sum.finished_count == result->steps);
    ASSERT(sum.aborted_count >= result->cut);
    check_tokens(sum.prompt_tokens, result->prompt_tokens, is_whole);
    check_tokens(sum.hit_tokens, result->cached_tokens, is_whole);
    check_tokens(sum.generated_tokens, result->output_tokens, is_whole);
    ASSERT(sum.preempted_count > 0 || !is_whole ||
           sum.computed_tokens + sum.hit_tokens == sum.prompt_tokens);
    ASSERT(coord_core_counters(lab->coord)->steps_done ==
           result->steps + result->cut + lab->too_big);
    ASSERT(result->gateway_us == result->in_flight_us); /* Little's law, exact when all is over */
}
