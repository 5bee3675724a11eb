/* SPDX-License-Identifier: Apache-2.0 */
/* Time of one arrived step in the coordinator's core, with many engines and sessions; prints JSON.
 * "home" is the next step of a known session, found by its chain; "birth" a step of a new one. Ends
 * of steps are not timed. */
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "coordinator/core/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CHAIN = 200, STEPS = 20000, GROWTH = 2 };

struct bench {
    struct coord_core *core;
    uint64_t *starts; /* [sessions] first hash of each session's chain */
    uint32_t *turns;  /* [sessions] steps done */
    uint32_t sessions;
    uint64_t now_us;
    uint64_t req;
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
    const struct coord_event done = {
        .kind = COORD_EV_STEP_DONE,
        .u.done = {.req = ev.u.arrived.req, .outcome = COORD_OUTCOME_OK}};
    (void)step(bench, &done);
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

static void run(uint32_t engines, uint32_t sessions)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    uint64_t *ns = calloc(sessions > STEPS ? sessions : STEPS, sizeof(ns[0]));
    const struct coord_limits limits = {.max_sessions = sessions + 16,
                                        .max_requests = 1000,
                                        .max_engines = 1024,
                                        .max_receipts = 4096,
                                        .session_idle_us = UINT64_MAX / 2,
                                        .margin_steps = 4,
                                        .health_interval_us = UINT64_MAX / 2,
                                        .health_fail_count = 3,
                                        .health_open_us = 1};
    if (bench == NULL || ns == NULL ||
        coord_core_new(&bench->core, mem_heap(), &limits, 1) != ST_OK) {
        (void)fprintf(stderr, "out of memory\n");
        abort();
    }
    bench->sessions = sessions;
    bench->starts = calloc(sessions, sizeof(bench->starts[0]));
    bench->turns = calloc(sessions, sizeof(bench->turns[0]));
    struct rng rng;
    rng_init(&rng, 1);
    add_engines(bench, engines);
    for (uint32_t i = 0; i < sessions; i++) {
        bench->starts[i] = rng_u64(&rng);
        ns[i] = arrive(bench, i);
    }
    report("birth", engines, ns + (sessions > STEPS ? sessions - STEPS : 0),
           sessions > STEPS ? STEPS : sessions);
    for (uint32_t i = 0; i < STEPS; i++) {
        ns[i] = arrive(bench, (uint32_t)rng_below(&rng, sessions));
    }
    report("home", engines, ns, STEPS);
    coord_core_free(bench->core);
    free(bench->starts);
    free(bench->turns);
    free(bench);
    free(ns);
}

int main(int argc, char **argv)
{
    uint32_t sessions = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 100000;
    static const uint32_t engines[] = {8, 64, 512};
    for (int i = 0; i < 3; i++) {
        run(engines[i], sessions > 0 ? sessions : 1);
    }
    return 0;
}
