/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/config_read.h"

#include <string.h>

static struct kit_mem km;
static struct config cfg;

static int make(void **state)
{
    (void)state;
    kit_mem_init(&km);
    return config_defaults(&cfg, &km.mem) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    config_fini(&cfg);
    kit_mem_expect_empty(&km);
    return 0;
}

static void config_defaults__new__has_the_values_of_the_def_file(void **state)
{
    (void)state;
    assert_int_equal(cfg.listen.count, 1);
    assert_string_equal(cfg.listen.items[0], "127.0.0.1:8080");
    assert_int_equal(cfg.limits_header_bytes, 65536);
    assert_true(cfg.usage_injection);
    assert_false(cfg.public_mode);
    assert_close(cfg.retry_budget_ratio, 0.1, 0.0);
    assert_int_equal(cfg.log_level, LOG_LEVEL_INFO);
    assert_int_equal(cfg.stream_keepalive, STREAM_KEEPALIVE_OFF);
    assert_string_equal(cfg.record_events, "");
    assert_int_equal(cfg.engine_count, 0);
}

static void config_set__each_kind__takes_effect(void **state)
{
    (void)state;
    struct err err = {.status = ST_OK};
    assert_status(config_set(&cfg, "limits.body_bytes", "1048576", &err), ST_OK);
    assert_status(config_set(&cfg, "retry_budget_ratio", "0.25", &err), ST_OK);
    assert_status(config_set(&cfg, "public_mode", "true", &err), ST_OK);
    assert_status(config_set(&cfg, "retry_executed", "off", &err), ST_OK);
    assert_status(config_set(&cfg, "stream_keepalive", "early", &err), ST_OK);
    assert_status(config_set(&cfg, "tls.cert_file", "/x y.pem", &err), ST_OK);
    assert_status(config_set(&cfg, "listen", "127.0.0.1:0, [::1]:0", &err), ST_OK);
    assert_int_equal(cfg.limits_body_bytes, 1048576);
    assert_close(cfg.retry_budget_ratio, 0.25, 0.0);
    assert_true(cfg.public_mode);
    assert_false(cfg.retry_executed);
    assert_int_equal(cfg.stream_keepalive, STREAM_KEEPALIVE_EARLY);
    assert_string_equal(cfg.tls_cert_file, "/x y.pem");
    assert_int_equal(cfg.listen.count, 2);
    assert_string_equal(cfg.listen.items[1], "[::1]:0");
    assert_status(config_set(&cfg, "listen", "", &err), ST_OK);
    assert_int_equal(cfg.listen.count, 0);
}

struct bad_case {
    const char *key;
    const char *value;
    const char *says;
};

static void config_set__bad_value__says_what_is_allowed(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {"loops", "0", "loops: '0' is not a whole number from 1 to 64 (count)"},
        {"loops", "65", "from 1 to 64"},
        {"loops", "-1", "whole number"},
        {"loops", "2.0", "whole number"},
        {"loops", "", "whole number"},
        {"retry_budget_ratio", "1.5", "a number from 0 to 1 (ratio)"},
        {"retry_budget_ratio", "nan", "a number"},
        {"public_mode", "yes", "true or false"},
        {"log.level", "INFO", "one of error|warn|info|debug"},
        {"log.level", "", "one of"},
        {"log.level", "error|warn", "one of"},
        {"listen", "a:1,,b:2", "a list of at most 16"},
        {"listen", "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", "a list of at most 16"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {.status = ST_OK};
        enum status st = config_set(&cfg, cases[i].key, cases[i].value, &err);
        if (st != ST_INVAL || strstr(err.text, cases[i].says) == NULL) {
            fail_msg("%s=%s: %s, '%s'", cases[i].key, cases[i].value, status_name(st), err.text);
        }
    }
    assert_int_equal(cfg.loops, 1);
    assert_int_equal(cfg.listen.count, 1);
    char big[1100];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_status(config_set(&cfg, "tls.cert_file", big, NULL), ST_INVAL);
    assert_status(config_set(&cfg, "tls.cert_file", "\xFF", NULL), ST_INVAL);
}

static void config_set__unknown_key__suggests_a_near_one(void **state)
{
    (void)state;
    struct err err = {.status = ST_OK};
    assert_status(config_set(&cfg, "limits.body_byte", "1", &err), ST_NOTFOUND);
    assert_non_null(strstr(err.text, "did you mean limits.body_bytes?"));
    assert_status(config_set(&cfg, "what_is_this", "1", &err), ST_NOTFOUND);
    assert_null(strstr(err.text, "did you mean"));
}

static void config_add_engine__urls__are_checked(void **state)
{
    (void)state;
    struct err err = {.status = ST_OK};
    static const char *const good[] = {"http://127.0.0.1:8000", "http://gpu-1.local:8000/",
                                       "https://[::1]:8443",    "https://api.example",
                                       "http://[::1]",          "http://a:80/openai/",
                                       "unix:/run/engine.sock"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_status(config_add_engine(&cfg, good[i], &err), ST_OK);
        assert_string_equal(cfg.engines[i].url, good[i]);
        assert_string_equal(cfg.engines[i].name, "");
    }
    static const char *const bad[] = {
        "",
        "127.0.0.1:8000",
        "ftp://a:1",
        "http://",
        "http://a:0",
        "http://a:65536",
        "http://a:x",
        "http://:80",
        "http://::1:80",
        "http://u@a:80",
        "http://a:80/v1",
        "http://a/v1/",
        "http://a:",
        "http://a/x y",
        "http://a:80?x",
        "http://a b:80",
        "HTTP://a:80",
        "unix:",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (config_add_engine(&cfg, bad[i], &err) != ST_INVAL) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
    assert_int_equal(cfg.engine_count, 7);
}

static void config_add_engine__too_many__is_full(void **state)
{
    (void)state;
    for (int i = 0; i < CONFIG_ENGINES_MAX; i++) {
        assert_status(config_add_engine(&cfg, "http://a:1", NULL), ST_OK);
    }
    assert_status(config_add_engine(&cfg, "http://a:1", NULL), ST_FULL);
    assert_int_equal(cfg.engine_count, CONFIG_ENGINES_MAX);
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct config c;
    if (config_defaults(&c, mem) != ST_OK) {
        return false;
    }
    bool is_done = true;
    for (int i = 0; i < 100 && is_done; i++) {
        size_t count = c.engine_count;
        is_done = config_add_engine(&c, "http://127.0.0.1:8000", NULL) == ST_OK;
        assert_int_equal(c.engine_count, is_done ? count + 1 : count);
        is_done = is_done && config_set(&c, "listen", "a:1,b:2", NULL) == ST_OK;
        assert_int_equal(c.listen.count, i == 0 && !is_done ? 1 : 2);
    }
    config_fini(&c);
    return is_done;
}

static void config__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

#define WITH_CONFIG(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CONFIG(config_defaults__new__has_the_values_of_the_def_file),
        WITH_CONFIG(config_set__each_kind__takes_effect),
        WITH_CONFIG(config_set__bad_value__says_what_is_allowed),
        WITH_CONFIG(config_set__unknown_key__suggests_a_near_one),
        WITH_CONFIG(config_add_engine__urls__are_checked),
        WITH_CONFIG(config_add_engine__too_many__is_full),
        cmocka_unit_test(config__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
