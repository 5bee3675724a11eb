/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/metrics.h"

#include <inttypes.h>
#include <stdio.h>

struct hist_shape {
    const char *name;
    const char *help;
    const double *bounds;
    size_t bound_count;
};

static const double token_bounds[] = {1,   2,    5,    10,   20,    50,    100,   200,
                                      500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
static const double iteration_bounds[] = {1,   8,    16,   32,   64,   128,  256,
                                          512, 1024, 2048, 4096, 8192, 16384};
static const double ttft_bounds[] = {0.001, 0.005, 0.01, 0.02,  0.04,  0.06,  0.08, 0.1,
                                     0.25,  0.5,   0.75, 1.0,   2.5,   5.0,   7.5,  10.0,
                                     20.0,  40.0,  80.0, 160.0, 640.0, 2560.0};
static const double inter_token_bounds[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                                            0.3,  0.4,   0.5,  0.75,  1.0, 2.5,  5.0,
                                            7.5,  10.0,  20.0, 40.0,  80.0};
static const double e2e_bounds[] = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                                    5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                                    60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};

#define BOUNDS(list) list, sizeof(list) / sizeof((list)[0])

static const struct hist_shape shapes[SIM_HIST_COUNT] = {
    [SIM_HIST_PROMPT_TOKENS] = {"request_prompt_tokens", "Prefill tokens of a request.",
                                BOUNDS(token_bounds)},
    [SIM_HIST_OUTPUT_TOKENS] = {"request_generation_tokens", "Generation tokens of a request.",
                                BOUNDS(token_bounds)},
    [SIM_HIST_ITERATION_TOKENS] = {"iteration_tokens_total", "Tokens of an engine step.",
                                   BOUNDS(iteration_bounds)},
    [SIM_HIST_TTFT_S] = {"time_to_first_token_seconds", "Time to first token in seconds.",
                         BOUNDS(ttft_bounds)},
    [SIM_HIST_INTER_TOKEN_S] = {"inter_token_latency_seconds", "Inter-token latency in seconds.",
                                BOUNDS(inter_token_bounds)},
    [SIM_HIST_E2E_S] = {"e2e_request_latency_seconds",
                        "End to end latency of a request in seconds.", BOUNDS(e2e_bounds)},
    [SIM_HIST_PREFILL_COMPUTED_TOKENS] = {"request_prefill_kv_computed_tokens",
                                          "Prefill tokens of a request that were not cached.",
                                          BOUNDS(token_bounds)},
};

void sim_metrics_observe(struct sim_metrics *metrics, enum sim_hist_kind kind, double value)
{
    const struct hist_shape *shape = &shapes[kind];
    struct sim_hist *hist = &metrics->hists[kind];
    hist->total_count++;
    hist->sum += value;
    for (size_t i = 0; i < shape->bound_count; i++) {
        if (value <= shape->bounds[i]) {
            hist->counts[i]++;
            return;
        }
    }
}

struct page {
    struct sim_out *out;
    struct str model;
};

static void head(const struct page *page, const char *name, const char *type, const char *help)
{
    sim_out_fmt(page->out, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, type);
}

/* extra: further labels, each ending in a comma; label names sorted as vLLM's are, where that is
 * cheap. */
static void line(const struct page *page, const char *name, const char *extra, double value)
{
    sim_out_fmt(page->out, "vllm:%s{engine=\"0\",%smodel_name=", name, extra);
    sim_out_json(page->out, page->model);
    sim_out_fmt(page->out, "} %.17g\n", value);
}

static void counter(const struct page *page, const char *name, const char *help, uint64_t value)
{
    head(page, name, "counter", help);
    line(page, name, "", (double)value);
}

static void gauge(const struct page *page, const char *name, const char *help, double value)
{
    head(page, name, "gauge", help);
    line(page, name, "", value);
}

