/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/machine.h"

enum status lab_machines_init(struct lab *lab)
{
    uint32_t count = lab->plan->engines;
    struct sim_engine_opts opts = lab->plan->engine;
    opts.keeps_all = lab->plan->is_unlimited;
    lab->machines = mem_calloc(lab->mem, count, sizeof(*lab->machines));
    lab->touched = mem_calloc(lab->mem, count, sizeof(*lab->touched));
    enum status st = lab->machines == NULL || lab->touched == NULL ? ST_NOMEM : ST_OK;
    for (uint32_t i = 0; st == ST_OK && i < count; i++) {
        lab->machines[i].idx = i;
        st = sim_engine_new(&lab->machines[i].engine, lab->mem, &opts);
    }
    return st;
}

void lab_machines_fini(struct lab *lab)
{
    uint32_t count = lab->plan->engines;
    for (uint32_t i = 0; lab->machines != NULL && i < count; i++) {
        sim_engine_free(lab->machines[i].engine);
    }
    mem_free(lab->mem, lab->machines, count * sizeof(*lab->machines));
    mem_free(lab->mem, lab->touched, count * sizeof(*lab->touched));
}

static void touch(struct lab *lab, struct lab_machine *machine)
{
    if (!machine->is_touched) {
        machine->is_touched = true;
        lab->touched[lab->touched_count++] = machine->idx;
    }
}

/* Whose blocks they are. */
static uint64_t chain_of(const struct lab_live *live)
{
    return live->session + UINT64_C(1);
}

enum status lab_machine_start(struct lab *lab, uint32_t idx, struct lab_live *live)
{
    struct lab_machine *machine = &lab->machines[idx];
    const struct lab_step *step = lab_live_step(lab, live);
    const struct sim_request_spec spec = {
        .owner = live,
        .block_hashes = live->chain.hashes,
        .block_hash_count = live->chain.count,
        .prompt_tokens = step->prompt_tokens,
        .output_tokens = step->output_tokens,
        .given_tokens = live->given_tokens,
        .chain = chain_of(live),
    };
    struct sim_request_id id;
    if (sim_engine_is_iterating(machine->engine)) {
        uint64_t left_us = sim_engine_cut_run(machine->engine, lab->now_us - machine->begun_at_us);
        heap_update(&lab->timeline, &machine->node, machine->begun_at_us + left_us,
                    machine->node.tie);
    }
    enum status st = sim_engine_submit(machine->engine, &spec, &id);
    if (st == ST_OK) {
        touch(lab, machine);
    }
    return st;
}

const struct sim_event *lab_machine_end(struct lab *lab, uint32_t idx, size_t *ret_count)
{
    struct lab_machine *machine = &lab->machines[idx];
    touch(lab, machine);
    return sim_engine_end(machine->engine, ret_count);
}

void lab_machine_hint(struct lab *lab, const struct lab_live *live, uint64_t next_use_at_us)
{
    const struct sim_chain_hint hint = {.reuse_ratio = next_use_at_us == UINT64_MAX ? 0.0 : 1.0,
                                        .next_use_at_us = next_use_at_us};
    sim_engine_hint(lab->machines[live->engine].engine, chain_of(live), &hint);
}

void lab_machines_go(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->touched_count; i++) {
        struct lab_machine *machine = &lab->machines[lab->touched[i]];
        uint64_t duration_us = 0;
        machine->is_touched = false;
        if (sim_engine_is_iterating(machine->engine)) {
            continue;
        }
        sim_engine_set_now(machine->engine, lab->now_us);
        if (sim_engine_begin_run(machine->engine, UINT64_MAX, &duration_us) == ST_OK) {
            machine->begun_at_us = lab->now_us;
            lab_plan_at(lab, &machine->node, lab->now_us + duration_us);
        }
    }
    lab->touched_count = 0;
}
