/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that are on their way, and what happens at set times: letters, delivered in the order of
 * their time. Without a scenario there are none.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_NET_H
#define SIMULATOR_CLUSTER_NET_H

#include "simulator/cluster/state.h"

enum lab_letter_kind {
    LAB_LETTER_FAULT,    /* one begins */
    LAB_LETTER_CHANGE,   /* one ends */
    LAB_LETTER_COORD,    /* u.coord: nothing in it is borrowed for less than the run */
    LAB_LETTER_AGENT,    /* u.agent, with what it points to */
    LAB_LETTER_UNWANTED, /* u.agent: gives back the slot of an attempt that nobody waits for */
    LAB_LETTER_CONNECT,  /* u.answer: the engine could not be reached */
    LAB_LETTER_FIRST,    /* u.answer: a first token that was held back */
    LAB_LETTER_END,      /* u.answer: the end of an answer that was held back */
};

struct lab_letter {
    struct heap_node node; /* lab->post */
    uint32_t idx;          /* lab->letters */
    enum lab_letter_kind kind;
    union {
        uint32_t fault;
        struct coord_event coord;
        struct {
            struct agent_event ev; /* need and usage are where the next ones are, or NULL */
            struct gate_need need;
            struct gate_usage usage;
        } agent;
        struct {
            struct request_id req;
            uint32_t attempt;
            uint32_t engine;
            uint32_t cached_tokens;
        } answer;
    } u;
};

/* Plans the scenario's faults. */
void lab_net_init(struct lab *lab);
void lab_net_fini(struct lab *lab);

/* One way between a client and the gateway, for the next message, us. */
uint64_t lab_net_delay_us(struct lab *lab);

/* To be delivered then; the letter is copied. */
void lab_net_post(struct lab *lab, const struct lab_letter *letter, uint64_t at_us);
/* The oldest letter that is due is taken out of the post. */
struct lab_letter lab_net_take(struct lab *lab);

/* What goes to a node, or comes from one, may come a second time: then that is posted. */
void lab_net_repeat_agent(struct lab *lab, const struct agent_event *ev);
void lab_net_repeat_coord(struct lab *lab, const struct coord_event *ev);

#endif
