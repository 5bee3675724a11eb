/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/spec.h"

enum { PATH_TEXT_BYTES = 200 };

/* What is found out about the input before memory is asked for. */
struct builder {
    const struct aeg_spec_input *input;
    struct err *err;
    struct aeg_spec_name names[AEG_SPEC_NODES]; /* in order; nodes by their index in the input */
    struct aeg_spec_edge edges[AEG_SPEC_EDGES]; /* in order; nodes likewise, then by their place */
    uint16_t order[AEG_SPEC_NODES];             /* place -> index in the input */
    uint16_t places[AEG_SPEC_NODES];            /* and back */
};

/* --- names --- */

static int compare(struct str a, struct str b)
{
    int diff = memcmp(a.p, b.p, a.len < b.len ? a.len : b.len);
    return diff != 0 ? diff : (a.len > b.len) - (a.len < b.len);
}

static uint32_t find(const struct aeg_spec_name *names, uint32_t count, struct str name)
{
    uint32_t lo = 0;
    uint32_t hi = count;
    while (name.len > 0 && lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        int diff = compare(names[mid].name, name);
        if (diff == 0) {
            return names[mid].node;
        }
        lo = diff < 0 ? mid + 1 : lo;
        hi = diff < 0 ? hi : mid;
    }
    return AEG_SPEC_NODES;
}

uint32_t aeg_spec_find(const struct aeg_spec *spec, struct str name)
{
    return find(spec->names, spec->node_count, name);
}

static bool is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.p[i] < ' ' || name.p[i] > '~') {
            return false;
        }
    }
    return name.len > 0 && name.len <= AEG_SPEC_NAME_BYTES && name.p[0] != ' ' &&
           name.p[name.len - 1] != ' ';
}

/* --- nodes --- */

static bool is_said_within(uint32_t value, uint32_t max)
{
    return value == AEG_SPEC_UNSAID || value <= max;
}

static enum status check_node(const struct builder *build, uint32_t i)
{
    const struct aeg_spec_node_input *node = &build->input->nodes[i];
    if (!is_name(node->name)) {
        return err_set(build->err, ST_INVAL,
                       "nodes[%u].name: 1 to %d printable ASCII characters, no blank at either end",
                       i, AEG_SPEC_NAME_BYTES);
    }
    const struct {
        const char *name;
        uint32_t value;
        uint32_t max;
    } numbers[] = {
        {"new_tokens", node->new_tokens, AEG_SPEC_TOKENS},
        {"output_tokens", node->output_tokens, AEG_SPEC_TOKENS},
        {"gap_ms", node->gap_ms, AEG_SPEC_GAP_MS},
        {"work_ms", node->work_ms, AEG_SPEC_WORK_MS},
    };
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        if (!is_said_within(numbers[k].value, numbers[k].max)) {
            return err_set(build->err, ST_INVAL, "nodes[%u].%s: at most %u", i, numbers[k].name,
                           numbers[k].max);
        }
    }
    if (node->visits < 1 || node->visits > AEG_SPEC_VISITS) {
        return err_set(build->err, ST_INVAL, "nodes[%u].visits: 1 to %d", i, AEG_SPEC_VISITS);
    }
    return ST_OK;
}

static enum status read_nodes(struct builder *build)
{
    const struct aeg_spec_input *input = build->input;
    for (uint32_t i = 0; i < input->node_count; i++) {
        enum status st = check_node(build, i);
        if (st != ST_OK) {
            return st;
        }
        uint32_t at = i;
        for (; at > 0 && compare(input->nodes[i].name, build->names[at - 1].name) < 0; at--) {
            build->names[at] = build->names[at - 1];
        }
        build->names[at] = (struct aeg_spec_name){input->nodes[i].name, (uint16_t)i};
        if (at > 0 && str_eq(input->nodes[i].name, build->names[at - 1].name)) {
            return err_set(build->err, ST_INVAL, "nodes[%u].name: \"%.*s\" is there twice", i,
                           (int)input->nodes[i].name.len, input->nodes[i].name.p);
        }
    }
    return ST_OK;
}

/* --- edges --- */

/* Moves the last of count edges to its place. */
static void sort_in(struct aeg_spec_edge *edges, uint32_t count)
{
    struct aeg_spec_edge last = edges[count - 1];
    uint32_t at = count - 1;
    for (; at > 0; at--) {
        const struct aeg_spec_edge *before = &edges[at - 1];
        if (before->from < last.from || (before->from == last.from && before->to <= last.to)) {
            break;
        }
        edges[at] = *before;
    }
    edges[at] = last;
}

