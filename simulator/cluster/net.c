/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/cluster/net.h"

enum { LETTERS_MAX = 1 << 20, LOSSES_MAX = 8, NET_SEED = 31 };

static const struct lab_net *net_of(const struct lab *lab)
{
    static const struct lab_net calm = {0};
    return lab->plan->scenario == NULL ? &calm : &lab->plan->scenario->net;
}

/* The postman comes when the first letter is due. */
static void plan_round(struct lab *lab)
{
    const struct heap_node *first = heap_min(&lab->post);
    if (heap_node_is_linked(&lab->postman)) {
        heap_remove(&lab->timeline, &lab->postman);
    }
    if (first != NULL) {
        lab_plan_at(lab, &lab->postman, first->key);
    }
}

void lab_net_post(struct lab *lab, const struct lab_letter *letter, uint64_t at_us)
{
    uint32_t idx = SLAB_NONE;
    struct lab_letter *kept = slab_alloc(&lab->letters, &idx);
    if (kept == NULL) {
        lab_fail(lab, ST_NOMEM);
        return;
    }
    *kept = *letter;
    kept->idx = idx;
    kept->node = (struct heap_node){0};
    lab_fail(lab, heap_insert(&lab->post, &kept->node, at_us, lab->seq++));
    if (heap_min(&lab->post) == &kept->node) {
        plan_round(lab);
    }
}

struct lab_letter lab_net_take(struct lab *lab)
{
    struct lab_letter *kept = HEAP_OWNER(heap_min(&lab->post), struct lab_letter, node);
    struct lab_letter letter = *kept;
    heap_remove(&lab->post, &kept->node);
    slab_free(&lab->letters, letter.idx);
    plan_round(lab);
    return letter;
}

void lab_net_init(struct lab *lab)
{
    const struct lab_scenario *scenario = lab->plan->scenario;
    heap_init(&lab->post, lab->mem, LETTERS_MAX);
    slab_init(&lab->letters, lab->mem, sizeof(struct lab_letter), LETTERS_MAX);
    rng_init(&lab->net_rng, hash_mix(lab->plan->seed, NET_SEED));
    for (uint32_t i = 0; scenario != NULL && i < scenario->fault_count; i++) {
        const struct lab_fault *fault = &scenario->faults[i];
        struct lab_letter letter = {.kind = LAB_LETTER_FAULT, .u.fault = i};
        lab_net_post(lab, &letter, fault->at_us);
        letter.kind = LAB_LETTER_CHANGE;
        if (fault->until_us > 0) {
            lab_net_post(lab, &letter, fault->until_us);
        }
    }
}

void lab_net_fini(struct lab *lab)
{
    heap_fini(&lab->post);
    slab_fini(&lab->letters);
}

uint64_t lab_net_delay_us(struct lab *lab)
{
    const struct lab_net *net = net_of(lab);
    uint64_t delay_us = lab->plan->network_us;
    if (net->jitter_us > 0) {
        delay_us += rng_below(&lab->net_rng, net->jitter_us + 1);
    }
    for (uint32_t i = 0; net->loss_ratio > 0 && i < LOSSES_MAX; i++) {
        if (rng_unit(&lab->net_rng) >= net->loss_ratio) {
            break;
        }
        delay_us += net->retransmit_us << i;
    }
    return delay_us;
}

/* Is the next message doubled, and when does its copy come? */
static bool is_doubled(struct lab *lab, uint64_t *ret_at_us)
{
    const struct lab_net *net = net_of(lab);
    if (net->duplicate_ratio <= 0 || rng_unit(&lab->net_rng) >= net->duplicate_ratio) {
        return false;
    }
    *ret_at_us = lab->now_us + rng_below(&lab->net_rng, net->jitter_us + LAB_DUPLICATE_US + 1);
    return true;
}

void lab_net_repeat_agent(struct lab *lab, const struct agent_event *ev)
{
    uint64_t at_us = 0;
    if (is_doubled(lab, &at_us)) {
        struct lab_letter letter = {.kind = LAB_LETTER_AGENT, .u.agent.ev = *ev};
        if (ev->need != NULL) {
            letter.u.agent.need = *ev->need;
        }
        if (ev->usage != NULL) {
            letter.u.agent.usage = *ev->usage;
        }
        lab_net_post(lab, &letter, at_us);
    }
}

void lab_net_repeat_coord(struct lab *lab, const struct coord_event *ev)
{
    uint64_t at_us = 0;
    if (is_doubled(lab, &at_us)) {
        const struct lab_letter letter = {.kind = LAB_LETTER_COORD, .u.coord = *ev};
        lab_net_post(lab, &letter, at_us);
    }
}
