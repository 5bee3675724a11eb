/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "simulator/model/profile.h"

/* Worked numbers of docs/profiles.md. */
static const struct sim_profile machine = {
    .a_s = 1e-3,
    .b_s_per_token = 10e-6,
    .d_s_per_pair = 1e-9,
    .f_s = 5e-3,
    .g_s_per_request = 0.1e-3,
    .h_s_per_token = 50e-9,
};

static void iteration__one_chunk__costs_a_bu_du(void **state)
{
    (void)state;
    struct sim_batch batch = {0};
    sim_batch_add_chunk(&batch, 1000, 4000);
    /* 0.001 + 0.010 + 1e-9 * 1000 * 4500 */
    assert_close(sim_profile_iteration_s(&machine, &batch), 0.0155, 1e-12);
}

static void iteration__decodes_only__costs_f_gb_hc(void **state)
{
    (void)state;
    struct sim_batch batch = {.decode_requests = 8, .decode_tokens = 100000};
    /* 0.005 + 0.0008 + 0.005 */
    assert_close(sim_profile_iteration_s(&machine, &batch), 0.0108, 1e-12);
}

static void iteration__chunk_beside_decodes__reads_the_weights_once(void **state)
{
    (void)state;
    struct sim_batch batch = {.decode_requests = 8, .decode_tokens = 100000};
    sim_batch_add_chunk(&batch, 1000, 4000);
    /* max(0.005, 0.001 + 0.01008) + 0.0008 + 0.005 + 0.0045 */
    assert_close(sim_profile_iteration_s(&machine, &batch), 0.02138, 1e-12);
}

static void iteration__small_chunk__costs_at_least_f(void **state)
{
    (void)state;
    struct sim_batch batch = {0};
    sim_batch_add_chunk(&batch, 16, 0);
    assert_close(sim_profile_iteration_s(&machine, &batch), 0.005 + 1e-9 * 128, 1e-12);
}

static void batch__prefill_in_chunks__has_the_pairs_of_one_prefill(void **state)
{
    (void)state;
    struct sim_batch whole = {0};
    struct sim_batch parts = {0};
    sim_batch_add_chunk(&whole, 5000, 700);
    for (uint32_t at = 0; at < 5000; at += 500) {
        sim_batch_add_chunk(&parts, 500, 700 + at);
    }
    assert_close(whole.prefill_pairs, parts.prefill_pairs, 1e-6);
    assert_int_equal(whole.prefill_tokens, parts.prefill_tokens);
}

static void profiles__each__is_named_once_and_usable(void **state)
{
    (void)state;
    size_t count = 0;
    for (; sim_profile_at(count) != NULL; count++) {
        const struct sim_profile *profile = sim_profile_at(count);
        assert_ptr_equal(sim_profile_find(str_of(profile->name)), profile);
        assert_true(profile->f_s >= profile->a_s && profile->a_s > 0.0);
        assert_true(profile->b_s_per_token > 0.0 && profile->h_s_per_token > 0.0);
        assert_true(profile->kv_tokens >= profile->context_tokens);
        assert_true(profile->budget_tokens >= profile->max_running);
    }
    assert_int_equal(count, 4);
    assert_string_equal(sim_profile_at(0)->name, "default");
    assert_null(sim_profile_find(STR("h100")));
}

/* The derivations of docs/profiles.md, to the digits given there. */
static void profile__h100_llama3_8b__follows_from_the_data_sheet(void **state)
{
    (void)state;
    const struct sim_profile *p = sim_profile_find(STR("h100-llama3-8b"));
    assert_non_null(p);
    assert_close(p->b_s_per_token, 2 * 8.03e9 / (989e12 * 0.5), 0.05e-6);
    assert_close(p->d_s_per_pair, 4.0 * 32 * 4096 / (989e12 * 0.5), 0.005e-9);
    assert_close(p->f_s, p->a_s + 16.06e9 / (3.35e12 * 0.7), 0.005e-3);
    assert_close(p->h_s_per_token, 131072 / (3.35e12 * 0.7), 0.05e-9);
    assert_close(p->kv_tokens, (0.9 * 80e9 - 16.06e9 - 4e9) / 131072, 500);
    assert_int_equal(p->kv_bytes_per_token, 2 * 32 * 8 * 128 * 2);
}

static void profile__a100x4_llama3_70b__follows_from_the_data_sheet(void **state)
{
    (void)state;
    const struct sim_profile *p = sim_profile_find(STR("a100x4-llama3-70b"));
    assert_non_null(p);
    assert_close(p->b_s_per_token, 2 * 70.6e9 / (4 * 312e12 * 0.5), 0.0005e-3);
    assert_close(p->d_s_per_pair, 4.0 * 80 * 8192 / (4 * 312e12 * 0.5), 0.05e-9);
    assert_close(p->f_s, p->a_s + 141e9 / (4 * 2.04e12 * 0.7), 0.05e-3);
    assert_close(p->h_s_per_token, 327680 / (4 * 2.04e12 * 0.7), 0.2e-9);
    assert_close(p->kv_tokens, (0.9 * 4 * 80e9 - 141e9 - 10e9) / 327680, 2000);
    assert_int_equal(p->kv_bytes_per_token, 2 * 80 * 8 * 128 * 2);
}

