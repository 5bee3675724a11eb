/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/config_read.h"

#include <stdlib.h>
#include <string.h>

static struct kit_mem km;
static struct config cfg;
static struct config_errors errors;

static int make(void **state)
{
    (void)state;
    kit_mem_init(&km);
    errors = (struct config_errors){0};
    return config_defaults(&cfg, &km.mem) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    config_fini(&cfg);
    kit_mem_expect_empty(&km);
    return 0;
}

static enum status read_text(const char *text)
{
    return config_read_text(&cfg, "f.yaml", str_of(text), &errors);
}

static void config_read__whole_file__fills_the_struct(void **state)
{
    (void)state;
    assert_status(read_text("# comment\n"
                            "listen: [127.0.0.1:1, \"[::1]:2\"]\n"
                            "loops: 4\n"
                            "public_mode: on\n"
                            "tls:\n"
                            "  cert_file: /c.pem\n"
                            "  key_file: '/k: #.pem'\n"
                            "log: {level: debug}\n"
                            "retry_budget_ratio: 0.5\n"
                            "stream_keepalive: off\n"
                            "health:\n"
                            "engines:\n"
                            "  - url: http://a:1\n"
                            "    name: 7\n"
                            "    max_running: 3\n"
                            "    kind: vllm\n"
                            "  - {url: http://b:2}\n"),
                  ST_OK);
    assert_int_equal(errors.count, 0);
    assert_int_equal(cfg.listen.count, 2);
    assert_string_equal(cfg.listen.items[1], "[::1]:2");
    assert_int_equal(cfg.loops, 4);
    assert_true(cfg.public_mode);
    assert_string_equal(cfg.tls_cert_file, "/c.pem");
    assert_string_equal(cfg.tls_key_file, "/k: #.pem");
    assert_int_equal(cfg.log_level, LOG_LEVEL_DEBUG);
    assert_close(cfg.retry_budget_ratio, 0.5, 0.0);
    assert_int_equal(cfg.engine_count, 2);
    assert_string_equal(cfg.engines[0].name, "7");
    assert_int_equal(cfg.engines[0].max_running, 3);
    assert_int_equal(cfg.engines[0].kind, 1);
    assert_string_equal(cfg.engines[1].url, "http://b:2");
    assert_int_equal(cfg.engines[1].max_running, 0);
}

static void config_read__nothing__keeps_the_defaults(void **state)
{
    (void)state;
    assert_status(read_text(""), ST_OK);
    assert_status(read_text("# only this\n"), ST_OK);
    assert_status(read_text("---\n"), ST_OK);
    assert_status(read_text("engines:\ntls:\n"), ST_OK);
    assert_int_equal(cfg.loops, 1);
}

struct bad_case {
    const char *text;
    const char *says;
};

static void config_read__bad_file__names_line_key_and_what_is_allowed(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {"loops: 2\nlop: 3\n", "f.yaml:2: lop: unknown key; did you mean loops?"},
        {"tls:\n  cert_fil: x\n",
         "f.yaml:2: tls.cert_fil: unknown key; did you mean tls.cert_file?"},
        {"tls.cert_file: x\n", "unknown key"},
        {"loops: two\n", "f.yaml:1: loops: 'two' must be a whole number from 1 to 64 (count)"},
        {"loops: 65\n", "must be a whole number from 1 to 64"},
        {"loops: \"2\"\n", "without quotes"},
        {"loops: [2]\n", "loops: a list, must be a whole number"},
        {"loops: {a: 2}\n", "loops: a mapping, must be a whole number"},
        {"loops:\n", "loops: no value, must be a whole number"},
        {"loops: ~\n", "no value"},
        {"record_events:\n", "(\"\" for none)"},
        {"public_mode: yes\n", "must be true or false"},
        {"log: {level: loud}\n", "log.level: 'loud' must be one of error|warn|info|debug"},
        {"log: debug\n", "log: a single value, must be a mapping"},
        {"listen: 127.0.0.1:1\n", "must be a list of at most 16 texts"},
        {"listen: [a, [b]]\n", "listen: a list, must be a list of at most 16 texts"},
        {"listen: [a, ~]\n", "listen: no value"},
        {"listen: ['']\n", "texts of 1 to 255 bytes"},
        {"loops: 1\nloops: 1\n", "f.yaml:2: loops: is there twice"},
        {"tls: {cert_file: a}\ntls: {key_file: b}\n", "f.yaml:2: tls: is there twice"},
        {"tls: {cert_file: a, cert_file: b}\n", "tls.cert_file: is there twice"},
        {"engines: []\nengines: []\n", "engines: is there twice"},
        {"engines: {url: http://a:1}\n", "engines: a mapping, must be a list of mappings"},
        {"engines: [http://a:1]\n", "engines: a single value, must be a mapping"},
        {"engines:\n  - name: x\n", "an entry without a url"},
        {"engines:\n  - url: http://a:1\n    url: http://a:1\n", "f.yaml:3: url: is there twice"},
        {"engines:\n  - url: http://a:1\n    engines: []\n", "f.yaml:3: engines: unknown key"},
        {"? [a]\n: 1\n", "a list where a key must be"},
        {"a: &x 1\n", "anchors, aliases and tags are not allowed"},
        {"loops: *x\n", "anchors, aliases and tags are not allowed"},
        {"loops: !!int 3\n", "anchors, aliases and tags are not allowed"},
        {"- a\n", "the file must be a mapping"},
        {"just text\n", "the file must be a mapping"},
        {"loops: 1\n---\nloops: 2\n", "more than one YAML document"},
        {"listen: [1\n", "not valid YAML"},
        {"loops: \"\x01\"\n", "not valid YAML"},
        {"tls:\n\tcert_file: x\n", "not valid YAML"},
        {"\"a\\0b\": 1\n", "unknown key"},
        {"record_events: \"a\\0b\"\n", "must be text of at most"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        errors = (struct config_errors){0};
        enum status st = read_text(cases[i].text);
        if (st != ST_INVAL || errors.count == 0 || strstr(errors.text[0], cases[i].says) == NULL) {
            fail_msg("case %zu %s: %s, '%s'", i, cases[i].text, status_name(st), errors.text[0]);
        }
    }
}

