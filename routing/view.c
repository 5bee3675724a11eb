/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/view.h"

double route_view_mean_slots(const struct route_view *view)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < view->count; i++) {
        sum += (double)view->engines[i].slots;
    }
    return view->count == 0 || sum < (double)view->count ? 1.0 : sum / (double)view->count;
}
