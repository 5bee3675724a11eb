/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/advice.h"

#include "simulator/cluster/machine.h"

void lab_advise_pin(struct lab *lab, uint32_t engine, struct lab_live *live, uint64_t until_us)
{
    lab_machine_wake(lab, engine);
    enum status st =
        sim_engine_pin(lab->machines[engine].engine, lab_machine_chain(live), until_us);
    if (st != ST_FULL) { /* as many pins as blocks: this one is not */
        lab_fail(lab, st);
    }
}

/* The full blocks of the session's last prompt and answer. */
static uint32_t blocks_of(const struct lab *lab, const struct lab_live *live)
{
    uint32_t blocks = live->computed_tokens / lab->plan->engine.block_tokens;
    return blocks < live->chain.count ? blocks : live->chain.count;
}

void lab_advise_prefetch(struct lab *lab, uint32_t engine, struct lab_live *live)
{
    lab_machine_wake(lab, engine);
    (void)sim_engine_prefetch(lab->machines[engine].engine, live->chain.hashes,
                              blocks_of(lab, live), lab_machine_chain(live));
}

uint64_t lab_move_us(const struct lab *lab, const struct lab_live *live)
{
    double bytes =
        (double)live->computed_tokens * (double)lab->plan->engine.profile.kv_bytes_per_token;
    return lab->plan->network_us + (uint64_t)(bytes / LAB_MOVE_BYTES_PER_S * 1e6);
}

bool lab_move_end(struct lab *lab, uint32_t engine, const struct lab_live *live)
{
    lab_machine_wake(lab, engine);
    return sim_engine_receive(lab->machines[engine].engine, live->chain.hashes,
                              blocks_of(lab, live), lab_machine_chain(live)) > 0;
}

/* Alone and with all context there: what is new of the prompt, then token after token. */
static double step_s(const struct lab_plan *plan, const struct lab_step *step)
{
    const struct sim_profile *profile = &plan->engine.profile;
    double kept = step->kept_tokens;
    double fresh = step->prompt_tokens - kept;
    double context = step->prompt_tokens + step->output_tokens / 2.0;
    return fresh * (profile->b_s_per_token + profile->d_s_per_pair * (kept + fresh / 2.0)) +
           step->output_tokens *
               (profile->f_s + profile->g_s_per_request + profile->h_s_per_token * context);
}

double lab_remaining_s(const struct lab *lab, const struct lab_live *live)
{
    const struct lab_session *session = &lab->plan->sessions[live->session];
    double sum_s = 0.0;
    for (uint32_t i = live->step; i < session->step_count; i++) {
        sum_s += step_s(lab->plan, &session->steps[i]);
    }
    return sum_s;
}

uint64_t lab_next_at_us(const struct lab *lab, const struct lab_live *live)
{
    const struct lab_session *session = &lab->plan->sessions[live->session];
    return live->step + 1 < session->step_count
               ? lab->now_us + 2 * lab->plan->network_us + session->steps[live->step + 1].gap_us
               : UINT64_MAX;
}
