/* SPDX-License-Identifier: Apache-2.0 */
/* Time of one modelled step of a long session, iteration by iteration and in runs, on one engine
 * whose memory holds all of its sessions or not even most of them, without and with room for the
 * rest in host memory; prints JSON. */
#include "common/base/hash.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"
#include "simulator/model/evict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SESSIONS_MAX = 10,
    STEPS = 20000,
    FIRST_TOKENS = 30000,
    MOST_TOKENS = 80000,
    BLOCK_TOKENS_MIN = 256,
    HASHES = MOST_TOKENS / BLOCK_TOKENS_MIN + 16,
};

struct session {
    uint64_t hashes[HASHES];
    uint64_t key;
    uint32_t context_tokens; /* after its last answer */
};

struct bench {
    struct session sessions[SESSIONS_MAX];
    struct sim_engine *engine;
    struct rng rng;
    uint32_t block_tokens;
    uint32_t session_count;
    uint32_t host_tokens; /* 0 = no tier, no pins, no priorities */
    uint32_t row_count;
    bool is_in_runs;
    uint64_t step_count;
    uint64_t begin_count;
    uint64_t virtual_us;
};

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void must(enum status st)
{
    if (st != ST_OK) {
        (void)fprintf(stderr, "bench_model: %s\n", status_name(st));
        abort();
    }
}

/* The next step of a session; a new one when it has grown too long. */
static void submit(struct bench *bench, struct session *session)
{
    uint32_t output_tokens = 50 + (uint32_t)rng_below(&bench->rng, 500);
    uint32_t prompt_tokens = session->context_tokens + (uint32_t)rng_below(&bench->rng, 3000);
    if (session->context_tokens == 0 || prompt_tokens + output_tokens > MOST_TOKENS) {
        session->key = rng_u64(&bench->rng) | 1;
        prompt_tokens = FIRST_TOKENS + (uint32_t)rng_below(&bench->rng, 10000);
        for (uint32_t i = 0; i < HASHES; i++) {
            session->hashes[i] = hash_mix(session->key, i) | 1;
        }
    }
    session->context_tokens = prompt_tokens + output_tokens;
    const struct sim_request_spec spec = {
        .owner = session,
        .chain = session->key,
        .block_hashes = session->hashes,
        .block_hash_count = HASHES,
        .prompt_tokens = prompt_tokens,
        .output_tokens = output_tokens,
        .priority = bench->host_tokens > 0 ? (int64_t)rng_below(&bench->rng, 3) : 0,
    };
    struct sim_request_id id;
    must(sim_engine_submit(bench->engine, &spec, &id));
}

static void turn(struct bench *bench)
{
    uint64_t us = 0;
    size_t count = 0;
    must(bench->is_in_runs ? sim_engine_begin_run(bench->engine, UINT64_MAX, &us)
                           : sim_engine_begin(bench->engine, &us));
    const struct sim_event *events = sim_engine_end(bench->engine, &count);
    bench->begin_count++;
    bench->virtual_us += us;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind == SIM_EVENT_FINISHED) {
            const struct session *session = events[i].owner;
            bench->step_count++;
            if (bench->host_tokens > 0) {
                must(sim_engine_pin(bench->engine, session->key, bench->virtual_us + 500000));
            }
            submit(bench, events[i].owner);
        }
    }
}

static void measure(struct bench *bench, const struct sim_evict *evict, bool is_in_runs)
{
    struct sim_engine_opts opts;
    sim_engine_opts_init(&opts, sim_profile_find(STR("a100x4-llama3-70b")));
    opts.block_tokens = bench->block_tokens;
    opts.evict = evict;
    opts.tiers.host_tokens = bench->host_tokens;
    opts.has_pins = bench->host_tokens > 0;
    bench->is_in_runs = is_in_runs;
    bench->step_count = 0;
    bench->begin_count = 0;
    bench->virtual_us = 0;
    memset(bench->sessions, 0, sizeof(bench->sessions));
    rng_init(&bench->rng, 1);
    must(sim_engine_new(&bench->engine, mem_heap(), &opts));
    for (uint32_t i = 0; i < bench->session_count; i++) {
        submit(bench, &bench->sessions[i]);
    }
    uint64_t begin_ns = cpu_ns();
    while (bench->step_count < STEPS) {
        turn(bench);
    }
    double ns = (double)(cpu_ns() - begin_ns) / (double)bench->step_count;
    const struct sim_engine_counters *n = sim_engine_counters(bench->engine);
    (void)printf("%s\n  {\"sessions\": %u, \"block_tokens\": %u, \"host_tokens\": %u, \"evict\": "
                 "\"%s\", \"runs\": %s, "
                 "\"steps\": %llu, "
                 "\"ns_per_step\": %.0f, \"steps_per_minute\": %.0f, \"begins_per_step\": %.2f, "
                 "\"iterations_per_step\": %.1f, \"hit_ratio\": %.3f, \"virtual_s\": %.3f}",
                 bench->row_count++ > 0 ? "," : "", bench->session_count, bench->block_tokens,
                 bench->host_tokens, evict->name, is_in_runs ? "true" : "false",
                 (unsigned long long)bench->step_count, ns, 60e9 / ns,
                 (double)bench->begin_count / (double)bench->step_count,
                 (double)n->iteration_count / (double)bench->step_count,
                 (double)n->hit_tokens / (double)n->query_tokens, (double)bench->virtual_us * 1e-6);
    sim_engine_free(bench->engine);
}

int main(void)
{
    static struct bench bench;
    static const struct {
        uint32_t sessions;
        uint32_t block_tokens;
        uint32_t host_tokens;
    } loads[] = {
        {6, BLOCK_TOKENS_MIN, 0},
        {6, 512, 0},
        {SESSIONS_MAX, BLOCK_TOKENS_MIN, 0},
        {SESSIONS_MAX, 512, 0},
        {SESSIONS_MAX, BLOCK_TOKENS_MIN, 1600000},
        {SESSIONS_MAX, 512, 1600000},
    };
    (void)printf("{\"results\": [");
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        bench.session_count = loads[i].sessions;
        bench.block_tokens = loads[i].block_tokens;
        bench.host_tokens = loads[i].host_tokens;
        for (size_t j = 0; sim_evict_at(j) != NULL; j++) {
            (void)measure(&bench, sim_evict_at(j), false);
            (void)measure(&bench, sim_evict_at(j), true);
        }
    }
    (void)printf("\n]}\n");
    return 0;
}
