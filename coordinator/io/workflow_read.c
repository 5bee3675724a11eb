/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/workflow_read.h"

#include <math.h>
#include <yyjson.h>

enum { WHERE_BYTES = 24, NAME_SHOWN = 40, MEMBERS_MAX = 8 };

#define MILLIONTHS 1e6

struct workflow_doc {
    const struct mem *mem;
    yyjson_doc *json;
    struct aeg_spec_node_input *nodes; /* [node_cap] */
    struct aeg_spec_edge_input *edges; /* [edge_cap] */
    size_t node_cap;
    size_t edge_cap;
    struct coord_workflow_declared declared;
};

enum kind { KIND_TEXT, KIND_COUNT, KIND_PROBABILITY, KIND_ARRAY };

struct member {
    const char *name;
    enum kind kind;
    bool is_needed;
    size_t offset; /* in what is read; of a struct str, uint32_t, uint32_t, yyjson_val * */
};

/* What stands at the top level. */
struct top {
    struct str id;
    yyjson_val *nodes;
    yyjson_val *edges;
};

static const struct member top_members[] = {
    {"id", KIND_TEXT, true, offsetof(struct top, id)},
    {"nodes", KIND_ARRAY, true, offsetof(struct top, nodes)},
    {"edges", KIND_ARRAY, false, offsetof(struct top, edges)},
};

static const struct member node_members[] = {
    {"name", KIND_TEXT, true, offsetof(struct aeg_spec_node_input, name)},
    {"new_tokens", KIND_COUNT, false, offsetof(struct aeg_spec_node_input, new_tokens)},
    {"output_tokens", KIND_COUNT, false, offsetof(struct aeg_spec_node_input, output_tokens)},
    {"gap_ms", KIND_COUNT, false, offsetof(struct aeg_spec_node_input, gap_ms)},
    {"work_ms", KIND_COUNT, false, offsetof(struct aeg_spec_node_input, work_ms)},
    {"visits", KIND_COUNT, false, offsetof(struct aeg_spec_node_input, visits)},
};

