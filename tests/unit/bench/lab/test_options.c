/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/options.h"

#include "tests/kit/kit.h"

enum { ARGS_MAX = 20 };

static enum status parse(char *line, struct lab_options *ret, struct err *err)
{
    char *argv[ARGS_MAX] = {(char[]){"sim"}};
    int argc = 1;
    char *word = line;
    while (*word != '\0' && argc < ARGS_MAX) {
        argv[argc++] = word;
        word += strcspn(word, " ");
        if (*word == ' ') {
            *word++ = '\0';
        }
    }
    return lab_options_parse(argc, argv, 3, ret, err);
}

static void parse__nothing__is_the_default(void **state)
{
    (void)state;
    struct lab_options opts;
    struct err err = {0};
    assert_status(parse((char[]){""}, &opts, &err), ST_OK);
    assert_string_equal(opts.profile.name, "a100x4-llama3-70b");
    assert_int_equal(opts.policy_count, 2);
    assert_int_equal(opts.jobs, 3);
    assert_close(lab_options_limit(&opts), 0.42, 1e-12);
}

static void parse__all_options__are_taken(void **state)
{
    (void)state;
    struct lab_options opts;
    struct err err = {0};
    assert_status(parse((char[]){"--workload mix --policies a,unlimited,b --load 0.5,1.2 --seeds "
                                 "3,4,5 --engines 8 --kv-scale 2"},
                        &opts, &err),
                  ST_OK);
    assert_int_equal(opts.workload, WORKLOAD_MIX);
    assert_int_equal(opts.policy_count, 3);
    assert_true(str_eq(opts.policies[1], STR(LAB_UNLIMITED)));
    assert_int_equal(opts.load_count, 2);
    assert_close(opts.loads[1], 1.2, 1e-12);
    assert_int_equal(opts.seed_count, 3);
    assert_int_equal(opts.seeds[2], 5);
    assert_close(opts.kv_scales[0], 2, 1e-12);
    assert_close(lab_options_limit(&opts), 0.165 / 2, 1e-12);
    assert_status(parse((char[]){"--split test --rate 0.2 --chunk 512 --hours 4 --burst 3 --evict "
                                 "lru --admission second --jobs 1"},
                        &opts, &err),
                  ST_OK);
    assert_int_equal(opts.split, SPLIT_TEST);
    assert_true(opts.has_rate);
    assert_int_equal(opts.engine.chunk, 512);
    assert_int_equal(opts.engine.admission, SIM_ADMIT_SECOND);
    assert_int_equal(opts.seeds[0], 2); /* even: of the half that reports */
    assert_close(opts.hours, 4, 1e-12);
    assert_close(opts.burst_cv, 3, 1e-12);
}

static void parse__what_makes_no_sense__is_said(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "--load 0",          "--load x",       "--load 1,,2",      "--seeds -1",
        "--workload chats",  "--split half",   "--profile none",   "--evict none",
        "--engines 0",       "--engines 5000", "--hours 0",        "--kv-scale 0.01 --engines",
        "--profile default", "--chunk x",      "--kv-scale 1e-3",  "load",
        "--nonsense 1",      "--block 48",     "--block 0",        "--tier-tokens -1",
        "--tier-mode up",    "--tier-gbps 0",  "--store-tokens x", "--kv-scale 1,,2",
        "--slo 2",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct lab_options opts;
        struct err err = {0};
        char line[128];
        (void)str_copy(line, sizeof(line), str_of(lines[i]));
        assert_status(parse(line, &opts, &err), ST_INVAL);
        assert_true(err.text[0] != '\0');
    }
}

static void parse__memory__is_a_sweep_of_each_with_each(void **state)
{
    (void)state;
    struct lab_options opts;
    struct err err = {0};
    assert_status(parse((char[]){"--kv-scale 0.5,1 --tier-tokens 0,200000,400000 --tier-mode "
                                 "write-through --tier-gbps 12.5 --store-tokens 7 --block 16"},
                        &opts, &err),
                  ST_OK);
    assert_int_equal(lab_options_memories(&opts), 6);
    struct lab_memory memory = lab_options_memory(&opts, 4);
    assert_close(memory.kv_scale, 1, 1e-12);
    assert_int_equal(memory.tier_tokens, 200000);
    assert_int_equal(opts.engine.tier_mode, LAB_TIER_WRITE_THROUGH);
    assert_close(opts.engine.tier_gbps, 12.5, 1e-12);
    assert_int_equal(opts.engine.store_tokens, 7);
    assert_int_equal(opts.engine.block_tokens, 16);
}

static void parse__plan__has_its_options(void **state)
{
    (void)state;
    struct lab_options opts;
    struct err err = {0};
    assert_status(parse((char[]){"plan --sessions-per-hour 300 --slo 2x --attain 0.9 --policy "
                                 "round_robin"},
                        &opts, &err),
                  ST_OK);
    assert_true(opts.is_planning);
    assert_close(opts.sessions_per_hour, 300, 1e-12);
    assert_close(opts.slo_ratio, 2, 1e-12);
    assert_close(opts.attain_ratio, 0.9, 1e-12);
    assert_true(str_eq(opts.policies[0], STR("round_robin")));
    assert_true(str_eq(opts.policies[1], STR(LAB_UNLIMITED)));
    assert_status(parse((char[]){"plan"}, &opts, &err), ST_INVAL);
    assert_status(parse((char[]){"plan --sessions-per-hour 3 --kv-scale 1,2"}, &opts, &err),
                  ST_INVAL);
    assert_status(parse((char[]){"plan --sessions-per-hour 3 --slo 0.5x"}, &opts, &err), ST_INVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse__nothing__is_the_default),
        cmocka_unit_test(parse__all_options__are_taken),
        cmocka_unit_test(parse__memory__is_a_sweep_of_each_with_each),
        cmocka_unit_test(parse__plan__has_its_options),
        cmocka_unit_test(parse__what_makes_no_sense__is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
