/* SPDX-License-Identifier: Apache-2.0 */
/* Names of tools, each once, in the order they were met. They are untrusted bytes: cut, never
 * interpreted.
 * THREAD: one owner. LIMITS: COORD_TOOLS_MAX names of COORD_TOOL_BYTES; no memory before the first
 * name. */
#ifndef COORDINATOR_IO_TOOL_NAMES_H
#define COORDINATOR_IO_TOOL_NAMES_H

#include "common/base/json.h"
#include "common/base/str.h"

struct tool_names {
    struct buf packed; /* for each name a byte that holds its length, then the name */
    uint32_t count;
};

void tool_names_init(struct tool_names *names, const struct mem *mem);
void tool_names_fini(struct tool_names *names);
/* Empty again; the memory stays. */
void tool_names_reset(struct tool_names *names);
/* Nothing happens when the name is empty or known already, when the list is full, or when there is
 * no memory. */
void tool_names_add(struct tool_names *names, struct str name);
/* Writes the names to ret [COORD_TOOLS_MAX], borrowed until the next change. Returns how many. */
uint32_t tool_names_list(const struct tool_names *names, struct str *ret);

/* The name of the tool that an item of a Responses conversation calls: its `name`, or what its type
 * stands for. False when the item is no such call. *ret_is_ours: the client runs it, not the
 * engine's side. */
bool tool_item_read(yyjson_val *item, struct str *ret_name, bool *ret_is_ours);

#endif
