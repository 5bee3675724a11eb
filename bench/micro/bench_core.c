/* SPDX-License-Identifier: Apache-2.0 */
/* Time of one arrived step in the coordinator's core, with many engines and sessions; prints JSON.
 * "home" is the next step of a known session, found by its chain; "birth" a step of a new one;
 * "end" the end of a step, which opens a gap. With "memory" as the first argument: what sessions of
 * 60 steps take; with "flood": a million ids, tools and system prompts beside others' steps. */
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "coordinator/core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHAIN = 200, STEPS = 20000, GROWTH = 2, CLASSES = 100, TOOLS = 8, MEMORY_STEPS = 60 };

struct bench {
    struct coord_core *core;
    uint64_t *starts; /* [sessions] first hash of each session's chain */
    uint32_t *turns;  /* [sessions] steps done */
    uint32_t sessions;
    uint64_t now_us;
    uint64_t req;
    uint64_t end_ns;   /* of the last step */
    size_t live_bytes; /* that the core holds */
    struct mem mem;
    uint64_t chain[CHAIN + GROWTH * 64];
    uint32_t bytes[CHAIN + GROWTH * 64];
    uint8_t is_end[CHAIN + GROWTH * 64];
};

static uint64_t now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The heap, counted. */
static void *count_resize(void *ctx, void *p, size_t old_size, size_t new_size)
{
    struct bench *bench = ctx;
    void *got = mem_heap()->resize(mem_heap()->ctx, p, old_size, new_size);
    if (got != NULL || new_size == 0) {
        bench->live_bytes += new_size - old_size;
    }
    return got;
}

static const struct coord_effects *step(struct bench *bench, const struct coord_event *ev)
{
    const struct coord_effects *effects = NULL;
    if (coord_core_step(bench->core, ev, bench->now_us, &effects) != ST_OK) {
        (void)fprintf(stderr, "a step failed\n");
        abort();
    }
    return effects;
}

/* The chain of a session's next step: CHAIN boundaries at first, GROWTH more each time. */
static uint32_t chain_of(struct bench *bench, uint32_t session)
{
    uint32_t count = CHAIN + GROWTH * (bench->turns[session] % 64);
    uint64_t hash = bench->starts[session];
    for (uint32_t i = 0; i < count; i++) {
        hash = hash * 6364136223846793005u + 1442695040888963407u;
        bench->chain[i] = hash_mix(hash, i);
        bench->bytes[i] = (i + 1) * 1000;
        bench->is_end[i] = i % 2 == 1;
    }
    bench->turns[session]++;
    return count;
}

/* One step; returns the time of its arrival in ns. */
static uint64_t arrive(struct bench *bench, uint32_t session)
{
    uint32_t count = chain_of(bench, session);
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    ev.u.arrived = (struct coord_step_arrived){.req = {++bench->req},
                                               .name = STR("0123456789abcdef0123456789abcdef"),
                                               .model = STR("a-model"),
                                               .chain = bench->chain,
                                               .chain_bytes = bench->bytes,
                                               .chain_is_end = bench->is_end,
                                               .chain_count = count,
                                               .prompt_bytes = count * 1000,
                                               .opening = 1 + session % CLASSES,
                                               .opening_sketch = (1 + session % CLASSES) *
                                                                 UINT64_C(0x9E3779B97F4A7C15),
                                               .is_stream = true};
    bench->now_us += 100;
    uint64_t from = now_ns();
    const struct coord_effects *effects = step(bench, &ev);
    uint64_t ns = now_ns() - from;
    if (effects->count != 1 || effects->items[0].kind != COORD_EF_SUBMIT) {
        (void)fprintf(stderr, "a step was not placed\n");
        abort();
    }
    struct coord_event started = {.kind = COORD_EV_STEP_STARTED};
    started.u.started.req = ev.u.arrived.req;
    started.u.started.attempt = 1;
    (void)step(bench, &started);
    char name[16];
    (void)snprintf(name, sizeof(name), "tool-%u", (unsigned)(bench->req * 7 % TOOLS));
    const struct str tool = str_of(name);
    const struct coord_event done = {.kind = COORD_EV_STEP_DONE,
                                     .u.done = {.req = ev.u.arrived.req,
                                                .outcome = COORD_OUTCOME_OK,
                                                .has_usage = true,
                                                .prompt_tokens = count * 250,
                                                .output_tokens = 200,
                                                .finish = COORD_FINISH_TOOLS,
                                                .tools = &tool,
                                                .tool_count = 1}};
    from = now_ns();
    (void)step(bench, &done);
    bench->end_ns = now_ns() - from;
    return ns;
}

