/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tools as one string, for comparing. */
#ifndef TESTS_UNIT_COORDINATOR_IO_TOOLS_TEXT_H
#define TESTS_UNIT_COORDINATOR_IO_TOOLS_TEXT_H

#include "coordinator/core/event.h"

#include <string.h>

enum { TOOLS_TEXT_BYTES = COORD_TOOLS_MAX * (COORD_TOOL_BYTES + 1) + 1 };

/* Writes the names to ret [TOOLS_TEXT_BYTES] with a blank between them. */
static inline void tools_text(const struct str *tools, uint32_t count, char *ret)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            ret[at++] = ' ';
        }
        memcpy(ret + at, tools[i].p, tools[i].len);
        at += tools[i].len;
    }
    ret[at] = '\0';
}

#endif
