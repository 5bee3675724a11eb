/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/aeg/base.h"

enum status base_init(struct base *base, const struct mem *mem)
{
    *base = (struct base){.mem = mem};
    base->tools = mem_calloc(mem, BASE_TOOLS_MAX, sizeof(*base->tools));
    if (base->tools == NULL) {
        return ST_NOMEM;
    }
    base->tool_count = 1;
    for (uint32_t i = 0; i < BASE_VALUE_COUNT; i++) {
        samples_init(&base->tools[0].values[i], mem, i);
    }
    return ST_OK;
}

void base_fini(struct base *base)
{
    for (uint32_t t = 0; t < base->tool_count; t++) {
        for (uint32_t i = 0; i < BASE_VALUE_COUNT; i++) {
            samples_fini(&base->tools[t].values[i]);
        }
    }
    mem_free(base->mem, base->tools, BASE_TOOLS_MAX * sizeof(*base->tools));
    *base = (struct base){0};
}

/* The trace keeps one copy of each text, so equal texts are equal pointers. */
static struct base_tool *find(const struct base *base, const char *tools)
{
    for (uint32_t i = 1; i < base->tool_count; i++) {
        if (base->tools[i].tools == tools) {
            return &base->tools[i];
        }
    }
    return NULL;
}

static struct base_tool *find_or_add(struct base *base, const char *tools)
{
    struct base_tool *tool = find(base, tools);
    if (tool == NULL && base->tool_count < BASE_TOOLS_MAX) {
        tool = &base->tools[base->tool_count++];
        tool->tools = tools;
        for (uint32_t i = 0; i < BASE_VALUE_COUNT; i++) {
            samples_init(&tool->values[i], base->mem, i);
        }
    }
    return tool;
}

static void add_to(struct base_tool *tool, const struct drive_point *point)
{
    if (point->is_known) {
        samples_add(&tool->values[BASE_WAIT], point->wait_s);
    }
    if (point->next != NULL) {
        samples_add(&tool->values[BASE_OUT], point->next->out_tokens);
        samples_add(&tool->values[BASE_NEW], drive_new_tokens(point->next));
    }
    samples_add(&tool->values[BASE_TO_GO], point->to_go);
    samples_add(&tool->values[BASE_WORK], point->work_to_go_s);
}

void base_add(struct base *base, const struct drive_point *point)
{
    struct base_tool *tool = find_or_add(base, point->step->tools);
    add_to(&base->tools[0], point);
    if (tool != NULL) {
        add_to(tool, point);
    }
}

double base_rate(const struct base *base, double within_s)
{
    const struct samples *waits = &base->tools[0].values[BASE_WAIT];
    uint32_t hits = 0;
    for (uint32_t i = 0; i < waits->count; i++) {
        hits += waits->values[i] <= within_s;
    }
    return waits->count == 0 ? 0.5 : (double)hits / waits->count;
}

double base_median(struct base *base, enum base_value value)
{
    return samples_quantile(&base->tools[0].values[value], 0.5);
}

double base_p95(struct base *base, const char *tools, enum base_value value)
{
    struct base_tool *tool = find(base, tools);
    if (tool == NULL || tool->values[value].count == 0) {
        tool = &base->tools[0];
    }
    return samples_quantile(&tool->values[value], 0.95);
}
