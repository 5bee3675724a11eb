/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/keys.h"

uint64_t route_pin_us(const struct gate_usage *usage, double worth_us)
{
    uint64_t best_us = 0;
    double best = 0.0;
    for (uint32_t i = 0; usage->has_return && i < GATE_HORIZONS; i++) {
        double gain = (double)usage->return_ratio[i] * worth_us - (double)gate_horizons_us[i];
        if (gain > best) {
            best = gain;
            best_us = gate_horizons_us[i];
        }
    }
    return best_us;
}

uint32_t route_service_level(double served_s, double unit_s)
{
    uint32_t level = 0;
    double ratio = 1.0 + served_s / unit_s;
    while (ratio >= 2.0) {
        ratio /= 2.0;
        level++;
    }
    return level;
}

double route_key_born(const struct gate *gate, const struct gate_step *step)
{
    (void)gate;
    return (double)(step->session == NULL ? step->came_at_us : step->session->born_at_us);
}