static enum status find_end(
    const struct builder *build, uint32_t i, const char *member, struct str name, uint16_t *ret)
{
    uint32_t node = find(build->names, build->input->node_count, name);
    if (node == AEG_SPEC_NODES) {
        return err_set(build->err, ST_INVAL, "edges[%u].%s: no node of that name", i, member);
    }
    *ret = (uint16_t)node;
    return ST_OK;
}

static enum status read_edges(struct builder *build)
{
    const struct aeg_spec_input *input = build->input;
    for (uint32_t i = 0; i < input->edge_count; i++) {
        const struct aeg_spec_edge_input *edge = &input->edges[i];
        struct aeg_spec_edge *made = &build->edges[i];
        enum status st = find_end(build, i, "from", edge->from, &made->from);
        if (st == ST_OK) {
            st = find_end(build, i, "to", edge->to, &made->to);
        }
        if (st != ST_OK) {
            return st;
        }
        if (edge->probability_ppm < 1 || edge->probability_ppm > AEG_SPEC_CERTAIN) {
            return err_set(build->err, ST_INVAL, "edges[%u].probability: 0.000001 to 1", i);
        }
        made->probability = (float)edge->probability_ppm / (float)AEG_SPEC_CERTAIN;
        sort_in(build->edges, i + 1);
    }
    for (uint32_t i = 1; i < input->edge_count; i++) {
        const struct aeg_spec_edge *edge = &build->edges[i];
        if (edge->from == edge[-1].from && edge->to == edge[-1].to) {
            struct str from = input->nodes[edge->from].name;
            struct str to = input->nodes[edge->to].name;
            return err_set(build->err, ST_INVAL, "edges: %.*s -> %.*s is there twice",
                           (int)from.len, from.p, (int)to.len, to.p);
        }
    }
    return ST_OK;
}

/* --- order --- */

struct path_text {
    char p[PATH_TEXT_BYTES + 3];
    size_t len;
    bool is_cut;
};

/* Appends what fits; the first that does not is "...", the rest is left out. */
static void path_add(struct path_text *path, struct str text)
{
    if (path->is_cut) {
        return;
    }
    if (path->len + text.len > PATH_TEXT_BYTES) {
        path->is_cut = true;
        text = STR("...");
    }
    memcpy(path->p + path->len, text.p, text.len);
    path->len += text.len;
}

/* Among nodes that found no place each has one such before it: walking back leads into a circle. */
static enum status name_cycle(const struct builder *build, uint32_t first)
{
    const struct aeg_spec_input *input = build->input;
    uint32_t steps[AEG_SPEC_NODES] = {0}; /* 1 = the first node of the walk */
    uint16_t walk[AEG_SPEC_NODES];
    uint32_t count = 0;
    uint32_t node = first;
    while (steps[node] == 0) {
        walk[count] = (uint16_t)node;
        steps[node] = ++count;
        for (uint32_t i = 0; i < input->edge_count; i++) {
            const struct aeg_spec_edge *edge = &build->edges[i];
            if (edge->to == node && build->places[edge->from] == AEG_SPEC_NODES) {
                node = edge->from;
                break;
            }
        }
    }
    struct path_text path = {.len = 0};
    path_add(&path, input->nodes[node].name);
    for (uint32_t i = count; i >= steps[node]; i--) {
        path_add(&path, STR(" -> "));
        path_add(&path, input->nodes[walk[i - 1]].name);
    }
    return err_set(build->err, ST_INVAL, "edges: a cycle: %.*s", (int)path.len, path.p);
}

/* A node comes once all that lead to it have come; of several the one declared first. */
static enum status put_in_order(struct builder *build)
{
    const struct aeg_spec_input *input = build->input;
    uint16_t before[AEG_SPEC_NODES] = {0}; /* edges from nodes without a place */
    for (uint32_t i = 0; i < input->edge_count; i++) {
        before[build->edges[i].to]++;
    }
    for (uint32_t i = 0; i < input->node_count; i++) {
        build->places[i] = AEG_SPEC_NODES;
    }
    for (uint32_t place = 0; place < input->node_count; place++) {
        uint32_t node = 0;
        while (node < input->node_count &&
               (build->places[node] != AEG_SPEC_NODES || before[node] > 0)) {
            node++;
        }
        if (node == input->node_count) {
            node = 0;
            while (build->places[node] != AEG_SPEC_NODES) {
                node++;
            }
            return name_cycle(build, node);
        }
        build->places[node] = (uint16_t)place;
        build->order[place] = (uint16_t)node;
        for (uint32_t i = 0; i < input->edge_count; i++) {
            if (build->edges[i].from == node) {
                before[build->edges[i].to]--;
            }
        }
    }
    for (uint32_t i = 0; i < input->edge_count; i++) {
        build->edges[i].from = build->places[build->edges[i].from];
        build->edges[i].to = build->places[build->edges[i].to];
        sort_in(build->edges, i + 1);
    }
    return ST_OK;
}

