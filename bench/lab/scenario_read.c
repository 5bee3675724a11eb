/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the whole text becomes libyaml's tree; 2. the top mapping's values are read, each
 * mapping against its table of fields; 3. what one value alone cannot say is checked.
 * Failures: the first one ends it, with file and line. Aliases are as good as what they stand for:
 * the tree is walked to a fixed depth. */
#define _GNU_SOURCE /* strerror_r, fopen "e" */
#include "bench/lab/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <yaml.h>

enum { FIELDS_MAX = 8 };
#define SECONDS_MAX 1e7
#define US_PER_S    1e6
#define US_PER_MS   1e3

struct reader {
    yaml_document_t doc;
    const char *name; /* of the file, in complaints */
    struct scenario *to;
    struct err *err;
};

/* A key of a mapping; its value is a number within bounds, or a text, or any node. */
struct field {
    const char *key;
    double min;
    double max;
    double *number;    /* NULL = no number */
    struct str *text;  /* NULL = no text */
    yaml_node_t *node; /* what was found, NULL = it is not there */
};

/* An item of a list, a key or a value. */
static yaml_node_t *node_at(struct reader *r, int place)
{
    yaml_node_t *node = yaml_document_get_node(&r->doc, place);
    ASSERT(node != NULL);
    return node;
}

static unsigned line_of(const yaml_node_t *node)
{
    ASSERT(node != NULL);
    return (unsigned)(node->start_mark.line + 1);
}

static enum status bad(const struct reader *r, const yaml_node_t *node, const char *what)
{
    return err_set(r->err, ST_INVAL, "%s:%u: %s", r->name, line_of(node), what);
}

static struct str scalar(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE
               ? (struct str){(const char *)node->data.scalar.value, node->data.scalar.length}
               : STR("");
}

static enum status take(const struct reader *r, struct field *field, yaml_node_t *value)
{
    struct str text = scalar(value);
    bool is_scalar = value->type == YAML_SCALAR_NODE;
    double x = 0;
    if (field->node != NULL) {
        return err_set(r->err, ST_INVAL, "%s:%u: %s is there twice", r->name, line_of(value),
                       field->key);
    }
    if (field->number != NULL) {
        if (!is_scalar || str_to_f64(text, &x) != ST_OK || !(x >= field->min && x <= field->max)) {
            return err_set(r->err, ST_INVAL, "%s:%u: %s must be a number from %g to %g", r->name,
                           line_of(value), field->key, field->min, field->max);
        }
        *field->number = x;
    }
    if (field->text != NULL) {
        if (!is_scalar || text.len == 0 || text.len >= SCENARIO_NAME_BYTES ||
            memchr(text.p, '\0', text.len) != NULL || !str_is_utf8(text, NULL)) {
            return err_set(r->err, ST_INVAL, "%s:%u: %s must be a text of 1 to %d bytes", r->name,
                           line_of(value), field->key, SCENARIO_NAME_BYTES - 1);
        }
        *field->text = text;
    }
    field->node = value;
    return ST_OK;
}

/* Reads a mapping against its fields [count]. */
static enum status
read_fields(struct reader *r, yaml_node_t *node, struct field *fields, size_t count)
{
    if (node->type != YAML_MAPPING_NODE) {
        return bad(r, node, "a mapping of keys and values is expected here");
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = node_at(r, pair->key);
        struct str name = scalar(key);
        size_t i = 0;
        while (i < count && !str_eq(name, str_of(fields[i].key))) {
            i++;
        }
        if (i == count) {
            return err_set(r->err, ST_INVAL, "%s:%u: unknown key \"%.*s\"", r->name, line_of(key),
                           name.len < SCENARIO_NAME_BYTES ? (int)name.len : SCENARIO_NAME_BYTES,
                           name.len > 0 ? name.p : "");
        }
        enum status st = take(r, &fields[i], node_at(r, pair->value));
        if (st != ST_OK) {
            return st;
        }
    }
    return ST_OK;
}

/* --- entries of lists --- */

typedef enum status (*entry_fn)(struct reader *r, yaml_node_t *node);

static enum status
read_list(struct reader *r, yaml_node_t *node, const char *what, size_t max, entry_fn read)
{
    if (node == NULL) {
        return ST_OK;
    }
    if (node->type != YAML_SEQUENCE_NODE) {
        return bad(r, node, "a list is expected here");
    }
    const yaml_node_item_t *item = node->data.sequence.items.start;
    if ((size_t)(node->data.sequence.items.top - item) > max) {
        return err_set(r->err, ST_INVAL, "%s:%u: more than %zu %s", r->name, line_of(node), max,
                       what);
    }
    enum status st = ST_OK;
    for (; st == ST_OK && item < node->data.sequence.items.top; item++) {
        st = read(r, node_at(r, *item));
    }
    return st;
}

