/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/gate.h"

const uint64_t gate_horizons_us[GATE_HORIZONS] = {
    100000,   300000,    1000000,   3000000,   10000000,  30000000,
    60000000, 100000000, 165000000, 300000000, 600000000, 1800000000,
};

double gate_return_within(const struct gate_usage *usage, uint64_t within_us)
{
    if (!usage->has_return) {
        return -1.0;
    }
    double from_us = 0.0;
    double from = 0.0;
    for (uint32_t i = 0; i < GATE_HORIZONS; i++) {
        double to_us = (double)gate_horizons_us[i];
        double to = (double)usage->return_ratio[i];
        if (within_us <= gate_horizons_us[i]) {
            return from + (to - from) * ((double)within_us - from_us) / (to_us - from_us);
        }
        from_us = to_us;
        from = to;
    }
    return from;
}
