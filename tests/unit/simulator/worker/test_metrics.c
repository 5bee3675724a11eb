/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/worker/metrics.h"

static bool has_line(const struct sim_out *out, const char *line)
{
    struct str rest = buf_str(&out->buf);
    struct str got;
    while (str_split(&rest, '\n', &got)) {
        if (str_eq(got, str_of(line))) {
            return true;
        }
    }
    return false;
}

static void expect_line(const struct sim_out *out, const char *line)
{
    if (!has_line(out, line)) {
        fail_msg("no line %s", line);
    }
}

static struct sim_engine *busy_engine(const uint64_t *hashes)
{
    struct sim_engine_opts opts;
    struct sim_engine *engine = NULL;
    uint64_t us = 0;
    size_t count = 0;
    sim_engine_opts_init(&opts, sim_profile_at(0));
    opts.profile.kv_tokens = 160;
    opts.profile.max_running = 1;
    assert_status(sim_engine_new(&engine, mem_heap(), &opts), ST_OK);
    for (int i = 0; i < 3; i++) {
        struct sim_request_spec spec = {.block_hashes = hashes,
                                        .block_hash_count = 4,
                                        .prompt_tokens = 40,
                                        .output_tokens = i == 0 ? 1 : 50};
        struct sim_request_id id;
        assert_status(sim_engine_submit(engine, &spec, &id), ST_OK);
    }
    for (int i = 0; i < 2; i++) {
        assert_status(sim_engine_begin(engine, &us), ST_OK);
        (void)sim_engine_end(engine, &count);
    }
    return engine;
}

static void metrics__busy_engine__is_told_under_the_names_of_vllm(void **state)
{
    (void)state;
    static const uint64_t hashes[4] = {1, 2, 3, 4};
    struct sim_engine *engine = busy_engine(hashes);
    struct sim_metrics metrics = {.stopped_count = 3, .cut_count = 4, .aborted_count = 5};
    struct sim_out out;
    sim_out_init(&out, mem_heap());
    sim_metrics_write(&metrics, engine, 16, STR("a\"b"), &out);
    assert_status(out.st, ST_OK);
    expect_line(&out, "vllm:num_requests_running{engine=\"0\",model_name=\"a\\\"b\"} 1");
    expect_line(&out, "vllm:num_requests_waiting{engine=\"0\",model_name=\"a\\\"b\"} 1");
    expect_line(&out,
                "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"a\\\"b\"} 0.29999999999999999");
    expect_line(&out, "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"a\\\"b\"} 80");
    expect_line(&out, "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"a\\\"b\"} 32");
    expect_line(&out, "vllm:prompt_tokens_total{engine=\"0\",model_name=\"a\\\"b\"} 80");
    expect_line(&out, "vllm:generation_tokens_total{engine=\"0\",model_name=\"a\\\"b\"} 2");
    expect_line(&out, "vllm:num_preemptions_total{engine=\"0\",model_name=\"a\\\"b\"} 0");
    expect_line(&out, "vllm:request_success_total{engine=\"0\",finished_reason=\"length\",model_"
                      "name=\"a\\\"b\"} 4");
    expect_line(&out,
                "vllm:cache_config_info{engine=\"0\",block_size=\"16\",cache_dtype=\"auto\","
                "enable_prefix_caching=\"True\",kv_cache_size_tokens=\"160\",num_gpu_blocks=\"10\","
                "model_name=\"a\\\"b\"} 1");
    sim_out_fini(&out);
    sim_engine_free(engine);
}

static void metrics__histogram__is_cumulative(void **state)
{
    (void)state;
    static const uint64_t hashes[4] = {1, 2, 3, 4};
    struct sim_engine *engine = busy_engine(hashes);
    struct sim_metrics metrics = {0};
    struct sim_out out;
    static const double seconds[] = {0.0005, 0.005, 0.3, 5000.0};
    for (size_t i = 0; i < 4; i++) {
        sim_metrics_observe(&metrics, SIM_HIST_TTFT_S, seconds[i]);
    }
    sim_out_init(&out, mem_heap());
    sim_metrics_write(&metrics, engine, 16, STR("m"), &out);
#define TTFT "vllm:time_to_first_token_seconds"
    expect_line(&out, "# TYPE " TTFT " histogram");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"0.001\",model_name=\"m\"} 1");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"0.005\",model_name=\"m\"} 2");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"0.25\",model_name=\"m\"} 2");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"0.5\",model_name=\"m\"} 3");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"1.0\",model_name=\"m\"} 3");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"2560.0\",model_name=\"m\"} 3");
    expect_line(&out, TTFT "_bucket{engine=\"0\",le=\"+Inf\",model_name=\"m\"} 4");
    expect_line(&out, TTFT "_count{engine=\"0\",model_name=\"m\"} 4");
    sim_out_fini(&out);
    sim_engine_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics__busy_engine__is_told_under_the_names_of_vllm),
        cmocka_unit_test(metrics__histogram__is_cumulative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
