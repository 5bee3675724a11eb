/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/tenants.h"

#include "bench/replay/samples.h"

static bool is_of(const struct lab_plan *plan, uint32_t arrival, uint32_t tenant, uint32_t count)
{
    return count == 1 || plan->sessions[plan->arrivals[arrival].session].tenant == tenant;
}

static enum status make_one(const struct lab_plan *plan,
                            const struct metrics_session *sessions,
                            uint32_t tenant,
                            uint32_t count,
                            struct tenant_metrics *ret)
{
    struct samples slowdowns;
    double in_time = 0;
    double given_up = 0;
    uint32_t all = 0;
    samples_init(&slowdowns, mem_heap(), 1);
    for (uint32_t i = 0; i < plan->arrival_count; i++) {
        const struct metrics_session *session = &sessions[i];
        if (!is_of(plan, i, tenant, count)) {
            continue;
        }
        all++;
        given_up += session->is_given_up ? 1 : 0;
        if (!session->is_given_up) {
            samples_add(&slowdowns, metrics_slowdown(session));
        }
        in_time += session->is_finished && metrics_slowdown(session) <= METRICS_SLO_RATIO ? 1 : 0;
    }
    *ret = (struct tenant_metrics){
        .sessions = all,
        .mean_slowdown = samples_mean(&slowdowns),
        .p99_slowdown = samples_quantile(&slowdowns, 0.99),
        .share_within_2p5x = all > 0 ? in_time / all : 0,
        .refused_share = all > 0 ? given_up / all : 0,
    };
    bool is_whole = slowdowns.lost_count == 0;
    samples_fini(&slowdowns);
    return is_whole ? ST_OK : ST_NOMEM;
}

enum status tenants_make(const struct lab_plan *plan,
                         const struct metrics_session *sessions,
                         struct tenants *ret)
{
    struct tenants made = {.count = 1};
    if (plan->scenario != NULL && plan->scenario->tenant_count > 0) {
        made.count = plan->scenario->tenant_count;
    }
    enum status st = ST_OK;
    for (uint32_t i = 0; st == ST_OK && i < made.count; i++) {
        st = make_one(plan, sessions, i, made.count, &made.of[i]);
        if (made.of[i].mean_slowdown > made.worst_slowdown) {
            made.worst_slowdown = made.of[i].mean_slowdown;
        }
    }
    if (st == ST_OK) {
        *ret = made;
    }
    return st;
}

static struct str name_of(const struct scenario *scenario, uint32_t tenant)
{
    return scenario != NULL && scenario->tenant_count > 0 ? str_of(scenario->tenants[tenant].name)
                                                          : STR("all");
}

enum status
tenants_json(const struct tenants *tenants, const struct scenario *scenario, struct buf *out)
{
    enum status st =
        buf_add_fmt(out, ",\"worst_tenant_slowdown\":%.6g,\"tenants\":[", tenants->worst_slowdown);
    for (uint32_t i = 0; st == ST_OK && i < tenants->count; i++) {
        const struct tenant_metrics *of = &tenants->of[i];
        st = buf_add_str(out, i == 0 ? STR("{\"tenant\":\"") : STR(",{\"tenant\":\""));
        if (st == ST_OK) {
            st = buf_add_json(out, name_of(scenario, i));
        }
        if (st == ST_OK) {
            st = buf_add_fmt(out,
                             "\",\"sessions\":%u,\"mean_slowdown\":%.6g,\"p99_slowdown\":%.6g,"
                             "\"share_within_2p5x\":%.6g,\"refused_share\":%.6g}",
                             of->sessions, of->mean_slowdown, of->p99_slowdown,
                             of->share_within_2p5x, of->refused_share);
        }
    }
    return st == ST_OK ? buf_add_str(out, STR("]")) : st;
}

enum status
tenants_table(const struct tenants *tenants, const struct scenario *scenario, struct buf *out)
{
    enum status st = ST_OK;
    for (uint32_t i = 0; st == ST_OK && tenants->count > 1 && i < tenants->count; i++) {
        const struct tenant_metrics *of = &tenants->of[i];
        struct str name = name_of(scenario, i);
        st = buf_add_fmt(out,
                         "  %-28.*s %6u sessions %8.2f slowdown %8.2f p99 %6.1f %% in 2.5x %6.1f "
                         "%% refused\n",
                         (int)name.len, name.p, of->sessions, of->mean_slowdown, of->p99_slowdown,
                         100 * of->share_within_2p5x, 100 * of->refused_share);
    }
    return st;
}
