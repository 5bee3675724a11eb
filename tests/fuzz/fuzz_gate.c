/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes become a row of events for a gate with any policy, and others during it. See
 * tests/unit/routing/gate_storm.h for what must hold. The first byte says which allocation fails.
 */
#include "tests/unit/routing/gate_storm.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

_Noreturn void assert_fail(const char *expr, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, expr);
    abort();
}

struct rig {
    size_t live_bytes;
    uint32_t fail_in; /* allocations until one fails; 0 = none will */
};

static void *rig_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    struct rig *rig = ctx;
    if (new_bytes > 0 && rig->fail_in > 0 && --rig->fail_in == 0) {
        return NULL;
    }
    rig->live_bytes += new_bytes - old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    void *out = realloc(ptr, new_bytes);
    if (out == NULL) {
        abort();
    }
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct rig rig = {.fail_in = len > 0 && data[0] < 64 ? data[0] : 0};
    const struct mem mem = {.resize = rig_resize, .ctx = &rig};
    struct gate_storm_counts counts;
    if (len > 0) {
        gate_storm(data + 1, len - 1, &mem, &counts);
    }
    if (rig.live_bytes != 0) {
        abort();
    }
    return 0;
}