static void profile__h200_qwen3_coder_30b__follows_from_the_data_sheet(void **state)
{
    (void)state;
    const struct sim_profile *p = sim_profile_find(STR("h200-qwen3-coder-30b"));
    assert_non_null(p);
    assert_close(p->b_s_per_token, 2 * 3.3e9 / (989e12 * 0.5), 0.05e-6);
    assert_close(p->d_s_per_pair, 4.0 * 48 * 32 * 128 / (989e12 * 0.5), 0.005e-9);
    assert_close(p->f_s, p->a_s + 61e9 / (4.8e12 * 0.7), 0.05e-3);
    assert_close(p->h_s_per_token, 98304 / (4.8e12 * 0.7), 0.05e-9);
    assert_close(p->kv_tokens, (0.9 * 141e9 - 61e9 - 4e9) / 98304, 500);
    assert_int_equal(p->kv_bytes_per_token, 2 * 48 * 4 * 128 * 2);
}

/* Step time: 4 ms + max(24.7 ms, 0.226 ms n) + 57.5 ns C + 4.2 ns sum u (c + u/2). */
static void profile__a100x4_llama3_70b__has_the_known_step_times(void **state)
{
    (void)state;
    const struct sim_profile *p = sim_profile_find(STR("a100x4-llama3-70b"));
    struct sim_batch batch = {.decode_requests = 12, .decode_tokens = 400000};
    assert_close(sim_profile_iteration_s(p, &batch), 0.0517, 1e-9);
    sim_batch_add_chunk(&batch, 2036, 10000);
    assert_close(sim_profile_iteration_s(p, &batch),
                 4e-3 + 0.226e-3 * 2048 + 57.5e-9 * 400000 + 4.2e-9 * 2036 * 11018, 1e-9);
}

/* Llama-3-8B, Llama-3-70B, Qwen3-Coder-30B-A3B: 2 * layers * heads * 128 * 2. */
static void kv_bytes__full_attention__are_those_of_the_profiles(void **state)
{
    (void)state;
    static const struct {
        const char *profile;
        uint32_t layers;
        uint32_t kv_heads;
    } rows[3] = {
        {"h100-llama3-8b", 32, 8}, {"a100x4-llama3-70b", 80, 8}, {"h200-qwen3-coder-30b", 48, 4}};
    for (int i = 0; i < 3; i++) {
        const struct sim_kv_shape shape = {.layers = rows[i].layers,
                                           .kv_heads = rows[i].kv_heads,
                                           .head_dim = 128,
                                           .dtype_bytes = 2};
        const struct sim_profile *profile = sim_profile_find(str_of(rows[i].profile));
        assert_int_equal(sim_kv_shape_bytes(&shape, 1), profile->kv_bytes_per_token);
        assert_int_equal(sim_kv_shape_bytes(&shape, 1000), 1000 * profile->kv_bytes_per_token);
        assert_int_equal(sim_kv_shape_bytes(&shape, 0), 0);
    }
}

/* DeepSeek-V3: 61 layers, rank 512, 64 numbers of rotary key: 61 * 576 * 2. */
static void kv_bytes__mla__is_one_latent_vector_per_layer(void **state)
{
    (void)state;
    const struct sim_kv_shape shape = {.layers = 61,
                                       .kv_heads = 128,
                                       .head_dim = 128,
                                       .dtype_bytes = 2,
                                       .lora_rank = 512,
                                       .rope_dim = 64};
    assert_int_equal(sim_kv_shape_bytes(&shape, 1), 70272);
    assert_int_equal(sim_kv_shape_bytes(&shape, 100000), UINT64_C(7027200000));
}

/* 12 of 48 layers with full attention, 2 heads of 256: 24,576 a token; 36 states of 1 MiB. */
static void kv_bytes__hybrid__only_full_attention_grows(void **state)
{
    (void)state;
    const struct sim_kv_shape shape = {.layers = 12,
                                       .kv_heads = 2,
                                       .head_dim = 256,
                                       .dtype_bytes = 2,
                                       .linear_state_bytes = UINT64_C(36) << 20};
    assert_int_equal(sim_kv_shape_bytes(&shape, 1), 24576 + 37748736);
    assert_int_equal(sim_kv_shape_bytes(&shape, 2) - sim_kv_shape_bytes(&shape, 1), 24576);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kv_bytes__full_attention__are_those_of_the_profiles),
        cmocka_unit_test(kv_bytes__mla__is_one_latent_vector_per_layer),
        cmocka_unit_test(kv_bytes__hybrid__only_full_attention_grows),
        cmocka_unit_test(iteration__one_chunk__costs_a_bu_du),
        cmocka_unit_test(iteration__decodes_only__costs_f_gb_hc),
        cmocka_unit_test(iteration__chunk_beside_decodes__reads_the_weights_once),
        cmocka_unit_test(iteration__small_chunk__costs_at_least_f),
        cmocka_unit_test(batch__prefill_in_chunks__has_the_pairs_of_one_prefill),
        cmocka_unit_test(profiles__each__is_named_once_and_usable),
        cmocka_unit_test(profile__h100_llama3_8b__follows_from_the_data_sheet),
        cmocka_unit_test(profile__a100x4_llama3_70b__follows_from_the_data_sheet),
        cmocka_unit_test(profile__a100x4_llama3_70b__has_the_known_step_times),
        cmocka_unit_test(profile__h200_qwen3_coder_30b__follows_from_the_data_sheet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
