/* SPDX-License-Identifier: Apache-2.0 */
/* The reading half of record.h. */
#include "coordinator/core/record.h"

/* Where the reader is. The first thing that does not fit sets st; all after it is a no-op. */
struct cursor {
    const char *p;
    const char *end;
    struct arena *arena;
    enum status st;
};

static void fail(struct cursor *cur, enum status st)
{
    if (cur->st == ST_OK) {
        cur->st = st;
    }
}

/* Takes text if it comes next. */
static bool take(struct cursor *cur, struct str text)
{
    if (cur->st != ST_OK || (size_t)(cur->end - cur->p) < text.len ||
        memcmp(cur->p, text.p, text.len) != 0) {
        return false;
    }
    cur->p += text.len;
    return true;
}

static void want(struct cursor *cur, struct str text)
{
    if (!take(cur, text)) {
        fail(cur, ST_INVAL);
    }
}

/* Decimal number, at most max. */
static uint64_t number(struct cursor *cur, uint64_t max)
{
    const char *from = cur->p;
    while (cur->st == ST_OK && cur->p < cur->end && *cur->p >= '0' && *cur->p <= '9') {
        cur->p++;
    }
    uint64_t value = 0;
    if (str_to_u64((struct str){from, (size_t)(cur->p - from)}, &value) != ST_OK || value > max) {
        fail(cur, ST_INVAL);
        return 0;
    }
    return value;
}

/* ,"name": */
static void key(struct cursor *cur, const char *name)
{
    want(cur, STR(",\""));
    want(cur, str_of(name));
    want(cur, STR("\":"));
}

static uint64_t num(struct cursor *cur, const char *name, uint64_t max)
{
    key(cur, name);
    return number(cur, max);
}

static uint32_t num32(struct cursor *cur, const char *name)
{
    return (uint32_t)num(cur, name, UINT32_MAX);
}

