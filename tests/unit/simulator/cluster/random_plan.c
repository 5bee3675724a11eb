/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/simulator/cluster/random_plan.h"

#include "routing/policy.h"

static void random_step(struct rng *rng, struct lab_step *step, const struct lab_step *before)
{
    uint32_t had = before == NULL ? 0 : before->prompt_tokens + before->output_tokens;
    uint32_t kept = rng_below(rng, 4) > 0 ? had : (uint32_t)rng_below(rng, had + 1);
    *step = (struct lab_step){
        .prompt_tokens = kept + 1 + (uint32_t)rng_below(rng, 400),
        .kept_tokens = kept,
        .output_tokens = 1 + (uint32_t)rng_below(rng, 60),
        .gap_us = rng_below(rng, 400000),
        .is_human = rng_below(rng, 9) == 0,
        .tool = rng_below(rng, 2) > 0 ? STR("bash") : STR(""),
    };
}

static void random_session(struct rng *rng, struct fix *fix)
{
    uint32_t s = fix->plan.session_count;
    if (s > 0 && rng_below(rng, 3) == 0) {
        uint32_t parent = (uint32_t)rng_below(rng, s);
        (void)fix_child(fix, parent, (uint32_t)rng_below(rng, fix->sessions[parent].step_count));
    } else {
        uint32_t n = fix->plan.arrival_count;
        uint64_t after = n > 0 ? fix->arrivals[n - 1].at_us : 0;
        (void)fix_session(fix, after + rng_below(rng, 20000));
    }
    fix->sessions[s].step_count = 1 + (uint32_t)rng_below(rng, FIX_STEPS);
    for (uint32_t i = 0; i < fix->sessions[s].step_count; i++) {
        random_step(rng, &fix->steps[s][i], i > 0 ? &fix->steps[s][i - 1] : NULL);
    }
    fix->sessions[s].system_id = (uint32_t)rng_below(rng, 3);
    fix->sessions[s].system_tokens = (uint32_t)rng_below(rng, fix->steps[s][0].prompt_tokens + 1);
    fix->sessions[s].tenant = (uint32_t)rng_below(rng, 3);
}

void random_plan(struct fix *fix, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    fix_init(fix, 1 + (uint32_t)rng_below(&rng, 4), "saga");
    size_t policies = 1;
    while (lab_policy_at(policies) != NULL) {
        policies++;
    }
    fix->plan.policy = str_of(lab_policy_at(seed % policies)->name); /* each has its turn */
    fix->plan.seed = seed;
    fix->plan.network_us = rng_below(&rng, 1000);
    fix->plan.engine.profile.kv_tokens = 3000 + (uint32_t)rng_below(&rng, 12000);
    fix->plan.engine.profile.max_running = 1 + (uint32_t)rng_below(&rng, 8);
    fix->plan.is_unlimited = rng_below(&rng, 4) == 0;
    for (int i = 0; i < FIX_SESSIONS; i++) {
        random_session(&rng, fix);
    }
}
