/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration reader on any bytes: it says what is wrong or yields a configuration that holds
 * what its tables promise. */
#include "common/rt/config_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void expect(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct config_errors errors;
    struct config cfg;
    errors.count = 0;
    errors.total_count = 0;
    if (config_defaults(&cfg, mem_heap()) != ST_OK) {
        return 0;
    }
    enum status st = config_read_text(&cfg, "f", (struct str){(const char *)data, len}, &errors);
    expect((st == ST_INVAL) == (errors.total_count > 0));
    expect(errors.count <= CONFIG_ERRORS_MAX);
    if (st == ST_OK) {
        expect(cfg.loops >= 1 && cfg.loops <= 64);
        expect(cfg.retry_budget_ratio >= 0.0 && cfg.retry_budget_ratio <= 1.0);
        expect(cfg.listen.count <= 16 && cfg.engine_count <= CONFIG_ENGINES_MAX);
        for (size_t i = 0; i < cfg.engine_count; i++) {
            expect(cfg.engines[i].url[0] != '\0');
        }
    }
    for (size_t i = 0; i < errors.count; i++) {
        expect(strlen(errors.text[i]) < CONFIG_ERROR_BYTES);
    }
    config_fini(&cfg);
    return 0;
}
