/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants: what the cores believe is what is true. */
#include "tests/sim/cluster.h"

#include "coordinator/core/state.h"

static void expect(const struct sim *sim, bool is_true, const char *claim)
{
    if (!is_true) {
        fail_msg("seed %llu, t = %.3f s: %s", (unsigned long long)sim->plan.seed,
                 (double)sim->now_us / 1e6, claim);
    }
}
#define EXPECT(sim, cond) expect((sim), (cond), #cond)

/* Steps that are truly queued for / running on an engine. */
struct truth {
    uint32_t queued;
    uint32_t running;
};

static void count_truth(const struct sim *sim, struct truth *truth)
{
    for (uint64_t r = 1; r <= sim->last_req; r++) {
        const struct sim_request *request = &sim->requests[r];
        if (request->phase == SIM_QUEUED) {
            truth[request->engine].queued++;
        } else if (request->phase == SIM_RUNNING || request->phase == SIM_ANSWERED) {
            truth[request->engine].running++;
        }
    }
}

static void
check_engine(const struct sim *sim, const struct coord_engine *engine, const struct truth *truth)
{
    struct agent_queue_view view = {.running = 0};
    uint64_t pending = 0;
    uint32_t links = 0;
    EXPECT(sim, engine->queued_count == truth->queued);
    EXPECT(sim, engine->running_count == truth->running);
    EXPECT(sim, truth->running <= sim->plan.slots);
    LIST_FOR_EACH(link, &engine->queued)
    {
        const struct coord_request *request = LIST_OWNER(link, struct coord_request, link);
        EXPECT(sim, request->state == COORD_REQUEST_QUEUED);
        pending += request->charged_bytes;
        links++;
    }
    EXPECT(sim, links == engine->queued_count);
    LIST_FOR_EACH(link, &engine->running)
    {
        const struct coord_request *request = LIST_OWNER(link, struct coord_request, link);
        EXPECT(sim,
               request->state == COORD_REQUEST_RUNNING || request->state == COORD_REQUEST_ANSWERED);
        pending += request->charged_bytes;
        links++;
    }
    EXPECT(sim, links == engine->queued_count + engine->running_count);
    EXPECT(sim, pending == engine->pending_bytes);
    if (agent_core_queue(sim->agent, engine->id, &view)) {
        EXPECT(sim, view.running == truth->running);
        EXPECT(sim, view.waiting == truth->queued);
        EXPECT(sim, view.running <= view.max_running);
    } else {
        EXPECT(sim, truth->running + truth->queued == 0);
    }
}

static void check_sessions(const struct sim *sim)
{
    const struct coord_sessions *sessions = &sim->coord->sessions;
    uint32_t per_engine[SIM_ENGINES_MAX] = {0};
    uint32_t in_flight = 0;
    uint32_t total = 0;
    for (int state = 0; state < COORD_SESSION_STATES; state++) {
        uint32_t count = 0;
        LIST_FOR_EACH(link, &sessions->lists[state])
        {
            const struct coord_session *session = LIST_OWNER(link, struct coord_session, link);
            EXPECT(sim, (int)session->state == state);
            EXPECT(sim, (session->in_flight > 0) == (session->state == COORD_SESSION_BUSY));
            in_flight += session->in_flight;
            count++;
            if (!coord_session_is_cold(session) && session->home.v < SIM_ENGINES_MAX) {
                per_engine[session->home.v]++;
            }
        }
        EXPECT(sim, count == sessions->counts[state]);
        total += count;
    }
    EXPECT(sim, total == coord_core_session_count(sim->coord));
    EXPECT(sim, in_flight <= sim->live);
    for (uint32_t i = 0; i < sim->coord->fleet.count; i++) {
        const struct coord_engine *engine = sim->coord->fleet.engines[i];
        EXPECT(sim, engine->sessions == per_engine[engine->id.v]);
    }
}

void sim_check(const struct sim *sim)
{
    struct truth truth[SIM_ENGINES_MAX] = {{0, 0}};
    count_truth(sim, truth);
    EXPECT(sim, coord_core_in_flight(sim->coord) == sim->live);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < sim->coord->fleet.count; i++) {
        const struct coord_engine *engine = sim->coord->fleet.engines[i];
        check_engine(sim, engine, &truth[engine->id.v]);
        seen += engine->queued_count + engine->running_count;
    }
    EXPECT(sim, seen == sim->live); /* no step on an engine that is gone */
    check_sessions(sim);
}

void sim_check_end(const struct sim *sim)
{
    const struct coord_counters *counters = coord_core_counters(sim->coord);
    EXPECT(sim, sim->live == 0);
    for (uint64_t r = 1; r <= sim->last_req; r++) {
        EXPECT(sim, sim->requests[r].ends == 1);
    }
    EXPECT(sim, counters->steps_arrived ==
                    counters->steps_done + counters->steps_gone + counters->steps_refused);
    const struct sim_result *result = &sim->result;
    EXPECT(sim, counters->steps_done == result->ok + result->client_error + result->cut);
    EXPECT(sim, counters->steps_gone == result->gone);
}
