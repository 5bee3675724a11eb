/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a modelled engine with a known profile, fitted: the constants must come back. */
#include "tests/kit/kit.h"

#include "bench/lab/fit.h"
#include "common/base/rng.h"
#include "simulator/model/engine.h"

enum { STEPS = 400, RUN_MAX = 64 };

/* What the requests look like. */
struct mix {
    uint32_t fresh_max; /* new tokens of a prompt */
    uint32_t output_max;
    double gap_s; /* mean time between arrivals */
    double noise; /* largest relative error of a time */
};

struct made {
    struct fit_step steps[STEPS];
    struct sim_profile profile;
};

static void draw(struct made *made, const struct mix *mix, struct rng *rng)
{
    double at_s = 1;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t cached = (uint32_t)rng_below(rng, 2000) * 16;
        uint32_t fresh = 1 + (uint32_t)rng_below(rng, mix->fresh_max);
        at_s += rng_exp(rng, mix->gap_s);
        made->steps[i] = (struct fit_step){
            .sent_s = at_s,
            .prompt_tokens = cached + fresh,
            .cached_tokens = cached,
            .output_tokens = 1 + (uint32_t)rng_below(rng, mix->output_max),
        };
    }
}

static void take_events(struct made *made, struct sim_engine *engine, double now_s)
{
    size_t count = 0;
    const struct sim_event *events = sim_engine_end(engine, &count);
    for (size_t e = 0; e < count; e++) {
        struct fit_step *step = events[e].owner;
        assert_true(events[e].kind != SIM_EVENT_PREEMPTED);
        if (events[e].kind == SIM_EVENT_TOKEN && events[e].token_idx == 0) {
            step->ttft_s = now_s - step->sent_s;
        } else if (events[e].kind == SIM_EVENT_FINISHED) {
            step->step_s = now_s - step->sent_s;
        }
    }
    (void)made;
}

static void run(struct made *made)
{
    struct sim_engine_opts opts;
    struct sim_engine *engine = NULL;
    uint32_t next = 0;
    double now_s = 0;
    sim_engine_opts_init(&opts, &made->profile);
    opts.keeps_all = true;
    assert_status(sim_engine_new(&engine, mem_heap(), &opts), ST_OK);
    for (;;) {
        uint64_t took_us = 0;
        for (; next < STEPS && made->steps[next].sent_s <= now_s; next++) {
            struct fit_step *step = &made->steps[next];
            struct sim_request_id id;
            struct sim_request_spec spec = {.owner = step,
                                            .prompt_tokens = step->prompt_tokens,
                                            .output_tokens = step->output_tokens,
                                            .given_tokens = step->cached_tokens};
            assert_status(sim_engine_submit(engine, &spec, &id), ST_OK);
        }
        if (sim_engine_begin(engine, &took_us) == ST_OK) {
            now_s += (double)took_us * 1e-6;
            take_events(made, engine, now_s);
        } else if (next < STEPS) {
            now_s = made->steps[next].sent_s;
        } else {
            break;
        }
    }
    sim_engine_free(engine);
}

static struct made *make(const char *name, const struct mix *mix)
{
    struct made *made = mem_calloc(mem_heap(), 1, sizeof(*made));
    struct rng rng;
    assert_non_null(made);
    rng_init(&rng, 7);
    made->profile = *sim_profile_find(str_of(name));
    made->profile.kv_tokens = 40000000;
    made->profile.max_running = RUN_MAX;
    draw(made, mix, &rng);
    run(made);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct fit_step *step = &made->steps[i];
        double decode_s = step->step_s - step->ttft_s;
        step->ttft_s *= 1 + mix->noise * (2 * rng_unit(&rng) - 1);
        step->step_s = step->ttft_s + decode_s * (1 + mix->noise * (2 * rng_unit(&rng) - 1));
    }
    return made;
}

static void done(struct made *made)
{
    mem_free(mem_heap(), made, sizeof(*made));
}

static void assert_near(double value, double wanted, double ratio)
{
    if (!(value >= wanted * (1 - ratio) && value <= wanted * (1 + ratio))) {
        fail_msg("%g is not within %g of %g", value, ratio, wanted);
    }
}

static const struct mix broad = {.fresh_max = 12000, .output_max = 200, .gap_s = 2};

