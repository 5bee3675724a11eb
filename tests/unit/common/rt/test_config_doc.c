/* SPDX-License-Identifier: Apache-2.0 */
/* The rendered pages, and that those in docs/ are what this program renders. */
#include "tests/kit/kit.h"

#include "common/rt/config_read.h"
#include "common/rt/metric.h"

#include <stdlib.h>
#include <string.h>

enum { DOC_BYTES = 1 << 20 };

static void ignore(void *ctx, const char *key)
{
    (void)ctx;
    print_error("differs: %s\n", key);
}

static void config_example__read_back__is_the_defaults(void **state)
{
    (void)state;
    struct buf out;
    struct config defaults;
    struct config read;
    static struct config_errors errors;
    buf_init(&out, mem_heap(), DOC_BYTES);
    assert_status(config_example(&out), ST_OK);
    assert_status(config_defaults(&defaults, mem_heap()), ST_OK);
    assert_status(config_defaults(&read, mem_heap()), ST_OK);
    enum status st = config_read_text(&read, "example", buf_str(&out), &errors);
    if (st != ST_OK) {
        fail_msg("%s", errors.text[0]);
    }
    assert_status(config_check(&read, &errors), ST_OK);
    assert_int_equal(config_diff_not_reloadable(&defaults, &read, ignore, NULL), 0);
    assert_int_equal(read.limits_body_bytes, defaults.limits_body_bytes);
    assert_int_equal(read.drain_timeout_ms, defaults.drain_timeout_ms);
    config_fini(&defaults);
    config_fini(&read);
    buf_fini(&out);
}

typedef enum status (*render_fn)(struct buf *out);

static void expect_current(const char *file, render_fn render, const char *command)
{
    struct buf out;
    buf_init(&out, mem_heap(), DOC_BYTES);
    assert_status(render(&out), ST_OK);
    char *text = kit_read_file(file);
    if (strlen(text) != out.len || memcmp(text, out.p, out.len) != 0) {
        fail_msg("%s is stale: run `%s` into it", file, command);
    }
    free(text);
    buf_fini(&out);
}

static void docs__config_page__is_current(void **state)
{
    (void)state;
    expect_current(SAGA_DOCS "/config.md", config_docs, "saga config docs");
}

static void docs__metrics_page__is_current(void **state)
{
    (void)state;
    expect_current(SAGA_DOCS "/metrics.md", metric_docs, "saga config docs metrics");
}

static bool scenario(void *ctx, const struct mem *mem)
{
    (void)ctx;
    struct buf out;
    buf_init(&out, mem, DOC_BYTES);
    bool is_done =
        config_example(&out) == ST_OK && config_docs(&out) == ST_OK && metric_docs(&out) == ST_OK;
    buf_fini(&out);
    return is_done;
}

static void docs__each_allocation_fails__nothing_leaks(void **state)
{
    (void)state;
    assert_true(kit_torture(scenario, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_example__read_back__is_the_defaults),
        cmocka_unit_test(docs__config_page__is_current),
        cmocka_unit_test(docs__metrics_page__is_current),
        cmocka_unit_test(docs__each_allocation_fails__nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
