/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/entry.h"

#include "bench/lab/setup.h"
#include "tests/kit/kit.h"

static struct lab_options opts;

/* The options point into these. */
static char words[][24] = {"sim",           "--set",  "routing.margin=9", "--kv-scale", "0.5,2",
                           "--tier-tokens", "0,4096", "--evict",          "wa_lru"};

static int setup(void **state)
{
    (void)state;
    struct err err = {0};
    char *argv[sizeof(words) / sizeof(words[0])];
    int argc = 0;
    for (; argc < (int)(sizeof(words) / sizeof(words[0])); argc++) {
        argv[argc] = words[argc];
    }
    assert_status(lab_options_parse(argc, argv, 1, &opts, &err), ST_OK);
    return 0;
}

static void entry__a_name__has_what_all_have(void **state)
{
    (void)state;
    struct lab_entry entry;
    struct err err = {0};
    assert_status(lab_entry_make(&entry, &opts, STR("saga"), &err), ST_OK);
    assert_int_equal(entry.config.routing_margin, 9);
    assert_int_equal(entry.config.routing_engine_slots, 256); /* the gateway's default */
    struct lab_engine_spec spec = lab_entry_engine(&entry, &opts, 3);
    assert_string_equal(spec.evict->name, "wa_lru");
    assert_close(spec.kv_scale, 2, 1e-12);
    assert_int_equal(spec.tier_tokens, 4096);
    lab_entry_fini(&entry);
}

static void entry__own_settings__win(void **state)
{
    (void)state;
    struct lab_entry entry;
    struct err err = {0};
    struct str text = STR("prefix_affinity:routing.margin=8;kv-scale=3;evict=belady;"
                          "tier-tokens=64;tier-mode=write-through;chunk=1024;admission=second");
    assert_status(lab_entry_make(&entry, &opts, text, &err), ST_OK);
    assert_true(str_eq(entry.label, text));
    assert_true(str_eq(entry.policy, STR("prefix_affinity")));
    assert_int_equal(entry.config.routing_margin, 8);
    for (uint32_t memory = 0; memory < lab_options_memories(&opts); memory++) {
        struct lab_engine_spec spec = lab_entry_engine(&entry, &opts, memory);
        assert_close(spec.kv_scale, 3, 1e-12);
        assert_int_equal(spec.tier_tokens, 64);
        assert_string_equal(spec.evict->name, "belady");
        assert_int_equal(spec.chunk, 1024);
        assert_int_equal(spec.admission, SIM_ADMIT_SECOND);
        assert_int_equal(spec.tier_mode, LAB_TIER_WRITE_THROUGH);
    }
    lab_entry_fini(&entry);
}

static void entry__what_is_wrong__is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"none", "no policy \"none\""},
        {"none:chunk=1024", "no policy \"none\""},
        {"saga:", "KEY=VALUE"},
        {"saga:chunk", "--policies chunk: expected KEY=VALUE"},
        {"saga:=1", "KEY=VALUE"},
        {"saga:routing.margn=1", "did you mean routing.margin?"},
        {"saga:routing.margin=x", "--policies routing.margin=x: "},
        {"saga:routing.policy=saga", "what --policies says"},
        {"saga:evict=none", "must be one of lru"},
        {"saga:admission=some", "must be one of all second states"},
        {"saga:kv-scale=0", "a number from"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct lab_entry entry;
        struct err err = {0};
        assert_status(lab_entry_make(&entry, &opts, str_of(cases[i].text), &err), ST_INVAL);
        if (strstr(err.text, cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
        lab_entry_fini(&entry);
    }
}

static void apply__profile_and_spec__make_an_engine(void **state)
{
    (void)state;
    struct sim_engine_opts engine;
    struct err err = {0};
    struct lab_engine_spec spec = lab_engine_spec_default();
    spec.kv_scale = 0.5;
    spec.chunk = 512;
    assert_status(lab_engine_spec_apply(&spec, &opts.profile, &engine, &err), ST_OK);
    assert_int_equal(engine.profile.kv_tokens, 210000);
    assert_int_equal(engine.profile.budget_tokens, 512);
    assert_int_equal(engine.block_tokens, 64);
    assert_int_equal(engine.admission, SIM_ADMIT_ALL);
    spec.admission = SIM_ADMIT_STATES;
    assert_status(lab_engine_spec_apply(&spec, &opts.profile, &engine, &err), ST_OK);
    assert_int_equal(engine.admission, SIM_ADMIT_STATES);
    spec.store_tokens = 1;
    assert_status(lab_engine_spec_apply(&spec, &opts.profile, &engine, &err), ST_INVAL);
    spec.store_tokens = 0;
    spec.tier_tokens = 1;
    assert_status(lab_engine_spec_apply(&spec, &opts.profile, &engine, &err), ST_INVAL);
    spec.tier_tokens = 0;
    spec.chunk = 16; /* less than the batch */
    assert_status(lab_engine_spec_apply(&spec, &opts.profile, &engine, &err), ST_INVAL);
    spec.chunk = 0;
    spec.kv_scale = 0.001;
    assert_status(lab_engine_spec_apply(&spec, &opts.profile, &engine, &err), ST_INVAL);
}

/* Sessions fit into the smallest engine of all; alone they have the largest. */
static void load__a_sweep__has_one_workload(void **state)
{
    (void)state;
    static struct lab_setup made;
    struct err err = {0};
    made.opts = opts;
    made.opts.policies[0] = STR("saga:kv-scale=0.01");
    made.opts.tiers[1] = 0;
    assert_status(lab_setup_entries(&made, &err), ST_OK);
    assert_status(lab_setup_load(&made, &err), ST_OK);
    assert_true(made.workload.cut_count > 0); /* 4,160 tokens */
    assert_int_equal(made.batch.alone.profile.kv_tokens, 840000);
    struct batch_run run = lab_setup_run(&made, 0, 1, NULL);
    assert_int_equal(run.engine.profile.kv_tokens, 4200);
    run = lab_setup_run(&made, 1, 2, NULL);
    assert_int_equal(run.engine.profile.kv_tokens, 840000);
    lab_setup_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry__a_name__has_what_all_have),
        cmocka_unit_test(entry__own_settings__win),
        cmocka_unit_test(entry__what_is_wrong__is_said_with_its_place),
        cmocka_unit_test(apply__profile_and_spec__make_an_engine),
        cmocka_unit_test(load__a_sweep__has_one_workload),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
