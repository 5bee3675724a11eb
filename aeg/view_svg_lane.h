/* SPDX-License-Identifier: Apache-2.0 */
/* One swim lane: names at the left, steps and gaps as bars. PURE. THREAD: one owner. */
#ifndef AEG_VIEW_SVG_LANE_H
#define AEG_VIEW_SVG_LANE_H

#include "aeg/view_svg_sheet.h"

void svg_put_lane(struct svg_sheet *sheet, uint32_t lane);

#endif