static const struct member edge_members[] = {
    {"from", KIND_TEXT, true, offsetof(struct aeg_spec_edge_input, from)},
    {"to", KIND_TEXT, true, offsetof(struct aeg_spec_edge_input, to)},
    {"probability", KIND_PROBABILITY, false, offsetof(struct aeg_spec_edge_input, probability_ppm)},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

_Static_assert(COUNT_OF(node_members) <= MEMBERS_MAX, "a bit each");

/* An object that is being read into a struct. where: its path with a dot behind it, "" at the top.
 */
struct object {
    const struct member *members; /* [count] */
    size_t count;
    void *into;
    char where[WHERE_BYTES];
    struct err *err;
};

static enum status refuse(const struct object *obj, const char *name, const char *what)
{
    return err_set(obj->err, ST_INVAL, "%s%s: %s", obj->where, name, what);
}

/* A whole number however it is spelt; too large ones stay too large, which the spec says. */
static bool read_count(yyjson_val *val, uint32_t *ret)
{
    double number = yyjson_is_num(val) ? yyjson_get_num(val) : -1.0;
    if (!(number >= 0.0) || number != floor(number)) {
        return false;
    }
    uint32_t most = AEG_SPEC_UNSAID - 1;
    *ret = number < (double)most ? (uint32_t)number : most;
    return true;
}

/* In millionths; 0 when out of range, which the spec says. */
static bool read_probability(yyjson_val *val, uint32_t *ret)
{
    double number = yyjson_get_num(val);
    bool is_in_range = number >= 1.0 / MILLIONTHS && number <= 1.0;
    *ret = is_in_range ? (uint32_t)lround(number * MILLIONTHS) : 0;
    return yyjson_is_num(val);
}

static enum status
read_member(const struct object *obj, const struct member *member, yyjson_val *val)
{
    void *at = (char *)obj->into + member->offset;
    switch (member->kind) {
    case KIND_TEXT:
        if (!yyjson_is_str(val)) {
            return refuse(obj, member->name, "a string is expected");
        }
        *(struct str *)at = (struct str){yyjson_get_str(val), yyjson_get_len(val)};
        return ST_OK;
    case KIND_COUNT:
        return read_count(val, at)
                   ? ST_OK
                   : refuse(obj, member->name, "a whole number of at least 0 is expected");
    case KIND_PROBABILITY:
        return read_probability(val, at) ? ST_OK
                                         : refuse(obj, member->name, "a number is expected");
    case KIND_ARRAY:
        if (!yyjson_is_arr(val)) {
            return refuse(obj, member->name, "an array is expected");
        }
        *(yyjson_val **)at = val;
        return ST_OK;
    }
    return ST_INVAL;
}

/* Whoever misspelt it sees it again, in characters that harm nobody. */
static enum status refuse_unknown(const struct object *obj, struct str name)
{
    char shown[NAME_SHOWN + 1];
    size_t len = str_copy(shown, sizeof(shown), name);
    for (size_t i = 0; i < len; i++) {
        if (shown[i] < ' ' || shown[i] > '~') {
            shown[i] = '?';
        }
    }
    return refuse(obj, shown, "unknown member");
}

static enum status read_object(const struct object *obj, yyjson_val *val)
{
    size_t at = 0;
    size_t max = 0;
    yyjson_val *key = NULL;
    yyjson_val *item = NULL;
    unsigned seen = 0;
    yyjson_obj_foreach(val, at, max, key, item)
    {
        struct str name = {yyjson_get_str(key), yyjson_get_len(key)};
        size_t i = 0;
        while (i < obj->count && !str_eq(str_of(obj->members[i].name), name)) {
            i++;
        }
        if (i == obj->count) {
            return refuse_unknown(obj, name);
        }
        if ((seen & 1u << i) != 0) {
            return refuse(obj, obj->members[i].name, "is there twice");
        }
        seen |= 1u << i;
        enum status st = read_member(obj, &obj->members[i], item);
        if (st != ST_OK) {
            return st;
        }
    }
    for (size_t i = 0; i < obj->count; i++) {
        if (obj->members[i].is_needed && (seen & 1u << i) == 0) {
            return refuse(obj, obj->members[i].name, "is missing");
        }
    }
    return ST_OK;
}

static enum status
read_item(struct object *obj, const char *list, size_t i, yyjson_val *val, void *into)
{
    obj->into = into;
    (void)snprintf(obj->where, sizeof(obj->where), "%s[%zu].", list, i);
    if (!yyjson_is_obj(val)) {
        return err_set(obj->err, ST_INVAL, "%s[%zu]: an object is expected", list, i);
    }
    return read_object(obj, val);
}

static enum status read_nodes(struct workflow_doc *doc, yyjson_val *nodes, struct err *err)
{
    struct object obj = {.members = node_members, .count = COUNT_OF(node_members), .err = err};
    size_t i = 0;
    size_t max = 0;
    yyjson_val *item = NULL;
    yyjson_arr_foreach(nodes, i, max, item)
    {
        doc->nodes[i] = (struct aeg_spec_node_input){.new_tokens = AEG_SPEC_UNSAID,
                                                     .output_tokens = AEG_SPEC_UNSAID,
                                                     .gap_ms = AEG_SPEC_UNSAID,
                                                     .work_ms = AEG_SPEC_UNSAID,
                                                     .visits = 1};
        enum status st = read_item(&obj, "nodes", i, item, &doc->nodes[i]);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status read_edges(struct workflow_doc *doc, yyjson_val *edges, struct err *err)
{
    struct object obj = {.members = edge_members, .count = COUNT_OF(edge_members), .err = err};
    size_t i = 0;
    size_t max = 0;
    yyjson_val *item = NULL;
    yyjson_arr_foreach(edges, i, max, item)
    {
        doc->edges[i] = (struct aeg_spec_edge_input){.probability_ppm = AEG_SPEC_CERTAIN};
        enum status st = read_item(&obj, "edges", i, item, &doc->edges[i]);
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

static enum status check_id(struct str id, struct err *err)
{
    bool is_plain =
        id.len > 0 && id.len <= COORD_SESSION_MAX && id.p[0] != ' ' && id.p[id.len - 1] != ' ';
    for (size_t i = 0; is_plain && i < id.len; i++) {
        is_plain = id.p[i] >= ' ' && id.p[i] <= '~';
    }
    return is_plain ? ST_OK
                    : err_set(err, ST_INVAL,
                              "id: 1 to %d printable ASCII characters, no blank at either end",
                              COORD_SESSION_MAX);
}

/* Room for what is there; counts over the limit are refused before that. */
static enum status make_room(struct workflow_doc *doc, const struct top *top, struct err *err)
{
    size_t nodes = yyjson_arr_size(top->nodes);
    size_t edges = yyjson_arr_size(top->edges);
    if (nodes < 1 || nodes > AEG_SPEC_NODES) {
        return err_set(err, ST_INVAL, "nodes: 1 to %d of them", AEG_SPEC_NODES);
    }
    if (edges > AEG_SPEC_EDGES) {
        return err_set(err, ST_INVAL, "edges: at most %d of them", AEG_SPEC_EDGES);
    }
    doc->nodes = mem_calloc(doc->mem, nodes, sizeof(doc->nodes[0]));
    doc->node_cap = doc->nodes == NULL ? 0 : nodes;
    doc->edges = edges == 0 ? NULL : mem_calloc(doc->mem, edges, sizeof(doc->edges[0]));
    doc->edge_cap = doc->edges == NULL ? 0 : edges;
    return doc->node_cap < nodes || doc->edge_cap < edges ? err_set(err, ST_NOMEM, "workflow")
                                                          : ST_OK;
}

static enum status read_top(struct workflow_doc *doc, struct err *err)
{
    struct top top = {.nodes = NULL};
    struct object obj = {
        .members = top_members, .count = COUNT_OF(top_members), .into = &top, .err = err};
    yyjson_val *root = yyjson_doc_get_root(doc->json);
    if (!yyjson_is_obj(root)) {
        return err_set(err, ST_INVAL, "a JSON object is expected");
    }
    enum status st = read_object(&obj, root);
    if (st == ST_OK) {
        st = check_id(top.id, err);
    }
    if (st == ST_OK) {
        st = make_room(doc, &top, err);
    }
    if (st == ST_OK) {
        st = read_nodes(doc, top.nodes, err);
    }
    if (st == ST_OK) {
        st = read_edges(doc, top.edges, err);
    }
    doc->declared =
        (struct coord_workflow_declared){.id = top.id,
                                         .spec = {.nodes = doc->nodes,
                                                  .edges = doc->edges,
                                                  .node_count = (uint32_t)doc->node_cap,
                                                  .edge_count = (uint32_t)doc->edge_cap}};
    return st;
}

static enum status parse(struct workflow_doc *doc, struct str text, struct err *err)
{
    yyjson_read_err bad = {.code = 0};
    /* Not changed: only in-place parsing writes. */
    doc->json = yyjson_read_opts((char *)(uintptr_t)text.p, text.len, 0, NULL, &bad);
    if (doc->json != NULL) {
        return ST_OK;
    }
    if (bad.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return err_set(err, ST_NOMEM, "workflow");
    }
    return err_set(err, ST_INVAL, "no JSON: %s at byte %zu", text.len == 0 ? "empty" : bad.msg,
                   bad.pos);
}

enum status
workflow_read(struct workflow_doc **ret, const struct mem *mem, struct str text, struct err *err)
{
    if (text.len > WORKFLOW_BODY_BYTES) {
        return err_set(err, ST_TOOBIG, "a workflow may have at most %d bytes", WORKFLOW_BODY_BYTES);
    }
    struct workflow_doc *doc = mem_calloc(mem, 1, sizeof(*doc));
    if (doc == NULL) {
        return err_set(err, ST_NOMEM, "workflow");
    }
    doc->mem = mem;
    enum status st = parse(doc, text, err);
    if (st == ST_OK) {
        st = read_top(doc, err);
    }
    struct aeg_spec *spec = NULL; /* made once more where it is kept; here for its objections */
    if (st == ST_OK) {
        st = aeg_spec_new(&spec, mem, &doc->declared.spec, err);
    }
    aeg_spec_free(mem, spec);
    if (st != ST_OK) {
        workflow_doc_free(doc);
        return st;
    }
    *ret = doc;
    return ST_OK;
}

void workflow_doc_free(struct workflow_doc *doc)
{
    if (doc == NULL) {
        return;
    }
    yyjson_doc_free(doc->json);
    mem_free(doc->mem, doc->nodes, doc->node_cap * sizeof(doc->nodes[0]));
    mem_free(doc->mem, doc->edges, doc->edge_cap * sizeof(doc->edges[0]));
    mem_free(doc->mem, doc, sizeof(*doc));
}

const struct coord_workflow_declared *workflow_doc_declared(const struct workflow_doc *doc)
{
    return &doc->declared;
}