static void
histogram(const struct page *page, const struct hist_shape *shape, const struct sim_hist *hist)
{
    char name[96];
    char label[48];
    uint64_t sum = 0;
    head(page, shape->name, "histogram", shape->help);
    size_t len = str_copy(name, sizeof(name), str_of(shape->name));
    (void)str_copy(name + len, sizeof(name) - len, STR("_bucket"));
    for (size_t i = 0; i < shape->bound_count; i++) {
        double bound = shape->bounds[i];
        bool is_whole = bound == (double)(uint64_t)bound;
        (void)snprintf(label, sizeof(label), is_whole ? "le=\"%.1f\"," : "le=\"%.6g\",", bound);
        sum += hist->counts[i];
        line(page, name, label, (double)sum);
    }
    line(page, name, "le=\"+Inf\",", (double)hist->total_count);
    (void)str_copy(name + len, sizeof(name) - len, STR("_count"));
    line(page, name, "", (double)hist->total_count);
    (void)str_copy(name + len, sizeof(name) - len, STR("_sum"));
    line(page, name, "", hist->sum);
}

static void write_load(const struct page *page, const struct sim_engine *engine)
{
    struct sim_kv_counts kv = sim_engine_kv(engine);
    double waiting = (double)sim_engine_waiting(engine);
    gauge(page, "num_requests_running", "Requests in the batch.",
          (double)sim_engine_running(engine));
    gauge(page, "num_requests_waiting", "Requests waiting to be processed.", waiting);
    head(page, "num_requests_waiting_by_reason", "gauge", "Waiting requests by reason.");
    line(page, "num_requests_waiting_by_reason", "reason=\"capacity\",", waiting);
    line(page, "num_requests_waiting_by_reason", "reason=\"deferred\",", 0.0);
    gauge(page, "kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.",
          (double)kv.used_blocks / (double)kv.total_blocks);
}

static void write_totals(const struct page *page, const struct sim_engine_counters *n)
{
    counter(page, "prefix_cache_queries_total", "Prefix cache queries in tokens.", n->query_tokens);
    counter(page, "prefix_cache_hits_total", "Prefix cache hits in tokens.", n->hit_tokens);
    counter(page, "num_preemptions_total", "Preemptions.", n->preempted_count);
    counter(page, "prompt_tokens_total", "Prefill tokens processed.", n->prompt_tokens);
    counter(page, "prompt_tokens_cached_total", "Cached prompt tokens.", n->hit_tokens);
    counter(page, "generation_tokens_total", "Generation tokens processed.", n->generated_tokens);
}

static void write_ends(const struct page *page, const struct sim_metrics *metrics)
{
    const char *name = "request_success_total";
    head(page, name, "counter", "Requests by the reason of their end.");
    line(page, name, "finished_reason=\"stop\",", (double)metrics->stopped_count);
    line(page, name, "finished_reason=\"length\",", (double)metrics->cut_count);
    line(page, name, "finished_reason=\"abort\",", (double)metrics->aborted_count);
    line(page, name, "finished_reason=\"error\",", (double)metrics->error_count);
    head(page, "admission_rejections_total", "counter", "Requests refused by a queue limit.");
    line(page, "admission_rejections_total", "reason=\"max_num_queued_reqs\",",
         (double)metrics->queue_refused_count);
}

static void write_config(const struct page *page, uint32_t block_tokens, uint32_t blocks)
{
    head(page, "cache_config_info", "gauge", "Shape of the KV cache.");
    char labels[256];
    (void)snprintf(labels, sizeof(labels),
                   "block_size=\"%" PRIu32 "\",cache_dtype=\"auto\",enable_prefix_caching=\"True\","
                   "kv_cache_size_tokens=\"%" PRIu64 "\",num_gpu_blocks=\"%" PRIu32 "\",",
                   block_tokens, (uint64_t)blocks * block_tokens, blocks);
    line(page, "cache_config_info", labels, 1.0);
}

void sim_metrics_write(const struct sim_metrics *metrics,
                       const struct sim_engine *engine,
                       uint32_t block_tokens,
                       struct str model,
                       struct sim_out *out)
{
    struct page page = {.out = out, .model = model};
    write_load(&page, engine);
    write_totals(&page, sim_engine_counters(engine));
    write_ends(&page, metrics);
    for (size_t i = 0; i < SIM_HIST_COUNT; i++) {
        histogram(&page, &shapes[i], &metrics->hists[i]);
    }
    write_config(&page, block_tokens, sim_engine_kv(engine).total_blocks);
}