/* --- the block --- */

static struct str keep_name(char **text, struct str name)
{
    char *at = *text;
    memcpy(at, name.p, name.len);
    *text = at + name.len;
    return (struct str){at, name.len};
}

/* Edges have their final numbers and order. */
static void link_edges(struct aeg_spec_node *nodes, const struct aeg_spec *spec)
{
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        struct aeg_spec_node *from = &nodes[spec->edges[i].from];
        from->first_edge = from->edge_count == 0 ? (uint16_t)i : from->first_edge;
        from->edge_count++;
        nodes[spec->edges[i].to].is_start = false;
    }
    for (uint32_t i = 0; i < spec->node_count; i++) {
        double sum = 0.0;
        for (uint32_t k = 0; k < nodes[i].edge_count; k++) {
            sum += (double)spec->edges[nodes[i].first_edge + k].probability;
        }
        nodes[i].is_fanout = sum > 1.0 + 1e-5; /* a third three times is no more than 1 */
    }
}

static enum status
build_block(const struct builder *build, const struct mem *mem, struct aeg_spec **ret)
{
    const struct aeg_spec_input *input = build->input;
    size_t node_bytes = input->node_count * sizeof(struct aeg_spec_node);
    size_t name_bytes = input->node_count * sizeof(struct aeg_spec_name);
    size_t edge_bytes = input->edge_count * sizeof(struct aeg_spec_edge);
    size_t text_bytes = 0;
    for (uint32_t i = 0; i < input->node_count; i++) {
        text_bytes += input->nodes[i].name.len;
    }
    size_t bytes = sizeof(struct aeg_spec) + node_bytes + name_bytes + edge_bytes + text_bytes;
    char *block = mem_calloc(mem, 1, bytes);
    if (block == NULL) {
        return ST_NOMEM;
    }
    struct aeg_spec *spec = (void *)block;
    struct aeg_spec_node *nodes = (void *)(block + sizeof(*spec));
    struct aeg_spec_name *names = (void *)(block + sizeof(*spec) + node_bytes);
    struct aeg_spec_edge *edges = (void *)(block + sizeof(*spec) + node_bytes + name_bytes);
    char *text = block + bytes - text_bytes;
    *spec = (struct aeg_spec){.bytes = (uint32_t)bytes,
                              .node_count = input->node_count,
                              .edge_count = input->edge_count,
                              .nodes = nodes,
                              .edges = edges,
                              .names = names};
    for (uint32_t i = 0; i < input->node_count; i++) {
        const struct aeg_spec_node_input *from = &input->nodes[build->order[i]];
        nodes[i] = (struct aeg_spec_node){.name = keep_name(&text, from->name),
                                          .new_tokens = from->new_tokens,
                                          .output_tokens = from->output_tokens,
                                          .gap_ms = from->gap_ms,
                                          .work_ms = from->work_ms,
                                          .visits = (uint16_t)from->visits,
                                          .is_start = true};
    }
    for (uint32_t i = 0; i < input->node_count; i++) {
        uint16_t place = build->places[build->names[i].node];
        names[i] = (struct aeg_spec_name){nodes[place].name, place};
    }
    for (uint32_t i = 0; i < input->edge_count; i++) {
        edges[i] = build->edges[i];
    }
    link_edges(nodes, spec);
    *ret = spec;
    return ST_OK;
}

enum status aeg_spec_new(struct aeg_spec **ret,
                         const struct mem *mem,
                         const struct aeg_spec_input *input,
                         struct err *err)
{
    struct builder build = {.input = input, .err = err};
    if (input->node_count < 1 || input->node_count > AEG_SPEC_NODES) {
        return err_set(err, ST_INVAL, "nodes: 1 to %d of them", AEG_SPEC_NODES);
    }
    if (input->edge_count > AEG_SPEC_EDGES) {
        return err_set(err, ST_INVAL, "edges: at most %d of them", AEG_SPEC_EDGES);
    }
    enum status st = read_nodes(&build);
    if (st == ST_OK) {
        st = read_edges(&build);
    }
    if (st == ST_OK) {
        st = put_in_order(&build);
    }
    if (st == ST_OK && build_block(&build, mem, ret) != ST_OK) {
        st = err_set(err, ST_NOMEM, "workflow");
    }
    return st;
}

void aeg_spec_free(const struct mem *mem, struct aeg_spec *spec)
{
    mem_free(mem, spec, spec == NULL ? 0 : spec->bytes);
}

/* --- what is ahead --- */

