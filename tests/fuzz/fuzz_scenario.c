/* SPDX-License-Identifier: Apache-2.0 */
/* The scenario reader on any bytes: it says what is wrong, with file and line, or yields a scenario
 * that holds what its tables promise. */
#include "bench/lab/scenario.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void expect(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void expect_sound(const struct scenario *scenario)
{
    expect(scenario->load_count <= SCENARIO_STEPS_MAX);
    expect(scenario->tenant_count <= SCENARIO_TENANTS_MAX);
    expect(scenario->model_count <= LAB_MODELS_MAX && scenario->fault_count <= LAB_FAULTS_MAX);
    expect(scenario->net.loss_ratio >= 0 && scenario->net.loss_ratio < 1);
    for (uint32_t i = 0; i < scenario->fault_count; i++) {
        const struct lab_fault *fault = &scenario->faults[i];
        expect(fault->until_us == 0 || fault->until_us >= fault->at_us);
        expect(fault->kind != LAB_FAULT_SLOW || fault->slow_per_mille >= 1000);
        expect(fault->kind != LAB_FAULT_PARTITION || fault->until_us > fault->at_us);
    }
    for (uint32_t i = 0; i < scenario->tenant_count; i++) {
        expect(scenario->tenants[i].name[0] != '\0');
        expect(scenario->model_count == 0 || scenario->tenants[i].model < scenario->model_count);
    }
    double before_s = 0;
    for (int i = 0; i < 10; i++) {
        double s = scenario_warp_s(scenario, 1, i * 400.0);
        expect(s >= before_s);
        before_s = s;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct scenario scenario;
    struct err err = {0};
    enum status st = scenario_read(&scenario, "f", (struct str){(const char *)data, len}, &err);
    if (st == ST_OK) {
        expect_sound(&scenario);
    } else {
        expect(err.text[0] == 'f' && strlen(err.text) < ERR_TEXT_BYTES);
    }
    return 0;
}