static bool flag(struct cursor *cur, const char *name)
{
    return num(cur, name, 1) == 1;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte behind a backslash at *at, as buf_add_json writes them; moves *at behind it. -1 = none
 * of those. */
static int unescape(const char **at, const char *end)
{
    const char *p = *at;
    *at = p + 1;
    switch (p < end ? *p : '\0') {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case '"':
    case '\\':
        return (unsigned char)*p;
    case 'u':
        break;
    default:
        return -1;
    }
    if (end - p < 5 || p[1] != '0' || p[2] != '0' || hex_digit(p[3]) < 0 || hex_digit(p[4]) < 0) {
        return -1;
    }
    *at = p + 5;
    return hex_digit(p[3]) * 16 + hex_digit(p[4]);
}

/* A quoted string, unescaped into the arena. */
static struct str quoted(struct cursor *cur)
{
    want(cur, STR("\""));
    const char *from = cur->p;
    const char *close = from;
    while (close < cur->end && *close != '"') {
        close += *close == '\\' ? 2 : 1;
    }
    if (cur->st != ST_OK || close >= cur->end) {
        fail(cur, ST_INVAL);
        return (struct str){NULL, 0};
    }
    char *text = arena_alloc(cur->arena, (size_t)(close - from) + 1);
    if (text == NULL) {
        fail(cur, ST_NOMEM);
        return (struct str){NULL, 0};
    }
    size_t len = 0;
    for (const char *p = from; p < close;) {
        int byte = (unsigned char)*p++;
        if (byte == '\\') {
            byte = unescape(&p, close);
        }
        if (byte < 0) {
            fail(cur, ST_INVAL);
            break;
        }
        text[len++] = (char)byte;
    }
    cur->p = close + 1;
    return (struct str){text, len};
}

static struct str text(struct cursor *cur, const char *name)
{
    key(cur, name);
    return quoted(cur);
}

/* Elements of the array that begins here, by counting the given opening byte up to the array's end;
 * an upper bound. */
static uint32_t count_ahead(const struct cursor *cur, char opening)
{
    uint32_t count = 0;
    for (const char *p = cur->p; p < cur->end; p++) {
        count += *p == opening ? 1 : 0;
    }
    return count;
}

static void read_chain(struct cursor *cur, struct coord_step_arrived *arrived)
{
    key(cur, "chain");
    want(cur, STR("["));
    uint32_t max = cur->st == ST_OK ? count_ahead(cur, '[') : 0;
    if (max > COORD_CHAIN_MAX) {
        fail(cur, ST_INVAL);
        return;
    }
    uint64_t *chain = arena_calloc(cur->arena, max + 1, sizeof(chain[0]));
    uint32_t *bytes = arena_calloc(cur->arena, max + 1, sizeof(bytes[0]));
    uint8_t *is_end = arena_calloc(cur->arena, max + 1, sizeof(is_end[0]));
    if (chain == NULL || bytes == NULL || is_end == NULL) {
        fail(cur, ST_NOMEM);
        return;
    }
    uint32_t count = 0;
    while (cur->st == ST_OK && !take(cur, STR("]"))) {
        if (count > 0) {
            want(cur, STR(","));
        }
        want(cur, STR("["));
        if (count >= max) {
            fail(cur, ST_INVAL);
            break;
        }
        chain[count] = number(cur, UINT64_MAX);
        want(cur, STR(","));
        bytes[count] = (uint32_t)number(cur, UINT32_MAX);
        want(cur, STR(","));
        is_end[count] = (uint8_t)number(cur, 1);
        want(cur, STR("]"));
        count++;
    }
    arrived->chain = chain;
    arrived->chain_bytes = bytes;
    arrived->chain_is_end = is_end;
    arrived->chain_count = count;
}

/* ["...", ...], at most max of them. */
static const struct str *quoted_list(struct cursor *cur, uint32_t max, uint32_t *ret_count)
{
    want(cur, STR("["));
    uint32_t bound = cur->st == ST_OK ? count_ahead(cur, '"') / 2 : 0;
    bound = bound < max ? bound : max;
    struct str *list = arena_calloc(cur->arena, bound + 1, sizeof(list[0]));
    if (list == NULL) {
        fail(cur, ST_NOMEM);
        return NULL;
    }
    uint32_t count = 0;
    while (cur->st == ST_OK && !take(cur, STR("]"))) {
        if (count > 0) {
            want(cur, STR(","));
        }
        if (count >= bound) {
            fail(cur, ST_INVAL);
            break;
        }
        list[count++] = quoted(cur);
    }
    *ret_count = count;
    return list;
}

static void read_hints(struct cursor *cur, struct coord_hints *hints)
{
    hints->class_hint = text(cur, "class_hint");
    hints->step_hint = text(cur, "step_hint");
    hints->priority = (int32_t)num32(cur, "priority");
    hints->output_tokens = num32(cur, "output_tokens");
    hints->deadline_us = num(cur, "deadline_us", UINT64_MAX);
    hints->retention_us = num(cur, "retention_us", UINT64_MAX);
    hints->is_final = flag(cur, "is_final");
    hints->expects_resume = flag(cur, "expects_resume");
}

static void read_arrived(struct cursor *cur, struct coord_step_arrived *arrived)
{
    arrived->req.v = num(cur, "req", UINT64_MAX);
    arrived->name = text(cur, "name");
    arrived->tenant = text(cur, "tenant");
    arrived->session = text(cur, "session");
    arrived->schema = text(cur, "schema");
    arrived->parent = text(cur, "parent");
    arrived->branch = text(cur, "branch");
    read_hints(cur, &arrived->hints);
    arrived->model = text(cur, "model");
    arrived->route = (enum coord_route)num(cur, "route", COORD_ROUTE_COUNT_TOKENS);
    arrived->prompt_bytes = num32(cur, "prompt_bytes");
    arrived->max_output_tokens = num32(cur, "max_output_tokens");
    arrived->is_stream = flag(cur, "is_stream");
    key(cur, "tools");
    arrived->tools = quoted_list(cur, COORD_TOOLS_MAX, &arrived->tool_count);
    arrived->opening = num(cur, "opening", UINT64_MAX);
    arrived->opening_sketch = num(cur, "opening_sketch", UINT64_MAX);
    read_chain(cur, arrived);
}

static void read_done(struct cursor *cur, struct coord_step_done *done)
{
    done->req.v = num(cur, "req", UINT64_MAX);
    done->outcome = (enum coord_outcome)num(cur, "outcome", COORD_OUTCOME_GONE);
    done->http_status = (uint16_t)num(cur, "http_status", UINT16_MAX);
    done->has_usage = flag(cur, "has_usage");
    done->prompt_tokens = num32(cur, "prompt_tokens");
    done->cached_tokens = num32(cur, "cached_tokens");
    done->output_tokens = num32(cur, "output_tokens");
    done->finish = (enum coord_finish)num(cur, "finish", COORD_FINISH_OTHER);
    key(cur, "tools");
    done->tools = quoted_list(cur, COORD_TOOLS_MAX, &done->tool_count);
}

static void read_probed(struct cursor *cur, struct coord_engine_probed *probed)
{
    probed->engine.v = num32(cur, "engine");
    probed->is_up = flag(cur, "is_up");
    probed->kind = (enum coord_engine_kind)num(cur, "kind", COORD_ENGINE_SIM);
    key(cur, "models");
    if (!take(cur, STR("null"))) {
        probed->models = quoted_list(cur, COORD_RECORD_MODELS_MAX, &probed->model_count);
    }
}

/* Goes to the next element of an array; false behind the last one. The element begins with "[". */
static bool next_row(struct cursor *cur, uint32_t count, uint32_t max)
{
    if (cur->st != ST_OK || take(cur, STR("]"))) {
        return false;
    }
    if (count > 0) {
        want(cur, STR(","));
    }
    want(cur, STR("["));
    if (count >= max) {
        fail(cur, ST_INVAL);
    }
    return cur->st == ST_OK;
}

static uint32_t next_num(struct cursor *cur)
{
    want(cur, STR(","));
    return (uint32_t)number(cur, UINT32_MAX);
}

static void read_workflow(struct cursor *cur, struct coord_workflow_declared *declared)
{
    declared->tenant = text(cur, "tenant");
    declared->id = text(cur, "id");
    struct aeg_spec_node_input *nodes = arena_calloc(cur->arena, AEG_SPEC_NODES, sizeof(*nodes));
    struct aeg_spec_edge_input *edges = arena_calloc(cur->arena, AEG_SPEC_EDGES, sizeof(*edges));
    if (nodes == NULL || edges == NULL) {
        fail(cur, ST_NOMEM);
        return;
    }
    struct aeg_spec_input *spec = &declared->spec;
    *spec = (struct aeg_spec_input){.nodes = nodes, .edges = edges};
    key(cur, "nodes");
    want(cur, STR("["));
    for (; next_row(cur, spec->node_count, AEG_SPEC_NODES); spec->node_count++) {
        struct aeg_spec_node_input *node = &nodes[spec->node_count];
        node->name = quoted(cur);
        node->new_tokens = next_num(cur);
        node->output_tokens = next_num(cur);
        node->gap_ms = next_num(cur);
        node->work_ms = next_num(cur);
        node->visits = next_num(cur);
        want(cur, STR("]"));
    }
    key(cur, "edges");
    want(cur, STR("["));
    for (; next_row(cur, spec->edge_count, AEG_SPEC_EDGES); spec->edge_count++) {
        struct aeg_spec_edge_input *edge = &edges[spec->edge_count];
        edge->from = quoted(cur);
        want(cur, STR(","));
        edge->to = quoted(cur);
        edge->probability_ppm = next_num(cur);
        want(cur, STR("]"));
    }
}

static void read_event(struct cursor *cur, struct coord_event *ev)
{
    switch (ev->kind) {
    case COORD_EV_STEP_ARRIVED:
        read_arrived(cur, &ev->u.arrived);
        break;
    case COORD_EV_STEP_STARTED:
        ev->u.started.req.v = num(cur, "req", UINT64_MAX);
        ev->u.started.attempt = num32(cur, "attempt");
        ev->u.started.engine.v = num32(cur, "engine");
        break;
    case COORD_EV_STEP_ANSWERED:
        ev->u.answered.req.v = num(cur, "req", UINT64_MAX);
        ev->u.answered.attempt = num32(cur, "attempt");
        ev->u.answered.http_status = (uint16_t)num(cur, "http_status", UINT16_MAX);
        break;
    case COORD_EV_STEP_DONE:
        read_done(cur, &ev->u.done);
        break;
    case COORD_EV_STEP_GONE:
        ev->u.gone.req.v = num(cur, "req", UINT64_MAX);
        break;
    case COORD_EV_ATTEMPT_FAILED:
        ev->u.failed.req.v = num(cur, "req", UINT64_MAX);
        ev->u.failed.attempt = num32(cur, "attempt");
        ev->u.failed.why = (enum coord_fail)num(cur, "why", COORD_FAIL_TIMEOUT);
        ev->u.failed.http_status = (uint16_t)num(cur, "http_status", UINT16_MAX);
        break;
    case COORD_EV_NODE_REFUSED:
        ev->u.node_refused.req.v = num(cur, "req", UINT64_MAX);
        ev->u.node_refused.attempt = num32(cur, "attempt");
        ev->u.node_refused.is_timeout = flag(cur, "is_timeout");
        break;
    case COORD_EV_ENGINE_ADDED:
        ev->u.engine_added.engine.v = num32(cur, "engine");
        ev->u.engine_added.name = text(cur, "name");
        ev->u.engine_added.max_running = num32(cur, "max_running");
        ev->u.engine_added.kv_tokens = num32(cur, "kv_tokens");
        break;
    case COORD_EV_ENGINE_REMOVED:
        ev->u.engine_removed.engine.v = num32(cur, "engine");
        break;
    case COORD_EV_ENGINE_PROBED:
        read_probed(cur, &ev->u.engine_probed);
        break;
    case COORD_EV_SESSION_RELEASED:
        ev->u.released.label = text(cur, "label");
        break;
    case COORD_EV_WORKFLOW_DECLARED:
        read_workflow(cur, &ev->u.workflow);
        break;
    case COORD_EV_WORKFLOW_DROPPED:
        ev->u.workflow_dropped.tenant = text(cur, "tenant");
        ev->u.workflow_dropped.id = text(cur, "id");
        break;
    case COORD_EV_TICK:
        break;
    }
}

static bool kind_of(struct str name, enum coord_event_kind *ret)
{
    static const struct {
        enum coord_event_kind kind;
        const char *text;
    } kinds[] = {
#define X(name, text) {COORD_EV_##name, text},
#include "coordinator/core/event_kind.def"
#undef X
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (str_eq(name, str_of(kinds[i].text))) {
            *ret = kinds[i].kind;
            return true;
        }
    }
    return false;
}

enum status coord_record_read(struct str line,
                              struct arena *arena,
                              struct coord_event *ret,
                              uint64_t *ret_now_us)
{
    if (str_starts(line, STR("{\"ef\":"))) {
        return ST_NOTFOUND;
    }
    struct cursor cur = {.p = line.p, .end = line.p + line.len, .arena = arena, .st = ST_OK};
    struct coord_event ev;
    memset(&ev, 0, sizeof(ev));
    want(&cur, STR("{\"ev\":"));
    struct str name = quoted(&cur);
    uint64_t at_us = num(&cur, "at_us", UINT64_MAX);
    if (cur.st == ST_OK && !kind_of(name, &ev.kind)) {
        fail(&cur, ST_INVAL);
    }
    if (cur.st == ST_OK) {
        read_event(&cur, &ev);
    }
    want(&cur, STR("}"));
    (void)take(&cur, STR("\n"));
    if (cur.st == ST_OK && cur.p != cur.end) {
        fail(&cur, ST_INVAL);
    }
    if (cur.st == ST_OK) {
        *ret = ev;
        *ret_now_us = at_us;
    }
    return cur.st;
}