bool aeg_spec_follows(const struct aeg_spec *spec, const struct aeg_spec_set *seen, uint32_t node)
{
    for (uint32_t i = 0; i < spec->edge_count; i++) {
        if (spec->edges[i].to == node && aeg_spec_has(seen, spec->edges[i].from)) {
            return true;
        }
    }
    return false;
}

struct weighted {
    double sum;
    double said;
    double all;
};

static void weigh(struct weighted *to, uint32_t value, double weight)
{
    to->all += weight;
    if (value != AEG_SPEC_UNSAID) {
        to->said += weight;
        to->sum += weight * (double)value;
    }
}

static struct aeg_spec_mean mean_of(const struct weighted *from)
{
    return (struct aeg_spec_mean){
        .mean = from->said > 0.0 ? from->sum / from->said : 0.0,
        .share_ratio = from->all > 0.0 ? from->said / from->all : 0.0,
    };
}

struct look {
    const struct aeg_spec *spec;
    const struct aeg_spec_set *seen;
    struct aeg_spec_set over;    /* nodes that one that was seen lies beyond */
    float reach[AEG_SPEC_NODES]; /* P(node is reached), those seen or over left out */
    double next;                 /* weight of all that may be next, repetitions left out */
    struct weighted work;
    struct weighted new_tokens;
    struct weighted output_tokens;
};

static void look_back(struct look *look)
{
    const struct aeg_spec *spec = look->spec;
    for (uint32_t i = spec->edge_count; i > 0; i--) {
        const struct aeg_spec_edge *edge = &spec->edges[i - 1];
        if (aeg_spec_has(look->seen, edge->to) || aeg_spec_has(&look->over, edge->to)) {
            aeg_spec_put(&look->over, edge->from);
        }
    }
}

static void look_next(struct look *look, const struct aeg_spec_node *node, double weight)
{
    look->next += weight;
    weigh(&look->new_tokens, node->new_tokens, weight);
    weigh(&look->output_tokens, node->output_tokens, weight);
}

static void look_from(struct look *look, uint32_t i)
{
    const struct aeg_spec_node *node = &look->spec->nodes[i];
    bool is_over = aeg_spec_has(&look->over, i);
    bool is_past = is_over || aeg_spec_has(look->seen, i);
    float weight = is_over && !node->is_fanout ? 0.0f : 1.0f;
    if (!is_past) {
        weight = node->is_start || look->reach[i] > 1.0f ? 1.0f : look->reach[i];
        weigh(&look->work, node->work_ms, (double)weight * node->visits);
        if (node->is_start) {
            look_next(look, node, 1.0);
        }
    }
    for (uint32_t k = node->first_edge; k < (uint32_t)node->first_edge + node->edge_count; k++) {
        const struct aeg_spec_edge *edge = &look->spec->edges[k];
        float part = weight * edge->probability;
        look->reach[edge->to] += part;
        if (is_past && !aeg_spec_has(look->seen, edge->to) &&
            !aeg_spec_has(&look->over, edge->to)) {
            look_next(look, &look->spec->nodes[edge->to], (double)part);
        }
    }
}

/* Repetitions are of any node that was seen and takes several visits. */
static void look_again(struct look *look, uint32_t repeats)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < look->spec->node_count; i++) {
        count += aeg_spec_has(look->seen, i) && look->spec->nodes[i].visits > 1 ? 1 : 0;
    }
    double weight = count > 0 ? (double)repeats / count : 0.0;
    double base = look->next > 0.0 ? look->next : 1.0;
    for (uint32_t i = 0; weight > 0.0 && i < look->spec->node_count; i++) {
        const struct aeg_spec_node *node = &look->spec->nodes[i];
        if (aeg_spec_has(look->seen, i) && node->visits > 1) {
            weigh(&look->work, node->work_ms, weight);
            weigh(&look->new_tokens, node->new_tokens, weight * base);
            weigh(&look->output_tokens, node->output_tokens, weight * base);
        }
    }
}

void aeg_spec_look_ahead(const struct aeg_spec *spec,
                         const struct aeg_spec_set *seen,
                         uint32_t repeats,
                         struct aeg_spec_ahead *ret)
{
    struct look look = {.spec = spec, .seen = seen};
    look_back(&look);
    for (uint32_t i = 0; i < spec->node_count; i++) {
        look_from(&look, i);
    }
    look_again(&look, repeats);
    double none = look.next < 1.0 ? 1.0 - look.next : 0.0;
    *ret = (struct aeg_spec_ahead){
        .steps = look.work.all,
        .work = mean_of(&look.work),
        .next_ratio = 1.0 - none / (1.0 + (double)repeats),
        .new_tokens = mean_of(&look.new_tokens),
        .output_tokens = mean_of(&look.output_tokens),
    };
}