static enum status read_load(struct reader *r, yaml_node_t *node)
{
    struct scenario *to = r->to;
    struct scenario_load made = {.share = -1};
    struct field fields[] = {{.key = "from_s", .max = SECONDS_MAX, .number = &made.from_s},
                             {.key = "share", .min = 1e-4, .max = 1e4, .number = &made.share}};
    enum status st = read_fields(r, node, fields, 2);
    if (st != ST_OK) {
        return st;
    }
    if (made.share < 0) {
        return bad(r, node, "share is missing: of L*, from from_s on");
    }
    double before_s = to->load_count == 0 ? -1 : to->loads[to->load_count - 1].from_s;
    if (made.from_s <= before_s || (to->load_count == 0 && made.from_s != 0)) {
        return bad(r, node, "from_s must be 0 in the first entry and grow from there");
    }
    to->loads[to->load_count++] = made;
    return ST_OK;
}

static enum status read_model(struct reader *r, yaml_node_t *node)
{
    struct scenario_model *made = &r->to->models[r->to->model_count];
    struct str name = STR("");
    struct field fields[] = {
        {.key = "name", .text = &name},
        {.key = "engines_share", .min = 1e-3, .max = 1, .number = &made->engines_share}};
    enum status st = read_fields(r, node, fields, 2);
    if (st == ST_OK && (name.len == 0 || fields[1].node == NULL)) {
        return bad(r, node, "a model has a name and an engines_share");
    }
    (void)str_copy(made->name, sizeof(made->name), name);
    r->to->model_count++;
    return st;
}

static enum status find_model(struct reader *r, const struct field *field, uint32_t *ret)
{
    for (uint32_t i = 0; field->node != NULL && i < r->to->model_count; i++) {
        if (str_eq(*field->text, str_of(r->to->models[i].name))) {
            *ret = i;
            return ST_OK;
        }
    }
    return field->node == NULL ? ST_OK : bad(r, field->node, "no model of this name above");
}

static enum status
find_workload(struct reader *r, const struct field *field, struct scenario_tenant *made)
{
    for (uint32_t i = 0; field->node != NULL && i < WORKLOAD_CHAT; i++) {
        if (str_eq(*field->text, str_of(workload_names[i]))) {
            made->workload = (enum workload_kind)i;
            made->has_workload = true;
            return ST_OK;
        }
    }
    return field->node == NULL ? ST_OK
                               : bad(r, field->node, "workload must be swe, claude-code or mix");
}

static enum status read_tenant(struct reader *r, yaml_node_t *node)
{
    struct scenario_tenant made = {0};
    struct str name = STR("");
    struct str model = STR("");
    struct str workload = STR("");
    struct field fields[] = {{.key = "name", .text = &name},
                             {.key = "load", .min = 1e-4, .max = 1e4, .number = &made.load},
                             {.key = "share", .min = 1e-4, .max = 1, .number = &made.share},
                             {.key = "model", .text = &model},
                             {.key = "workload", .text = &workload}};
    enum status st = read_fields(r, node, fields, 5);
    if (st == ST_OK && (name.len == 0 || (made.load > 0 && made.share > 0))) {
        return bad(r, node, "a tenant has a name, and a load or a share or neither");
    }
    for (uint32_t i = 0; st == ST_OK && i < r->to->tenant_count; i++) {
        if (str_eq(name, str_of(r->to->tenants[i].name))) {
            return bad(r, node, "a tenant of this name is there already");
        }
    }
    if (st == ST_OK) {
        st = find_model(r, &fields[3], &made.model);
    }
    if (st == ST_OK) {
        st = find_workload(r, &fields[4], &made);
    }
    if (st == ST_OK) {
        (void)str_copy(made.name, sizeof(made.name), name);
        r->to->tenants[r->to->tenant_count++] = made;
    }
    return st;
}

/* "all", "3" or "0-3". */
static enum status
read_engines(struct reader *r, const yaml_node_t *node, struct str text, struct lab_fault *made)
{
    uint64_t first = 0;
    uint64_t last = 0;
    struct str part = STR("");
    if (str_eq(text, STR("all"))) {
        made->engine_count = UINT32_MAX;
        return ST_OK;
    }
    struct str rest = text;
    bool is_fine = str_split(&rest, '-', &part) && str_to_u64(part, &first) == ST_OK;
    last = first;
    if (is_fine && part.len < text.len) {
        is_fine = str_to_u64(rest, &last) == ST_OK;
    }
    if (!is_fine || last < first || last >= UINT16_MAX) {
        return bad(r, node, "engines must be all, one number from 0, or a range like 0-3");
    }
    made->engine_first = (uint32_t)first;
    made->engine_count = (uint32_t)(last - first + 1);
    return ST_OK;
}