static void add_engines(struct bench *bench, uint32_t engines)
{
    static const struct str model = {"a-model", 7};
    for (uint32_t i = 0; i < engines; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "engine-%u", i);
        const struct coord_event added = {
            .kind = COORD_EV_ENGINE_ADDED,
            .u.engine_added = {.engine = {i}, .name = str_of(name), .max_running = 64}};
        const struct coord_event probed = {
            .kind = COORD_EV_ENGINE_PROBED,
            .u.engine_probed = {.engine = {i}, .is_up = true, .models = &model, .model_count = 1}};
        (void)step(bench, &added);
        (void)step(bench, &probed);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void report(const char *what, uint32_t engines, uint64_t *ns, uint32_t count)
{
    double sum = 0.0;
    qsort(ns, count, sizeof(ns[0]), compare);
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)ns[i];
    }
    (void)printf("{\"bench\":\"core_arrived\",\"step\":\"%s\",\"engines\":%u,\"count\":%u,\"mean_"
                 "ns\":%.0f,\"p50_ns\":%llu,"
                 "\"p99_ns\":%llu}\n",
                 what, engines, count, sum / count, (unsigned long long)ns[count / 2],
                 (unsigned long long)ns[count * 99ull / 100]);
}

static struct bench *bench_new(uint32_t engines, uint32_t sessions)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    const struct coord_limits limits = {.max_sessions = sessions + 16,
                                        .max_requests = 1000,
                                        .max_engines = 1024,
                                        .max_receipts = 4096,
                                        .max_classes = 2000,
                                        .max_graph_bytes = 400 << 20,
                                        .session_idle_us = UINT64_MAX / 2,
                                        .margin_steps = 4,
                                        .health_interval_us = UINT64_MAX / 2,
                                        .health_fail_count = 3,
                                        .health_open_us = 1};
    if (bench != NULL) {
        bench->mem = (struct mem){count_resize, bench};
        bench->starts = calloc(sessions, sizeof(bench->starts[0]));
        bench->turns = calloc(sessions, sizeof(bench->turns[0]));
    }
    if (bench == NULL || bench->starts == NULL || bench->turns == NULL ||
        coord_core_new(&bench->core, &bench->mem, &limits, 1) != ST_OK) {
        (void)fprintf(stderr, "out of memory\n");
        abort();
    }
    bench->sessions = sessions;
    struct rng rng;
    rng_init(&rng, 1);
    for (uint32_t i = 0; i < sessions; i++) {
        bench->starts[i] = rng_u64(&rng);
    }
    add_engines(bench, engines);
    return bench;
}

static void bench_free(struct bench *bench)
{
    coord_core_free(bench->core);
    free(bench->starts);
    free(bench->turns);
    free(bench);
}

static void run(uint32_t engines, uint32_t sessions)
{
    struct bench *bench = bench_new(engines, sessions);
    uint64_t *ns = calloc(sessions > STEPS ? sessions : STEPS, sizeof(ns[0]));
    uint64_t *end_ns = calloc(STEPS, sizeof(end_ns[0]));
    struct rng rng;
    rng_init(&rng, 2);
    if (ns == NULL || end_ns == NULL) {
        (void)fprintf(stderr, "out of memory\n");
        abort();
    }
    for (uint32_t i = 0; i < sessions; i++) {
        ns[i] = arrive(bench, i);
    }
    report("birth", engines, ns + (sessions > STEPS ? sessions - STEPS : 0),
           sessions > STEPS ? STEPS : sessions);
    for (uint32_t i = 0; i < STEPS; i++) {
        ns[i] = arrive(bench, (uint32_t)rng_below(&rng, sessions));
        end_ns[i] = bench->end_ns;
    }
    report("home", engines, ns, STEPS);
    report("end", engines, end_ns, STEPS);
    bench_free(bench);
    free(ns);
    free(end_ns);
}

