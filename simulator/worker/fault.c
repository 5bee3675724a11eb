/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/fault.h"

void sim_fault_init(struct sim_fault *fault)
{
    *fault = (struct sim_fault){.stall_after = SIM_FAULT_NEVER, .reset_after = SIM_FAULT_NEVER};
}

static bool parse_flag(struct sim_fault *fault, struct str name)
{
    if (str_eq(name, STR("stall"))) {
        fault->is_stalled = true;
    } else if (str_eq(name, STR("short-body"))) {
        fault->is_short = true;
    } else if (str_eq(name, STR("no-done"))) {
        fault->lacks_done = true;
    } else if (str_eq(name, STR("garbage"))) {
        fault->is_garbage = true;
    } else {
        return false;
    }
    return true;
}

static bool parse_number(struct sim_fault *fault, struct str name, uint64_t value)
{
    if (str_eq(name, STR("delay")) && value <= 86400000) {
        fault->delay_ms = value;
    } else if (str_eq(name, STR("stall-after"))) {
        fault->stall_after = value;
    } else if (str_eq(name, STR("reset-after"))) {
        fault->reset_after = value;
    } else if (str_eq(name, STR("error")) && value >= 400 && value <= 599) {
        fault->error_status = (int)value;
    } else {
        return false;
    }
    return true;
}

enum status sim_fault_parse(struct sim_fault *fault, struct str text, struct err *err)
{
    struct str word;
    while (str_split(&text, ',', &word)) {
        word = str_trim(word);
        struct str name = word;
        struct str value = word;
        uint64_t number = 0;
        bool is_known = false;
        if (memchr(word.len == 0 ? "" : word.p, '=', word.len) == NULL) {
            is_known = parse_flag(fault, word);
        } else if (str_split(&value, '=', &name) && str_to_u64(value, &number) == ST_OK) {
            is_known = parse_number(fault, name, number);
        }
        if (!is_known) {
            return err_set(err, ST_INVAL, "unknown fault '%.*s'", (int)word.len, word.p);
        }
    }
    return ST_OK;
}