static void config_read__good_keys_around_a_bad_one__are_still_read(void **state)
{
    (void)state;
    assert_status(read_text("loops: 3\n"
                            "nope: {a: [1, {b: 2}]}\n"
                            "limits: {header_count: 9, what: [x], body_bytes: 2048}\n"),
                  ST_INVAL);
    assert_int_equal(errors.count, 2);
    assert_int_equal(cfg.loops, 3);
    assert_int_equal(cfg.limits_header_count, 9);
    assert_int_equal(cfg.limits_body_bytes, 2048);
}

static void config_read__many_mistakes__first_twenty_are_kept(void **state)
{
    (void)state;
    char text[2000] = "";
    for (int i = 0; i < 30; i++) {
        char *end = text + strlen(text);
        end[0] = 'x';
        end[1] = (char)('a' + i % 26);
        end[2] = (char)('a' + i / 26);
        memcpy(end + 3, ": 1\n", 5);
    }
    assert_status(read_text(text), ST_INVAL);
    assert_int_equal(errors.count, CONFIG_ERRORS_MAX);
    assert_int_equal(errors.total_count, 30);
}

static void config_read__deep_nesting__is_refused_without_a_crash(void **state)
{
    (void)state;
    enum { LEVELS = 20000 };
    char *text = malloc(LEVELS + 8);
    assert_non_null(text);
    memcpy(text, "nope: ", 6);
    memset(text + 6, '[', LEVELS);
    text[LEVELS + 6] = '\0';
    assert_status(read_text(text), ST_INVAL);
    assert_non_null(strstr(errors.text[1], "nested too deeply"));
    free(text);
}

static void config_read__too_large__is_refused(void **state)
{
    (void)state;
    char *text = malloc(CONFIG_FILE_BYTES + 2);
    assert_non_null(text);
    memset(text, '#', CONFIG_FILE_BYTES + 1);
    text[CONFIG_FILE_BYTES + 1] = '\0';
    assert_status(read_text(text), ST_INVAL);
    assert_non_null(strstr(errors.text[0], "larger than"));
    text[CONFIG_FILE_BYTES] = '\0';
    assert_status(read_text(text), ST_OK);
    free(text);
}

static void config_read__control_bytes_in_a_key__do_not_reach_the_terminal(void **state)
{
    (void)state;
    assert_status(read_text("\"a\\e[2Jb\": 1\n"), ST_INVAL);
    assert_null(strchr(errors.text[0], 0x1b));
}

static void config_read_file__file__is_read_and_named(void **state)
{
    (void)state;
    char path[KIT_PATH_BYTES];
    kit_tmp_file(path, "loops: 5\nx: 1\n", 14);
    assert_status(config_read_file(&cfg, path, &errors), ST_INVAL);
    assert_int_equal(cfg.loops, 5);
    assert_ptr_equal(strstr(errors.text[0], path), errors.text[0]);
    kit_tmp_remove(path);
    assert_status(config_read_file(&cfg, path, &errors), ST_NOTFOUND);
    assert_non_null(strstr(errors.text[1], "cannot be opened"));
    assert_status(config_read_file(&cfg, "/", &errors), ST_IO);
}

static const char torture_text[] = "listen: [a:1, b:2, c:3]\n"
                                   "tls: {cert_file: aaaa, key_file: bbbb}\n"
                                   "engines:\n"
                                   "  - {url: http://a:1}\n"
                                   "  - {url: http://a:2}\n"
                                   "  - {url: http://a:3, name: abc}\n"
                                   "  - {url: http://a:4}\n"
                                   "  - {url: http://a:5}\n";

static bool scenario(void *ctx, const struct mem *mem)
{
    struct config c;
    static struct config_errors ignored;
    if (config_defaults(&c, mem) != ST_OK) {
        return false;
    }
    enum status st = config_read_file(&c, ctx, &ignored);
    if (st == ST_OK) {
        st = config_check(&c, &ignored);
        st = st == ST_INVAL ? ST_OK : st; /* the TLS files are not there */
    }
    assert_true(st == ST_OK || st == ST_NOMEM);
    config_fini(&c);
    return st == ST_OK;
}

static void config_read__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    char path[KIT_PATH_BYTES];
    kit_tmp_file(path, torture_text, sizeof(torture_text) - 1);
    assert_true(kit_torture(scenario, path) >= 3);
    kit_tmp_remove(path);
}

#define WITH_CONFIG(f) cmocka_unit_test_setup_teardown(f, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CONFIG(config_read__whole_file__fills_the_struct),
        WITH_CONFIG(config_read__nothing__keeps_the_defaults),
        WITH_CONFIG(config_read__bad_file__names_line_key_and_what_is_allowed),
        WITH_CONFIG(config_read__good_keys_around_a_bad_one__are_still_read),
        WITH_CONFIG(config_read__many_mistakes__first_twenty_are_kept),
        WITH_CONFIG(config_read__deep_nesting__is_refused_without_a_crash),
        WITH_CONFIG(config_read__too_large__is_refused),
        WITH_CONFIG(config_read__control_bytes_in_a_key__do_not_reach_the_terminal),
        WITH_CONFIG(config_read_file__file__is_read_and_named),
        cmocka_unit_test(config_read__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
