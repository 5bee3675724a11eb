/* SPDX-License-Identifier: Apache-2.0 */
/* Time of one forecast and of one observation with many classes and sessions, each in another
 * place of memory than the one before; prints JSON. */
#include "aeg/forecast.h"
#include "common/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SESSIONS_PER_CLASS = 4, TOOLS = 8, WARM_STEPS = 6, CALLS = 200000 };

struct bench {
    struct aeg aeg;
    struct aeg_session *sessions; /* [count] */
    uint32_t count;
    struct rng rng;
    uint64_t now_us;
};

static const struct str tools[TOOLS] = {STR("Read"), STR("Grep"), STR("Bash"),  STR("Edit"),
                                        STR("Task"), STR("Glob"), STR("Write"), STR("WebFetch")};

static uint64_t now_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

static struct aeg_session *any_session(struct bench *bench)
{
    bench->now_us += 100;
    return &bench->sessions[rng_below(&bench->rng, bench->count)];
}

static void close_gap(struct bench *bench, struct aeg_session *session)
{
    aeg_observe_gap_closed(&bench->aeg, session, bench->now_us);
}

static void end_step(struct bench *bench, struct aeg_session *session)
{
    const struct aeg_step step = {.new_tokens = (uint32_t)rng_below(&bench->rng, 5000),
                                  .out_tokens = (uint32_t)rng_below(&bench->rng, 1000),
                                  .context_tokens = 30000,
                                  .service_us = 3000000};
    aeg_observe_step(&bench->aeg, session, &step, bench->now_us);
}

static void open_gap(struct bench *bench, struct aeg_session *session)
{
    const struct str *tool = &tools[rng_below(&bench->rng, TOOLS)];
    if (aeg_observe_gap_opened(&bench->aeg, session, tool, 1, bench->now_us) != ST_OK) {
        fail("a gap found no place");
    }
}

static void look_on(struct bench *bench, struct aeg_session *session)
{
    aeg_observe_gap_censored(&bench->aeg, session, bench->now_us + 50);
}

static void foresee(struct bench *bench, struct aeg_session *session)
{
    struct aeg_forecast forecast;
    aeg_forecast(&bench->aeg, session, bench->now_us, &forecast);
    if (!(forecast.return_ratio >= 0.0)) {
        fail("a forecast is no number");
    }
}

static void foresee_wait(struct bench *bench, struct aeg_session *session)
{
    struct aeg_forecast forecast;
    aeg_forecast_wait(&bench->aeg, session, bench->now_us, &forecast);
    if (!(forecast.return_ratio >= 0.0)) {
        fail("a forecast is no number");
    }
}

static void start(struct bench *bench, uint32_t classes)
{
    const struct aeg_limits limits = {.max_classes = classes,
                                      .max_tenants = 100,
                                      .max_cells = classes * (TOOLS + 2) + 2000,
                                      .max_kinds = 16,
                                      .tenant_share = 1,
                                      .half_life_us = UINT64_C(7) * 86400 * 1000000};
    bench->count = classes * SESSIONS_PER_CLASS;
    bench->sessions = calloc(bench->count, sizeof(*bench->sessions));
    rng_init(&bench->rng, 1);
    if (bench->sessions == NULL || aeg_init(&bench->aeg, mem_heap(), &limits) != ST_OK) {
        fail("out of memory");
    }
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct aeg_key key = {i % 100, 1, i % classes};
        struct aeg_session *session = &bench->sessions[i];
        if (aeg_observe_start(&bench->aeg, session, &key, bench->now_us) != ST_OK) {
            fail("a session found no place");
        }
        for (uint32_t k = 0; k < WARM_STEPS; k++) {
            end_step(bench, session);
            open_gap(bench, session);
            bench->now_us += rng_below(&bench->rng, 1000000);
            if (k + 1 < WARM_STEPS || i % 2 == 0) {
                close_gap(bench, session);
            } else {
                look_on(bench, session);
            }
        }
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double mean(const uint64_t *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)values[i];
    }
    return sum / (double)count;
}

/* CALLS times `what` to one session after another; before each, untimed, `ready`. */
static void measure(struct bench *bench,
                    const char *name,
                    void (*ready)(struct bench *, struct aeg_session *),
                    void (*what)(struct bench *, struct aeg_session *))
{
    static uint64_t ns[CALLS];
    for (uint32_t i = 0; i < CALLS; i++) {
        struct aeg_session *session = any_session(bench);
        if (ready != NULL) {
            ready(bench, session);
        }
        uint64_t from_ns = now_ns();
        what(bench, session);
        ns[i] = now_ns() - from_ns;
    }
    qsort(ns, CALLS, sizeof(ns[0]), compare);
    (void)printf("{\"bench\":\"aeg\",\"what\":\"%s\",\"classes\":%u,\"mean_ns\":%.0f,"
                 "\"mean_of_99_pct_ns\":%.0f,\"p50_ns\":%llu,\"p99_ns\":%llu}\n",
                 name, bench->aeg.table.class_count, mean(ns, CALLS), mean(ns, CALLS * 99ull / 100),
                 (unsigned long long)ns[CALLS / 2], (unsigned long long)ns[CALLS * 99ull / 100]);
}

int main(int argc, char **argv)
{
    uint32_t classes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    struct bench bench = {0};
    start(&bench, classes > 0 ? classes : 1);
    measure(&bench, "forecast_anywhere", NULL, foresee);
    measure(&bench, "forecast_after_its_event", open_gap, foresee);
    measure(&bench, "wait_anywhere", NULL, foresee_wait);
    measure(&bench, "wait_after_its_event", open_gap, foresee_wait);
    measure(&bench, "step", NULL, end_step);
    measure(&bench, "gap_opened", NULL, open_gap);
    measure(&bench, "gap_censored", open_gap, look_on);
    measure(&bench, "gap_closed", open_gap, close_gap);
    (void)printf("{\"bench\":\"aeg\",\"what\":\"memory\",\"classes\":%u,\"bytes_per_class\":%.0f,"
                 "\"session_bytes\":%zu}\n",
                 bench.aeg.table.class_count,
                 (double)aeg_table_bytes(&bench.aeg.table) / bench.aeg.table.class_count,
                 sizeof(struct aeg_session));
    aeg_fini(&bench.aeg);
    free(bench.sessions);
    return 0;
}
