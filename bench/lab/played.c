/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/played.h"

#include <stdlib.h>

#define US_PER_S 1e6

static enum status
make_session(struct workload *workload, const struct bench_log *log, uint32_t idx, uint32_t parent)
{
    const struct log_session *session = &log->sessions[idx];
    const struct row *rows = &log->rows.rows[session->row_at];
    struct lab_step *steps = arena_calloc(&workload->arena, session->row_count, sizeof(*steps));
    double ratio = rows[0].own_tokens > 0 ? (double)rows[0].prompt_tokens / rows[0].own_tokens : 1;
    uint32_t system_tokens = (uint32_t)(session->system_tokens * ratio);
    if (steps == NULL) {
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < session->row_count; i++) {
        steps[i] = (struct lab_step){
            .prompt_tokens = rows[i].prompt_tokens,
            .kept_tokens = i > 0 ? rows[i].kept_tokens : 0,
            .output_tokens = rows[i].output_tokens > 0 ? rows[i].output_tokens : 1,
            .gap_us = (uint64_t)(rows[i].gap_s * US_PER_S),
            .tool = STR(""),
        };
        system_tokens =
            rows[i].prompt_tokens < system_tokens ? rows[i].prompt_tokens : system_tokens;
    }
    workload->sessions[workload->session_count] = (struct lab_session){
        .steps = steps,
        .step_count = session->row_count,
        .system_id = session->system_id,
        .system_tokens = system_tokens,
        .parent = parent,
        .spawn_step = session->spawn_step,
        .tenant = session->tenant,
        .recorded = workload->session_count,
    };
    workload->session_count++;
    return ST_OK;
}

/* All but the arena, which is ready. A sub-agent whose parent did not come to its step is left out.
 */
static enum status fill(struct workload *workload, const struct bench_log *log)
{
    uint32_t count = log->session_count;
    struct arena *arena = &workload->arena;
    uint32_t *made = arena_calloc(arena, count, sizeof(*made)); /* place of each, LAB_NONE */
    workload->sessions = arena_calloc(arena, count, sizeof(*workload->sessions));
    workload->trees = arena_calloc(arena, count, sizeof(*workload->trees));
    enum status st =
        made == NULL || workload->sessions == NULL || workload->trees == NULL ? ST_NOMEM : ST_OK;
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        const struct log_session *session = &log->sessions[i];
        bool is_root = session->parent == TRACE_NONE;
        uint32_t parent = is_root ? LAB_NONE : made[session->parent];
        made[i] = LAB_NONE;
        if (session->row_count == 0 ||
            (!is_root && (parent == LAB_NONE ||
                          session->spawn_step >= workload->sessions[parent].step_count))) {
            continue;
        }
        made[i] = workload->session_count;
        if (is_root) {
            workload->trees[workload->tree_count++] =
                (struct workload_tree){.first = made[i], .count = 1};
        }
        st = make_session(workload, log, i, parent);
    }
    return st;
}

enum status played_workload(struct workload *ret,
                            const struct mem *mem,
                            const struct bench_log *log,
                            struct err *err)
{
    struct workload workload = {.kind = WORKLOAD_SWE};
    arena_init(&workload.arena, mem, 1 << 16, SIZE_MAX / 2);
    enum status st = fill(&workload, log);
    if (st != ST_OK) {
        status_ignore(err_set(err, st, "no memory for the sessions"), "returned below");
    } else if (workload.tree_count == 0) {
        st = err_set(err, ST_INVAL, "no session of the run has a step that was answered");
    }
    if (st != ST_OK) {
        arena_fini(&workload.arena);
        return st;
    }
    *ret = workload;
    return ST_OK;
}

static int by_time(const void *a, const void *b)
{
    const struct lab_arrival *x = a;
    const struct lab_arrival *y = b;
    if (x->at_us != y->at_us) {
        return x->at_us < y->at_us ? -1 : 1;
    }
    return x->session < y->session ? -1 : x->session > y->session;
}

enum status played_draw(struct draw *ret,
                        const struct mem *mem,
                        const struct bench_log *log,
                        const struct workload *workload)
{
    struct draw draw = {
        .mem = mem,
        .session_cap = workload->session_count,
        .session_count = workload->session_count,
        .arrival_cap = workload->tree_count,
    };
    draw.sessions = mem_calloc(mem, draw.session_cap, sizeof(*draw.sessions));
    draw.arrivals = mem_calloc(mem, draw.arrival_cap, sizeof(*draw.arrivals));
    if (draw.sessions == NULL || draw.arrivals == NULL) {
        draw_fini(&draw);
        return ST_NOMEM;
    }
    memcpy(draw.sessions, workload->sessions, draw.session_count * sizeof(*draw.sessions));
    for (uint32_t i = 0; i < log->session_count; i++) {
        const struct log_session *session = &log->sessions[i];
        if (session->parent == TRACE_NONE && session->row_count > 0) {
            draw.arrivals[draw.arrival_count] = (struct lab_arrival){
                .at_us = (uint64_t)(log->rows.rows[session->row_at].sent_s * US_PER_S),
                .session = workload->trees[draw.arrival_count].first,
            };
            draw.arrival_count++;
        }
    }
    qsort(draw.arrivals, draw.arrival_count, sizeof(*draw.arrivals), by_time);
    *ret = draw;
    return ST_OK;
}

double played_rate_per_s(const struct draw *draw)
{
    uint64_t first_us = draw->arrivals[0].at_us;
    uint64_t last_us = draw->arrivals[draw->arrival_count - 1].at_us;
    double span_s = (double)(last_us - first_us) / US_PER_S;
    return span_s > 0 ? (draw->arrival_count - 1) / span_s : 1.0 / 3600;
}
