/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/machine.h"

enum { PER_MILLE = 1000 };

/* n * up / down, rounded up: an engine's own time to the clock's, and back. */
static uint64_t scale(uint64_t n, uint64_t up, uint64_t down)
{
    return up == down ? n : (n * up + down - 1) / down;
}

enum status lab_machines_init(struct lab *lab)
{
    uint32_t count = lab->plan->engines;
    struct sim_engine_opts opts = lab->plan->engine;
    opts.keeps_all = lab->plan->is_unlimited;
    opts.has_pins = lab->policy->on_gap != NULL || lab->policy->on_epoch != NULL;
    const char *evict = route_evict(lab->policy, lab->plan->params);
    if (evict != NULL) {
        opts.evict = sim_evict_find(str_of(evict));
    }
    lab->machines = mem_calloc(lab->mem, (size_t)count + 1, sizeof(*lab->machines));
    lab->touched = mem_calloc(lab->mem, (size_t)count + 1, sizeof(*lab->touched));
    enum status st = lab->machines == NULL || lab->touched == NULL ? ST_NOMEM : ST_OK;
    if (st == ST_OK && lab->plan->store_tokens > 0) {
        st = sim_store_new(&lab->store, lab->mem, lab->plan->store_tokens, opts.block_tokens);
        opts.tiers.store = lab->store;
    }
    if (st == ST_OK && lab->plan->on_sample != NULL) {
        lab->samples = mem_calloc(lab->mem, count, sizeof(*lab->samples));
        st = lab->samples == NULL ? ST_NOMEM : ST_OK;
    }
    for (uint32_t i = 0; st == ST_OK && i < count; i++) {
        lab->machines[i].idx = i;
        lab->machines[i].slow_per_mille = PER_MILLE;
        st = sim_engine_new(&lab->machines[i].engine, lab->mem, &opts);
    }
    if (st == ST_OK && lab->plan->prefill.engines > 0) {
        lab->machines[count].idx = count;
        st = sim_prefill_new(&lab->prefill, lab->mem, &lab->plan->prefill, &opts);
    }
    return st;
}

void lab_machines_fini(struct lab *lab)
{
    uint32_t count = lab->plan->engines;
    for (uint32_t i = 0; lab->machines != NULL && i < count; i++) {
        sim_engine_free(lab->machines[i].engine);
    }
    sim_prefill_free(lab->prefill);
    sim_store_free(lab->store);
    mem_free(lab->mem, lab->machines, ((size_t)count + 1) * sizeof(*lab->machines));
    mem_free(lab->mem, lab->touched, ((size_t)count + 1) * sizeof(*lab->touched));
    mem_free(lab->mem, lab->samples, count * sizeof(*lab->samples));
}

static void touch(struct lab *lab, struct lab_machine *machine)
{
    if (!machine->is_touched) {
        machine->is_touched = true;
        lab->touched[lab->touched_count++] = machine->idx;
    }
}

uint64_t lab_machine_chain(const struct lab_live *live)
{
    return live->session + UINT64_C(1);
}

void lab_machine_cut_run(struct lab *lab, uint32_t idx)
{
    struct lab_machine *machine = &lab->machines[idx];
    uint64_t slow = machine->begun_per_mille;
    if (sim_engine_is_iterating(machine->engine)) {
        uint64_t elapsed_us = scale(lab->now_us - machine->begun_at_us, PER_MILLE, slow);
        uint64_t total_us = scale(sim_engine_cut_run(machine->engine, elapsed_us), slow, PER_MILLE);
        heap_update(&lab->timeline, &machine->node, machine->begun_at_us + total_us,
                    machine->node.tie);
    }
}

void lab_machine_wake(struct lab *lab, uint32_t idx)
{
    struct lab_machine *machine = &lab->machines[idx];
    lab_machine_cut_run(lab, machine->idx);
    if (!sim_engine_is_iterating(machine->engine)) {
        sim_engine_set_now(machine->engine, lab->now_us);
    }
    touch(lab, machine);
}

static struct sim_request_spec spec_of(const struct lab *lab, struct lab_live *live)
{
    const struct lab_step *step = lab_live_step(lab, live);
    return (struct sim_request_spec){
        .owner = live,
        .block_hashes = live->chain.hashes,
        .block_hash_count = live->chain.count,
        .prompt_tokens = step->prompt_tokens,
        .output_tokens = step->output_tokens,
        .given_tokens = live->given_tokens,
        .chain = lab_machine_chain(live),
    };
}

/* Hands the prompt to the engines that only compute such. ST_AGAIN: it is computed where it is
 * decoded. */
static enum status prefill(struct lab *lab, uint32_t idx, const struct sim_request_spec *spec)
{
    struct lab_machine *machine = &lab->machines[idx];
    uint32_t tier_blocks = 0;
    uint32_t size = lab->plan->engine.block_tokens;
    uint32_t blocks = sim_engine_match(machine->engine, spec, &tier_blocks);
    uint64_t most = (uint64_t)sim_engine_kv(machine->engine).total_blocks * size;
    if ((uint64_t)spec->prompt_tokens + spec->output_tokens - 1 > most) {
        return ST_TOOBIG;
    }
    if (!sim_prefill_wants(lab->prefill, spec->prompt_tokens - (blocks + tier_blocks) * size)) {
        return ST_AGAIN;
    }
    enum status st = sim_prefill_submit(lab->prefill, spec, blocks, lab->now_us);
    if (st == ST_OK) {
        machine->absent++;
        touch(lab, &lab->machines[lab->plan->engines]);
    }
    return st;
}