static const char *const fault_names[LAB_FAULT_KINDS] = {"crash", "slow", "lose-cache", "drain",
                                                         "partition"};

static enum status read_event(struct reader *r, yaml_node_t *node)
{
    struct lab_fault made = {0};
    struct str kind = STR("");
    struct str engines = STR("");
    double at_s = 0;
    double for_s = 0;
    double factor = 0;
    struct field fields[] = {{.key = "at_s", .max = SECONDS_MAX, .number = &at_s},
                             {.key = "kind", .text = &kind},
                             {.key = "engines", .text = &engines},
                             {.key = "for_s", .min = 1e-3, .max = SECONDS_MAX, .number = &for_s},
                             {.key = "factor", .min = 1, .max = 1000, .number = &factor}};
    enum status st = read_fields(r, node, fields, 5);
    if (st == ST_OK && (fields[0].node == NULL || engines.len == 0)) {
        return bad(r, node, "an event has at_s, kind and engines");
    }
    if (st == ST_OK) {
        st = read_engines(r, fields[2].node, engines, &made);
    }
    uint32_t i = 0;
    while (i < LAB_FAULT_KINDS && !str_eq(kind, str_of(fault_names[i]))) {
        i++;
    }
    if (st == ST_OK && i == LAB_FAULT_KINDS) {
        return bad(r, node, "kind must be crash, slow, lose-cache, drain or partition");
    }
    made.kind = (enum lab_fault_kind)i;
    if (st == ST_OK && (made.kind == LAB_FAULT_SLOW) != (factor > 0)) {
        return bad(r, node, "factor belongs to slow, and slow needs one");
    }
    if (st == ST_OK && made.kind == LAB_FAULT_PARTITION && for_s <= 0) {
        return bad(r, node, "a partition needs for_s");
    }
    if (st == ST_OK && made.kind == LAB_FAULT_LOSE_CACHE && for_s > 0) {
        return bad(r, node, "lose-cache has no for_s");
    }
    made.at_us = (uint64_t)(at_s * US_PER_S);
    made.until_us = for_s > 0 ? made.at_us + (uint64_t)(for_s * US_PER_S) : 0;
    made.slow_per_mille = (uint32_t)(factor * 1000);
    r->to->faults[r->to->fault_count++] = made;
    return st;
}

/* --- the whole --- */

static enum status read_network(struct reader *r, yaml_node_t *node)
{
    struct lab_net *net = &r->to->net;
    double latency_ms = 0;
    double jitter_ms = 0;
    double retransmit_ms = 200; /* Linux's least retransmission time-out, TCP_RTO_MIN */
    struct field fields[] = {
        {.key = "latency_ms", .max = 1e5, .number = &latency_ms},
        {.key = "jitter_ms", .max = 1e5, .number = &jitter_ms},
        {.key = "loss", .max = 0.9, .number = &net->loss_ratio},
        {.key = "retransmit_ms", .min = 1, .max = 1e5, .number = &retransmit_ms},
        {.key = "duplicate", .max = 0.9, .number = &net->duplicate_ratio},
    };
    if (node == NULL) {
        return ST_OK;
    }
    enum status st = read_fields(r, node, fields, 5);
    r->to->latency_us = (uint64_t)(latency_ms * US_PER_MS);
    net->jitter_us = (uint64_t)(jitter_ms * US_PER_MS);
    net->retransmit_us = (uint64_t)(retransmit_ms * US_PER_MS);
    return st;
}

static enum status check_whole(struct reader *r, const struct field *models, yaml_node_t *tenants)
{
    double shares = 0;
    for (uint32_t i = 0; i < r->to->model_count; i++) {
        shares += r->to->models[i].engines_share;
    }
    if (r->to->model_count > 0 && fabs(shares - 1) > 1e-6) {
        return bad(r, models->node, "the models' engines_share must be 1 together");
    }
    shares = 0;
    for (uint32_t i = 0; i < r->to->tenant_count; i++) {
        shares += r->to->tenants[i].share;
    }
    return shares > 1 + 1e-6 ? bad(r, tenants, "the tenants' shares are more than 1 together")
                             : ST_OK;
}

