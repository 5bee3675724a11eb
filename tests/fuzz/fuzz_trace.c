/* SPDX-License-Identifier: Apache-2.0 */
/* The trace reader over any bytes, gzip or plain; what it accepts must be sound, and a plan and the
 * first prompts are made of it. */
#include "bench/replay/plan.h"

#include <stdlib.h>

enum { PROMPTS_MAX = 32, TOKENS_MAX = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void check_trace(const struct trace *trace)
{
    uint32_t steps = 0;
    uint32_t roots = 0;
    for (uint32_t i = 0; i < trace->session_count; i++) {
        const struct trace_session *session = &trace->sessions[i];
        require(session->step_count > 0 && session->step_at == steps);
        steps += session->step_count;
        roots += session->parent == TRACE_NONE;
        require(session->parent == TRACE_NONE ||
                session->spawn_step < trace->sessions[session->parent].step_count);
        for (uint32_t j = 1; j < session->step_count; j++) {
            const struct trace_step *step = trace_step_at(trace, i, j);
            require(step->reuse_tokens <= step->in_tokens &&
                    step->reuse_tokens <= step[-1].in_tokens);
        }
    }
    require(steps == trace->step_count && roots == trace->root_count && roots > 0);
}

static void make_prompts(const struct trace *trace)
{
    struct replay_options opts = {.seed = 1, .scale_tokens = 0.001, .speed = 1, .burst = 1};
    struct plan plan;
    require(plan_make(&plan, mem_heap(), trace, &opts) == ST_OK);
    require(plan.count == trace->session_count);
    for (uint32_t run = 0; run < plan.count && run < PROMPTS_MAX; run++) {
        struct prompt prompt;
        prompt_init(&prompt, mem_heap());
        for (uint32_t i = 0; i < plan.runs[run].step_count && i < PROMPTS_MAX; i++) {
            struct prompt_step step = plan_prompt_step(&plan, run, i);
            step.in_tokens %= TOKENS_MAX;
            require(prompt_advance(&prompt, &step, STR("reply \xC3\xA9")) == ST_OK);
            require(prompt_tokens(&prompt) > 0 && prompt.count > 0);
        }
        prompt_fini(&prompt);
    }
    plan_fini(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lines *lines = NULL;
    struct trace trace;
    struct err err = {0};
    if (lines_open_mem(&lines, (struct str){(const char *)data, len}, &err) != ST_OK) {
        return 0;
    }
    enum status st = trace_load(&trace, mem_heap(), lines, &err);
    lines_close(lines);
    if (st == ST_OK) {
        check_trace(&trace);
        make_prompts(&trace);
        trace_fini(&trace);
    } else {
        require(err.status != ST_OK && err.text[0] != '\0');
    }
    return 0;
}
