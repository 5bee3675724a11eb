/* SPDX-License-Identifier: Apache-2.0 */
/* A workflow that somebody declared: nodes that a task's steps are named after, and which of them
 * follow which. Checked once, unchangeable then. Formulas: docs/formulas.md#F12.
 * PURE. THREAD: any, once made. LIMITS: AEG_SPEC_*. */
#ifndef AEG_SPEC_H
#define AEG_SPEC_H

#include "aeg/dist.h"
#include "common/base/err.h"
#include "common/base/str.h"

enum {
    AEG_SPEC_NODES = 256,
    AEG_SPEC_EDGES = 1024,
    AEG_SPEC_NAME_BYTES = 64,
    AEG_SPEC_TOKENS = 10000000, /* most that may be declared */
    AEG_SPEC_GAP_MS = 604800000,
    AEG_SPEC_WORK_MS = 86400000,
    AEG_SPEC_VISITS = 100,
    AEG_SPEC_CERTAIN = 1000000, /* a probability of 1, in millionths */
};

#define AEG_SPEC_UNSAID UINT32_MAX

/* What is declared of a node; AEG_SPEC_UNSAID where it is not. */
struct aeg_spec_node_input {
    struct str name;        /* printable ASCII, no blank at either end */
    uint32_t new_tokens;    /* that its prompt adds to prompt and answer before */
    uint32_t output_tokens; /* of its answer */
    uint32_t gap_ms;        /* from its answer to the next request */
    uint32_t work_ms;       /* of an engine for it, waiting not counted */
    uint32_t visits; /* steps that it takes in all, 1 .. AEG_SPEC_VISITS: so loops are said */
};

struct aeg_spec_edge_input {
    struct str from;
    struct str to;
    uint32_t probability_ppm; /* that `to` follows once `from` was there, 1 .. AEG_SPEC_CERTAIN */
};

struct aeg_spec_input {
    const struct aeg_spec_node_input *nodes; /* [node_count] 1 .. AEG_SPEC_NODES */
    const struct aeg_spec_edge_input *edges; /* [edge_count] 0 .. AEG_SPEC_EDGES */
    uint32_t node_count;
    uint32_t edge_count;
};

struct aeg_spec_node {
    struct str name;
    uint32_t new_tokens; /* this and the next three as in the input */
    uint32_t output_tokens;
    uint32_t gap_ms;
    uint32_t work_ms;
    uint16_t visits;
    uint16_t first_edge;
    uint16_t edge_count;
    bool is_start;  /* no edge leads to it */
    bool is_fanout; /* the probabilities of its edges are more than 1 in all: several follow */
};

struct aeg_spec_name {
    struct str name;
    uint16_t node;
};

struct aeg_spec_edge {
    uint16_t from;
    uint16_t to;
    float probability; /* (0, 1] */
};

struct aeg_spec {
    uint32_t owner; /* whoever keeps it finds its own things by this; not read here */
    uint32_t bytes; /* of the whole block */
    uint32_t node_count;
    uint32_t edge_count;
    const struct aeg_spec_node *nodes; /* [node_count], each before those that follow it, then as
                                          declared */
    const struct aeg_spec_edge *edges; /* [edge_count] by from, then to */
    const struct aeg_spec_name *names; /* [node_count] in order */
};

/* Nodes of a spec. */
struct aeg_spec_set {
    uint32_t words[AEG_SPEC_NODES / 32];
};

static inline bool aeg_spec_has(const struct aeg_spec_set *set, uint32_t node)
{
    return (set->words[node / 32] >> (node % 32) & 1) != 0;
}

static inline void aeg_spec_put(struct aeg_spec_set *set, uint32_t node)
{
    set->words[node / 32] |= 1u << (node % 32);
}

/* The mean of a quantity over the nodes that declare it, and how much of the weight they have. */
struct aeg_spec_mean {
    double mean;
    double share_ratio; /* 0 = nobody declares it */
};

/* What is still to come (F12). */
struct aeg_spec_ahead {
    double steps;                    /* visits of nodes */
    struct aeg_spec_mean work;       /* ms of each of these */
    double next_ratio;               /* P(any follows) */
    struct aeg_spec_mean new_tokens; /* of the very next step */
    struct aeg_spec_mean output_tokens;
};

/* A spec in one block. ST_INVAL: err names the node, the edge or the cycle ("a -> b -> a");
 * ST_NOMEM. err may be NULL. O((nodes + edges) * log nodes + nodes^2). */
MUST_CHECK enum status aeg_spec_new(struct aeg_spec **ret,
                                    const struct mem *mem,
                                    const struct aeg_spec_input *input,
                                    struct err *err);
void aeg_spec_free(const struct mem *mem, struct aeg_spec *spec);

/* Index of the node of that name, or AEG_SPEC_NODES. O(log nodes). */
uint32_t aeg_spec_find(const struct aeg_spec *spec, struct str name);

/* True when an edge leads to the node from one of the set. O(edges). */
bool aeg_spec_follows(const struct aeg_spec *spec, const struct aeg_spec_set *seen, uint32_t node);

/* What comes after the nodes that were seen, with so many repetitions of them still to come; seen
 * empty: everything. O(nodes + edges). */
void aeg_spec_look_ahead(const struct aeg_spec *spec,
                         const struct aeg_spec_set *seen,
                         uint32_t repeats,
                         struct aeg_spec_ahead *ret);

#endif
