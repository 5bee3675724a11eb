/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIT_GUARD_BYTES = 16, KIT_TORTURE_MAX = 100000 };

void assert_fail(const char *expr, const char *file, int line)
{
    mock_assert(0, expr, file, line);
    abort();
}

static void *kit_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    struct kit_mem *km = ctx;
    unsigned char *block = ptr == NULL ? NULL : (unsigned char *)ptr - KIT_GUARD_BYTES;
    if (block != NULL) {
        size_t real_bytes;
        memcpy(&real_bytes, block, sizeof(real_bytes));
        assert_int_equal(real_bytes, old_bytes);
    }
    if (new_bytes == 0) {
        assert_non_null(block);
        km->live_bytes -= old_bytes;
        km->live_count--;
        free(block);
        return NULL;
    }
    km->call_count++;
    bool is_hit = km->call_count == km->fail_at ||
                  (km->is_failing_after && km->fail_at != 0 && km->call_count > km->fail_at);
    if (is_hit) {
        return NULL;
    }
    unsigned char *fresh = malloc(KIT_GUARD_BYTES + new_bytes);
    assert_non_null(fresh);
    memcpy(fresh, &new_bytes, sizeof(new_bytes));
    memset(fresh + KIT_GUARD_BYTES, 0xA5, new_bytes); /* nobody may count on zeros */
    if (block != NULL) {
        size_t keep = old_bytes < new_bytes ? old_bytes : new_bytes;
        memcpy(fresh + KIT_GUARD_BYTES, ptr, keep);
        km->live_bytes -= old_bytes;
        km->live_count--;
        free(block);
    }
    km->live_bytes += new_bytes;
    km->live_count++;
    return fresh + KIT_GUARD_BYTES;
}

void kit_mem_init(struct kit_mem *km)
{
    *km = (struct kit_mem){.mem = {.resize = kit_resize, .ctx = km}};
}

void kit_mem_expect_empty(const struct kit_mem *km)
{
    if (km->live_count != 0 || km->live_bytes != 0) {
        fail_msg("%zu blocks with %zu bytes are still held (allocation %llu was to fail)",
                 km->live_count, km->live_bytes, (unsigned long long)km->fail_at);
    }
}

uint64_t kit_torture(kit_scenario_fn fn, void *ctx)
{
    for (uint64_t n = 1; n <= KIT_TORTURE_MAX; n++) {
        struct kit_mem km;
        kit_mem_init(&km);
        km.fail_at = n;
        bool is_done = fn(ctx, &km.mem);
        kit_mem_expect_empty(&km);
        if (km.call_count < n) {
            if (!is_done) {
                fail_msg("gave up although no allocation failed (run %llu)", (unsigned long long)n);
            }
            return n;
        }
    }
    fail_msg("no end after %d runs", KIT_TORTURE_MAX);
    return 0;
}

void kit_assert_close(double a, double b, double eps, const char *file, int line)
{
    if (!(fabs(a - b) <= eps)) {
        print_error("%.17g and %.17g differ by more than %g\n", a, b, eps);
        _fail(file, line);
    }
}

void kit_assert_status(
    enum status got, enum status expected, const char *what, const char *file, int line)
{
    if (got != expected) {
        print_error("%s is %s, expected %s\n", what, status_name(got), status_name(expected));
        _fail(file, line);
    }
}

void kit_tmp_file(char path[KIT_PATH_BYTES], const char *text, size_t len)
{
    const char *dir = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread */
    int n = snprintf(path, KIT_PATH_BYTES, "%s/saga-test-XXXXXX", dir == NULL ? "/tmp" : dir);
    assert_in_range(n, 1, KIT_PATH_BYTES - 1);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    size_t done = 0;
    while (done < len) {
        ssize_t w = write(fd, text + done, len - done);
        assert_true(w > 0);
        done += (size_t)w;
    }
    assert_int_equal(close(fd), 0);
}

void kit_tmp_remove(const char *path)
{
    (void)unlink(path);
}

char *kit_read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        fail_msg("cannot open %s", path);
        return NULL;
    }
    size_t len = 0;
    size_t cap = 4096;
    char *text = malloc(cap);
    assert_non_null(text);
    for (;;) {
        size_t n = fread(text + len, 1, cap - 1 - len, f);
        len += n;
        if (n == 0) {
            break;
        }
        if (len == cap - 1) {
            cap *= 2;
            char *more = realloc(text, cap);
            assert_non_null(more);
            text = more;
        }
    }
    assert_int_equal(ferror(f), 0);
    (void)fclose(f);
    text[len] = '\0';
    return text;
}
