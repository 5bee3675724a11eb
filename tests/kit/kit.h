/* SPDX-License-Identifier: Apache-2.0 */
/* What unit tests share. Include this instead of <cmocka.h>. Linking test_kit also brings the
 * assert_fail() that cmocka's expect_assert_failure() sees.
 * THREAD: one. */
#ifndef TESTS_KIT_KIT_H
#define TESTS_KIT_KIT_H

/* cmocka wants these before it. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
/* clang-format on */

#include "common/base/mem.h"

/* An allocator that counts, checks sizes, and can fail. */
struct kit_mem {
    struct mem mem;    /* hand &km->mem to the code under test */
    size_t live_bytes; /* handed out and not given back */
    size_t live_count;
    uint64_t call_count;   /* allocations asked for since init (frees not counted) */
    uint64_t fail_at;      /* the call with this number (1 = first) fails; 0 = none */
    bool is_failing_after; /* all later ones fail too */
};

/* km must not move afterwards. */
void kit_mem_init(struct kit_mem *km);

/* Fails the test when something is still held. */
void kit_mem_expect_empty(const struct kit_mem *km);

/* One scenario: uses mem, leaves nothing behind, returns false when it gave up for lack of memory.
 * It must assert by itself that giving up left no half change. */
typedef bool (*kit_scenario_fn)(void *ctx, const struct mem *mem);

/* Runs the scenario failing allocation 1, 2, 3 ... until a run meets no failure; each run must
 * leave nothing behind, a run whose allocation failed may give up, the last one must not. Returns
 * the runs. */
uint64_t kit_torture(kit_scenario_fn fn, void *ctx);

/* |a - b| <= eps; cmocka 1.1.5 compares floats only. */
void kit_assert_close(double a, double b, double eps, const char *file, int line);
#define assert_close(a, b, eps) kit_assert_close((a), (b), (eps), __FILE__, __LINE__)

#define assert_status(call, expected) \
    kit_assert_status((call), (expected), #call, __FILE__, __LINE__)
void kit_assert_status(
    enum status got, enum status expected, const char *what, const char *file, int line);

enum { KIT_PATH_BYTES = 256 };

/* A new file under the system's folder for temporary files holding text [len]; its path goes to
 * path. The test removes it with kit_tmp_remove. */
void kit_tmp_file(char path[KIT_PATH_BYTES], const char *text, size_t len);
void kit_tmp_remove(const char *path);

/* Whole file as a NUL-terminated string to be freed with free(); fails the test when unreadable. */
char *kit_read_file(const char *path);

#endif
