/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/policy.h"

#include "routing/rendezvous.h"
#include "routing/score_wait.h"

uint32_t route_least_outstanding(const struct route_view *view, uint64_t key)
{
    uint32_t best = 0;
    uint64_t best_weight = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        uint32_t own = route_outstanding(&view->engines[i]);
        uint32_t least = route_outstanding(&view->engines[best]);
        uint64_t weight = route_rendezvous_weight(key, view->engines[i].key);
        if (i == 0 || own < least || (own == least && weight > best_weight)) {
            best = i;
            best_weight = weight;
        }
    }
    return best;
}

void route_explain(const struct route_view *view,
                   const struct route_step *step,
                   uint32_t idx,
                   double *costs_us,
                   struct route_choice *ret)
{
    (void)route_costs_us(view, step, costs_us);
    *ret = route_choice_of(step, idx, costs_us);
}

const char *route_evict(const struct route_policy *policy, const double *params)
{
    for (uint32_t i = 0; policy->evict != NULL && i < policy->param_count; i++) {
        double value = params != NULL ? params[i] : policy->params[i].def;
        if (str_eq(str_of(policy->params[i].name), str_of(policy->evict)) && !(value > 0.0)) {
            return NULL;
        }
    }
    return policy->evict;
}