static enum status read_root(struct reader *r, yaml_node_t *root)
{
    double stale_s = 0;
    struct field fields[FIELDS_MAX] = {
        {.key = "text"},
        {.key = "load"},
        {.key = "models"},
        {.key = "tenants"},
        {.key = "events"},
        {.key = "network"},
        {.key = "stale_s", .max = 3600, .number = &stale_s},
    };
    enum status st = read_fields(r, root, fields, 7);
    if (st == ST_OK) {
        st = read_list(r, fields[1].node, "entries", SCENARIO_STEPS_MAX, read_load);
    }
    if (st == ST_OK) {
        st = read_list(r, fields[2].node, "models", LAB_MODELS_MAX, read_model);
    }
    if (st == ST_OK) {
        st = read_list(r, fields[3].node, "tenants", SCENARIO_TENANTS_MAX, read_tenant);
    }
    if (st == ST_OK) {
        st = read_list(r, fields[4].node, "events", LAB_FAULTS_MAX, read_event);
    }
    if (st == ST_OK) {
        st = read_network(r, fields[5].node);
    }
    if (st == ST_OK && fields[0].node != NULL) {
        (void)str_copy(r->to->text, sizeof(r->to->text), scalar(fields[0].node));
    }
    r->to->stale_us = (uint64_t)(stale_s * US_PER_S);
    return st == ST_OK ? check_whole(r, &fields[2], fields[3].node) : st;
}

static enum status read_document(struct reader *r, yaml_parser_t *parser)
{
    if (!yaml_parser_load(parser, &r->doc)) {
        if (parser->error == YAML_MEMORY_ERROR) {
            return err_set(r->err, ST_NOMEM, "%s: no memory", r->name);
        }
        return err_set(r->err, ST_INVAL, "%s:%u: not valid YAML: %s", r->name,
                       (unsigned)(parser->problem_mark.line + 1),
                       parser->problem == NULL ? "unreadable" : parser->problem);
    }
    yaml_node_t *root = yaml_document_get_root_node(&r->doc);
    enum status st =
        root == NULL ? err_set(r->err, ST_INVAL, "%s:1: it is empty", r->name) : read_root(r, root);
    yaml_document_delete(&r->doc);
    return st;
}

enum status scenario_read(struct scenario *ret, const char *name, struct str text, struct err *err)
{
    struct scenario *made = mem_calloc(mem_heap(), 1, sizeof(*made));
    struct reader r = {.name = name, .to = made, .err = err};
    yaml_parser_t parser;
    if (made == NULL || !yaml_parser_initialize(&parser)) {
        mem_free(mem_heap(), made, sizeof(*made));
        return err_set(err, ST_NOMEM, "%s: no memory", name);
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.len == 0 ? "" : text.p),
                                 text.len);
    enum status st = read_document(&r, &parser);
    yaml_parser_delete(&parser);
    if (st == ST_OK) {
        *ret = *made;
    }
    mem_free(mem_heap(), made, sizeof(*made));
    return st;
}

static enum status read_file(struct scenario *ret, const char *path, struct err *err)
{
    FILE *f = fopen(path, "rbe");
    if (f == NULL) {
        int why = errno;
        char reason[128];
        return err_set(err, why == ENOENT ? ST_NOTFOUND : ST_IO,
                       "scenario %s: %s; --list-scenarios names those that are built in", path,
                       strerror_r(why, reason, sizeof(reason)));
    }
    enum status st = ST_OK;
    char *text = mem_alloc(mem_heap(), SCENARIO_FILE_BYTES + 1);
    size_t len = text == NULL ? 0 : fread(text, 1, SCENARIO_FILE_BYTES + 1, f);
    if (text == NULL) {
        st = err_set(err, ST_NOMEM, "%s: no memory", path);
    } else if (ferror(f) != 0) {
        st = err_set(err, ST_IO, "%s: cannot be read", path);
    } else if (len > SCENARIO_FILE_BYTES) {
        st = err_set(err, ST_INVAL, "%s:1: larger than %d bytes", path, SCENARIO_FILE_BYTES);
    } else {
        st = scenario_read(ret, path, (struct str){text, len}, err);
    }
    mem_free(mem_heap(), text, SCENARIO_FILE_BYTES + 1);
    (void)fclose(f);
    return st;
}

enum status scenario_load(struct scenario *ret, const char *name, struct err *err)
{
    for (size_t i = 0; scenario_builtin_at(i) != NULL; i++) {
        const struct scenario_builtin *built = scenario_builtin_at(i);
        if (strcmp(name, built->name) == 0) {
            return scenario_read(ret, name, str_of(built->yaml), err);
        }
    }
    return read_file(ret, name, err);
}