/* Steps go round, as those of sessions that live at the same time do. */
static void measure_memory(uint32_t sessions)
{
    struct bench *bench = bench_new(8, sessions);
    size_t before = bench->live_bytes;
    for (uint32_t k = 0; k < MEMORY_STEPS; k++) {
        for (uint32_t i = 0; i < sessions; i++) {
            (void)arrive(bench, i);
        }
        (void)printf("{\"bench\":\"core_memory\",\"sessions\":%u,\"steps_each\":%u,\"bytes\":%zu,"
                     "\"bytes_per_session\":%zu}\n",
                     sessions, k + 1, bench->live_bytes - before,
                     (bench->live_bytes - before) / sessions);
    }
    bench_free(bench);
}

/* The next step of a session that has an id. */
static uint64_t step_of(struct bench *bench, const char *id, uint64_t opening)
{
    struct coord_event ev = {.kind = COORD_EV_STEP_ARRIVED};
    const uint64_t chain[] = {opening, opening * 3, ++bench->req};
    static const uint32_t bytes[] = {1000, 2000, 3000};
    static const uint8_t is_end[] = {1, 1, 1};
    ev.u.arrived = (struct coord_step_arrived){.req = {bench->req},
                                               .name = str_of(id),
                                               .session = str_of(id),
                                               .model = STR("a-model"),
                                               .chain = chain,
                                               .chain_bytes = bytes,
                                               .chain_is_end = is_end,
                                               .chain_count = 3,
                                               .prompt_bytes = 3000,
                                               .opening = opening,
                                               .opening_sketch = opening};
    const struct str tool = str_of(id);
    const struct coord_event done = {
        .kind = COORD_EV_STEP_DONE,
        .u.done = {
            .req = ev.u.arrived.req, .outcome = COORD_OUTCOME_OK, .tools = &tool, .tool_count = 1}};
    bench->now_us += 100;
    uint64_t from = now_ns();
    (void)step(bench, &ev);
    (void)step(bench, &done);
    return now_ns() - from;
}

/* A client that sends ever new ids, tools and system prompts, and others beside it. */
static void measure_flood(uint32_t sessions)
{
    enum { OTHERS = 1000, EACH = 10 };
    struct bench *bench = bench_new(64, sessions);
    struct rng rng;
    rng_init(&rng, 3);
    uint64_t ns = 0;
    uint32_t other = 0;
    for (uint32_t i = 1; i <= 1000000; i++) {
        char id[32];
        (void)snprintf(id, sizeof(id), "flood-%u", i);
        (void)step_of(bench, id, rng_u64(&rng) | 1);
        if (i % EACH == 0) {
            (void)snprintf(id, sizeof(id), "other-%u", other++ % OTHERS);
            ns += step_of(bench, id, 7);
        }
        if (i % 100000 == 0) {
            const struct coord_counters *counters = coord_core_counters(bench->core);
            (void)printf("{\"bench\":\"core_flood\",\"ids\":%u,\"bytes\":%zu,\"sessions\":%u,"
                         "\"others_forgotten\":%llu,\"others_step_ns\":%.0f}\n",
                         i, bench->live_bytes, coord_core_session_count(bench->core),
                         (unsigned long long)(counters->sessions_born - i - OTHERS),
                         (double)ns / (100000.0 / EACH));
            ns = 0;
        }
    }
    bench_free(bench);
}

int main(int argc, char **argv)
{
    bool is_memory = argc > 1 && strcmp(argv[1], "memory") == 0;
    bool is_flood = argc > 1 && strcmp(argv[1], "flood") == 0;
    int at = is_memory || is_flood ? 2 : 1;
    uint32_t sessions = argc > at ? (uint32_t)strtoul(argv[at], NULL, 10) : 100000;
    static const uint32_t engines[] = {8, 64, 512};
    if (is_memory) {
        measure_memory(sessions > 0 ? sessions : 1);
    } else if (is_flood) {
        measure_flood(sessions > 0 ? sessions : 1);
    }
    for (int i = 0; i < 3 && at == 1; i++) {
        run(engines[i], sessions > 0 ? sessions : 1);
    }
    return 0;
}