enum status lab_machine_start(struct lab *lab, uint32_t idx, struct lab_live *live)
{
    struct lab_machine *machine = &lab->machines[idx];
    const struct sim_request_spec spec = spec_of(lab, live);
    enum status st = lab->prefill != NULL ? prefill(lab, idx, &spec) : ST_AGAIN;
    if (st == ST_AGAIN) {
        lab_machine_cut_run(lab, machine->idx);
        st = sim_engine_submit(machine->engine, &spec, &live->on_engine);
        if (st == ST_OK) {
            touch(lab, machine);
        }
    }
    return st;
}

/* Prompts that others have computed come to the engines that decode them. */
static void hand_over(struct lab *lab)
{
    struct sim_prefill_done done;
    sim_prefill_advance(lab->prefill, lab->now_us);
    while (lab->st == ST_OK && sim_prefill_pop(lab->prefill, lab->now_us, &done)) {
        struct lab_live *live = done.owner;
        struct lab_machine *machine = &lab->machines[live->engine];
        const struct sim_request_spec spec = spec_of(lab, live);
        lab_machine_cut_run(lab, machine->idx);
        sim_engine_set_now(machine->engine, lab->now_us);
        (void)sim_engine_receive(machine->engine, spec.block_hashes, done.blocks, spec.chain);
        lab_fail(lab, sim_engine_submit(machine->engine, &spec, &live->on_engine));
        if (live->had_tokens > done.cached_tokens) {
            machine->again_tokens += live->had_tokens - done.cached_tokens;
        }
        machine->absent--;
        touch(lab, machine);
    }
}

bool lab_machine_abort(struct lab *lab, struct lab_live *live)
{
    struct lab_machine *machine = &lab->machines[live->engine];
    lab_machine_cut_run(lab, machine->idx);
    bool is_aborted = sim_engine_abort(machine->engine, live->on_engine);
    live->on_engine = (struct sim_request_id){0};
    return is_aborted;
}

const struct sim_event *lab_machine_end(struct lab *lab, uint32_t idx, size_t *ret_count)
{
    struct lab_machine *machine = &lab->machines[idx];
    touch(lab, machine);
    if (idx == lab->plan->engines) {
        hand_over(lab);
        *ret_count = 0;
        return NULL;
    }
    return sim_engine_end(machine->engine, ret_count);
}

void lab_machine_hint(struct lab *lab,
                      uint32_t idx,
                      const struct lab_live *live,
                      const struct sim_chain_hint *hint)
{
    sim_engine_hint(lab->machines[idx].engine, lab_machine_chain(live), hint);
}

/* Its next event, whatever it waited for. */
static void prefill_goes(struct lab *lab, struct lab_machine *machine)
{
    sim_prefill_advance(lab->prefill, lab->now_us);
    uint64_t at_us = sim_prefill_next_at_us(lab->prefill);
    if (heap_node_is_linked(&machine->node)) {
        heap_remove(&lab->timeline, &machine->node);
    }
    if (at_us != UINT64_MAX) {
        lab_plan_at(lab, &machine->node, at_us);
    }
}

void lab_machines_go(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->touched_count; i++) {
        struct lab_machine *machine = &lab->machines[lab->touched[i]];
        uint64_t duration_us = 0;
        machine->is_touched = false;
        if (machine->idx == lab->plan->engines) {
            prefill_goes(lab, machine);
            continue;
        }
        if (sim_engine_is_iterating(machine->engine)) {
            continue;
        }
        sim_engine_set_now(machine->engine, lab->now_us);
        if (sim_engine_begin_run(machine->engine, UINT64_MAX, &duration_us) == ST_OK) {
            machine->begun_at_us = lab->now_us;
            machine->begun_per_mille = machine->slow_per_mille;
            lab_plan_at(lab, &machine->node,
                        lab->now_us + scale(duration_us, machine->begun_per_mille, PER_MILLE));
        }
    }
    lab->touched_count = 0;
}

uint64_t lab_machine_regenerated(const struct lab_machine *machine)
{
    return machine->again_tokens + sim_engine_counters(machine->engine)->recomputed_tokens;
}

void lab_machines_sample(struct lab *lab)
{
    for (uint32_t i = 0; i < lab->plan->engines; i++) {
        const struct lab_machine *machine = &lab->machines[i];
        struct sim_kv_counts kv = sim_engine_kv(machine->engine);
        struct agent_queue_view queue = {0};
        (void)agent_core_queue(lab->agent, (struct engine_id){i}, &queue);
        lab->samples[i] = (struct lab_sample){
            .running = sim_engine_running(machine->engine),
            .waiting = sim_engine_waiting(machine->engine) + queue.waiting,
            .kv_used_ratio = (double)kv.used_blocks / kv.total_blocks,
            .regenerated_tokens = lab_machine_regenerated(machine),
        };
    }
    lab->plan->on_sample(lab->plan->sample_ctx, lab->now_us, lab->samples);
}