static void fit__data_of_a_known_profile__gives_it_back(void **state)
{
    (void)state;
    static const char *const names[] = {"h100-llama3-8b", "h200-qwen3-coder-30b"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct made *made = make(names[i], &broad);
        struct fit fit;
        struct err err = {0};
        assert_status(fit_make(made->steps, STEPS, &made->profile, mem_heap(), &fit, &err), ST_OK);
        assert_near(fit.profile.b_s_per_token, made->profile.b_s_per_token, 0.02);
        assert_near(fit.profile.d_s_per_pair, made->profile.d_s_per_pair, 0.02);
        assert_near(fit.profile.f_s, made->profile.f_s, 0.02);
        assert_near(fit.profile.h_s_per_token, made->profile.h_s_per_token, 0.03);
        assert_near(fit.profile.a_s, made->profile.a_s, 0.3);
        assert_true(fit.profile.g_s_per_request < 40e-6);
        assert_true(fit.step_miss < 0.01 && fit.first_miss < 0.02);
        done(made);
    }
}

static void fit__noise_and_outliers__leave_the_constants_near(void **state)
{
    (void)state;
    struct mix noisy = broad;
    noisy.noise = 0.2;
    struct made *made = make("h100-llama3-8b", &noisy);
    struct fit fit;
    struct err err = {0};
    for (uint32_t i = 0; i < STEPS; i += 25) {
        made->steps[i].ttft_s += 30;
        made->steps[i].step_s += 60;
    }
    assert_status(fit_make(made->steps, STEPS, &made->profile, mem_heap(), &fit, &err), ST_OK);
    assert_near(fit.profile.b_s_per_token, made->profile.b_s_per_token, 0.1);
    assert_near(fit.profile.d_s_per_pair, made->profile.d_s_per_pair, 0.15);
    assert_near(fit.profile.f_s, made->profile.f_s, 0.1);
    assert_near(fit.profile.h_s_per_token, made->profile.h_s_per_token, 0.15);
    assert_true(fit.solution.outliers >= STEPS / 25);
    done(made);
}

static void fit__data_that_does_not_tell__is_refused(void **state)
{
    (void)state;
    const struct {
        struct mix mix;
        uint32_t count;
        const char *words;
    } cases[] = {
        {broad, 20, "at least 30"},
        {{.fresh_max = 1, .output_max = 100, .gap_s = 2}, STEPS, "b, the cost"},
        {{.fresh_max = 9000, .output_max = 1, .gap_s = 2}, STEPS, "at least 30"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct made *made = make("h100-llama3-8b", &cases[i].mix);
        struct fit fit;
        struct err err = {0};
        assert_status(fit_make(made->steps, cases[i].count, &made->profile, mem_heap(), &fit, &err),
                      ST_INVAL);
        if (strstr(err.text, cases[i].words) == NULL) {
            fail_msg("%s: says \"%s\"", cases[i].words, err.text);
        }
        done(made);
    }
}

static void fit__times_that_mean_nothing__are_refused(void **state)
{
    (void)state;
    struct made *made = make("h100-llama3-8b", &broad);
    struct rng rng;
    struct fit fit;
    struct err err = {0};
    rng_init(&rng, 3);
    for (uint32_t i = 0; i < STEPS; i++) {
        made->steps[i].ttft_s = rng_exp(&rng, 5);
        made->steps[i].step_s = made->steps[i].ttft_s + rng_exp(&rng, 5);
    }
    assert_status(fit_make(made->steps, STEPS, &made->profile, mem_heap(), &fit, &err), ST_INVAL);
    done(made);
}

static void report__a_fit__says_how_well_each_is_known(void **state)
{
    (void)state;
    struct made *made = make("h100-llama3-8b", &broad);
    struct fit fit;
    struct err err = {0};
    struct buf text;
    buf_init(&text, mem_heap(), 1 << 16);
    assert_status(fit_make(made->steps, STEPS, &made->profile, mem_heap(), &fit, &err), ST_OK);
    assert_status(fit_report(&fit, &text), ST_OK);
    assert_status(buf_add(&text, "", 1), ST_OK);
    assert_non_null(strstr(text.p, "# Fitted to 400 steps"));
    assert_non_null(strstr(text.p, "#   b_s_per_token"));
    assert_non_null(strstr(text.p, "+- "));
    buf_fini(&text);
    done(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fit__data_of_a_known_profile__gives_it_back),
        cmocka_unit_test(fit__noise_and_outliers__leave_the_constants_near),
        cmocka_unit_test(fit__data_that_does_not_tell__is_refused),
        cmocka_unit_test(fit__times_that_mean_nothing__are_refused),
        cmocka_unit_test(report__a_fit__says_how_well_each_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
