/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/config_read.h"
#include "common/rt/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct config cfg;
static struct config_errors errors;

static int make(void **state)
{
    (void)state;
    errors = (struct config_errors){0};
    return config_defaults(&cfg, mem_heap()) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    config_fini(&cfg);
    return 0;
}

static void set(const char *key, const char *value)
{
    assert_status(config_set(&cfg, key, value, NULL), ST_OK);
}

static bool is_said(const char *what)
{
    for (size_t i = 0; i < errors.count; i++) {
        if (strstr(errors.text[i], what) != NULL) {
            return true;
        }
    }
    return false;
}

static void config_check__defaults__are_fine(void **state)
{
    (void)state;
    assert_status(config_check(&cfg, &errors), ST_OK);
}

static void config_check__unnamed_engines__get_names_by_position(void **state)
{
    (void)state;
    assert_status(config_add_engine(&cfg, "http://a:1", NULL), ST_OK);
    assert_status(config_add_engine(&cfg, "http://a:2", NULL), ST_OK);
    cfg.engines[0].name = "mine";
    assert_status(config_check(&cfg, &errors), ST_OK);
    assert_string_equal(cfg.engines[0].name, "mine");
    assert_string_equal(cfg.engines[1].name, "e1");
}

static void config_check__engine_mistakes__are_named_by_index(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_status(config_add_engine(&cfg, "http://a:1", NULL), ST_OK);
    }
    cfg.engines[0].name = "e2";
    cfg.engines[1].name = "a b";
    cfg.engines[1].url = "a:1";
    cfg.engines[2].api_key_file = "/nonexistent/key";
    assert_status(config_check(&cfg, &errors), ST_INVAL);
    assert_true(is_said("engines[1].url: 'a:1' must start with http://"));
    assert_true(is_said("engines[1].name: 'a b'"));
    assert_true(is_said("engines[2].name: e2 is also the name of engines[0]"));
    assert_true(is_said("engines[2].api_key_file: /nonexistent/key: cannot be read"));
    assert_int_equal(errors.count, 4);
}

static void config_check__tls_half_set__needs_the_other_half(void **state)
{
    (void)state;
    char path[KIT_PATH_BYTES];
    kit_tmp_file(path, "pem", 3);
    set("tls.cert_file", path);
    assert_status(config_check(&cfg, &errors), ST_INVAL);
    assert_true(is_said("tls.cert_file: is set, so tls.key_file must be too"));
    assert_int_equal(errors.count, 1);
    set("tls.key_file", path);
    assert_status(config_check(&cfg, &errors), ST_OK);
    set("tls.cert_file", "");
    assert_status(config_check(&cfg, &errors), ST_INVAL);
    assert_true(is_said("tls.key_file: is set, so tls.cert_file must be too"));
    kit_tmp_remove(path);
    set("tls.cert_file", "/");
    assert_status(config_check(&cfg, &errors), ST_INVAL);
    assert_true(is_said("tls.cert_file: /: cannot be read"));
}

static void config_check__admin_port_open_to_others__needs_a_key(void **state)
{
    (void)state;
    static const char *const local[] = {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1",
                                        "localhost:1", "unix:/a",     ""};
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        set("admin.listen", local[i]);
        assert_status(config_check(&cfg, &errors), ST_OK);
    }
    static const char *const open[] = {"0.0.0.0:1", "[::]:1", "192.0.2.1:1", "a.example:1"};
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        errors = (struct config_errors){0};
        set("admin.listen", open[i]);
        assert_status(config_check(&cfg, &errors), ST_INVAL);
        assert_true(is_said("so admin.key_file must be set"));
    }
    char path[KIT_PATH_BYTES];
    kit_tmp_file(path, "secret\n", 7);
    set("admin.key_file", path);
    assert_status(config_check(&cfg, &errors), ST_OK);
    kit_tmp_remove(path);
}

static void config_check__bad_addresses__are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"8080",  ":8080", "a:",         "a:65536", "::1:80",
                                      "[::1]", "a b:1", "http://a:1", "unix:"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errors = (struct config_errors){0};
        set("listen", bad[i]);
        if (config_check(&cfg, &errors) != ST_INVAL) {
            fail_msg("'%s' was taken", bad[i]);
        }
    }
    set("listen", "");
    assert_status(config_check(&cfg, &errors), ST_INVAL);
    assert_true(is_said("needs at least one address"));
}

static void note(void *ctx, const char *key)
{
    struct buf *all = ctx;
    assert_status(buf_add_str(all, str_of(key)), ST_OK);
    assert_status(buf_add_str(all, STR(" ")), ST_OK);
}

static void config_diff__changed_keys__tells_those_that_need_a_restart(void **state)
{
    (void)state;
    struct config other;
    struct buf all;
    buf_init(&all, mem_heap(), 1000);
    assert_status(config_defaults(&other, mem_heap()), ST_OK);
    assert_int_equal(config_diff_not_reloadable(&cfg, &other, note, &all), 0);
    set("loops", "2");
    set("listen", "127.0.0.1:1");
    set("tls.cert_file", "/x");
    set("tls.upstream_verify", "false");
    set("limits.body_bytes", "5000"); /* reloadable */
    set("log.level", "warn");         /* reloadable */
    assert_int_equal(config_diff_not_reloadable(&cfg, &other, note, &all), 4);
    assert_true(str_eq(buf_str(&all), STR("listen loops tls.cert_file tls.upstream_verify ")));
    buf_fini(&all);
    config_fini(&other);
}

static void config_env_check__saga_variables__are_warned_about(void **state)
{
    (void)state;
    char path[KIT_PATH_BYTES];
    kit_tmp_file(path, "", 0);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    log_set_fd(fd);
    /* NOLINTBEGIN(concurrency-mt-unsafe): one thread */
    assert_int_equal(setenv("SAGA_TRACES", "/x", 1), 0);
    assert_int_equal(config_env_check(), 0);
    assert_int_equal(setenv("SAGA_LISTEN", "a secret", 1), 0);
    /* NOLINTEND(concurrency-mt-unsafe) */
    assert_int_equal(config_env_check(), 1);
    log_set_fd(STDERR_FILENO);
    char *text = kit_read_file(path);
    assert_non_null(strstr(text, "warn config "));
    assert_non_null(strstr(text, "name=\"SAGA_LISTEN\""));
    assert_null(strstr(text, "a secret"));
    free(text);
    (void)close(fd);
    kit_tmp_remove(path);
}

#define WITH_CONFIG(f) cmocka_unit_test_setup_teardown(f, make, drop)

static void check__identity_header_that_is_no_name__refused(void **state)
{
    (void)state;
    struct err err = {0};
    assert_status(config_set(&cfg, "identity.headers", "x-team-task,x team", &err), ST_OK);
    assert_status(config_check(&cfg, &errors), ST_INVAL);
    assert_non_null(strstr(errors.text[0], "identity.headers: 'x team'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CONFIG(check__identity_header_that_is_no_name__refused),
        WITH_CONFIG(config_check__defaults__are_fine),
        WITH_CONFIG(config_check__unnamed_engines__get_names_by_position),
        WITH_CONFIG(config_check__engine_mistakes__are_named_by_index),
        WITH_CONFIG(config_check__tls_half_set__needs_the_other_half),
        WITH_CONFIG(config_check__admin_port_open_to_others__needs_a_key),
        WITH_CONFIG(config_check__bad_addresses__are_refused),
        WITH_CONFIG(config_diff__changed_keys__tells_those_that_need_a_restart),
        WITH_CONFIG(config_env_check__saga_variables__are_warned_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
