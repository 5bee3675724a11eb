/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a recorded log that says what the core was made with, or told later. */
#include "coordinator/core/record.h"

#include "routing/registry.h"

/* Fields as whole numbers; a double as its bits, so that nothing is rounded. */
#define FIELD(name)                                                                             \
    {                                                                                           \
#name, offsetof(struct coord_limits, name), sizeof(((struct coord_limits *)NULL)->name) \
    }

static const struct {
    const char *name;
    size_t offset;
    size_t bytes; /* 1, 4 or 8 */
} fields[] = {
    FIELD(max_sessions),       FIELD(max_requests),       FIELD(max_engines),
    FIELD(max_receipts),       FIELD(max_classes),        FIELD(max_workflows),
    FIELD(max_workflow_bytes), FIELD(max_graph_bytes),    FIELD(half_life_us),
    FIELD(session_idle_us),    FIELD(margin_steps),       FIELD(retry_executed),
    FIELD(retry_budget_ratio), FIELD(health_interval_us), FIELD(health_fail_count),
    FIELD(health_open_us),     FIELD(has_params),         FIELD(params[0]),
    FIELD(params[1]),          FIELD(params[2]),          FIELD(params[3]),
    FIELD(params[4]),          FIELD(params[5]),          FIELD(params[6]),
    FIELD(params[7]),          FIELD(params[8]),          FIELD(params[9]),
    FIELD(params[10]),         FIELD(params[11]),
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };
_Static_assert(GATE_PARAMS_MAX == 12, "each of params is a field");

static uint64_t field_get(const struct coord_limits *limits, size_t i)
{
    const unsigned char *from = (const unsigned char *)limits + fields[i].offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (fields[i].bytes == 1) {
        return from[0];
    }
    if (fields[i].bytes == sizeof(narrow)) {
        memcpy(&narrow, from, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, from, sizeof(wide));
    return wide;
}

/* False when the value does not fit. */
static bool field_set(struct coord_limits *limits, size_t i, uint64_t value)
{
    unsigned char *to = (unsigned char *)limits + fields[i].offset;
    uint32_t narrow = (uint32_t)value;
    if (fields[i].bytes == 1) {
        to[0] = (unsigned char)value;
        return value <= 1;
    }
    if (fields[i].bytes == sizeof(narrow)) {
        memcpy(to, &narrow, sizeof(narrow));
        return value <= UINT32_MAX;
    }
    memcpy(to, &value, sizeof(value));
    return true;
}

enum status coord_record_limits(const struct coord_limits *limits, uint64_t seed, struct buf *out)
{
    enum status st = buf_add_fmt(out, "{\"limits\":%u,\"seed\":%llu", (unsigned)FIELDS,
                                 (unsigned long long)seed);
    for (size_t i = 0; i < FIELDS && st == ST_OK; i++) {
        st = buf_add_fmt(out, ",\"%s\":%llu", fields[i].name,
                         (unsigned long long)field_get(limits, i));
    }
    const struct route_policy *policy = limits->policy;
    return st == ST_OK ? buf_add_fmt(out, ",\"policy\":\"%s\"}\n",
                                     policy == NULL ? route_policy_saga.name : policy->name)
                       : st;
}

/* Takes the number behind "name": up to a comma or the closing brace. */
static bool take_number(struct str *rest, const char *name, uint64_t *ret)
{
    struct str key = str_of(name);
    if (rest->len < key.len + 4 || rest->p[0] != '"' || memcmp(rest->p + 1, key.p, key.len) != 0 ||
        rest->p[key.len + 1] != '"' || rest->p[key.len + 2] != ':') {
        return false;
    }
    size_t from = key.len + 3;
    size_t at = from;
    while (at < rest->len && rest->p[at] >= '0' && rest->p[at] <= '9') {
        at++;
    }
    bool is_number = at < rest->len && (rest->p[at] == ',' || rest->p[at] == '}') &&
                     str_to_u64((struct str){rest->p + from, at - from}, ret) == ST_OK;
    *rest = (struct str){rest->p + at + 1, is_number ? rest->len - at - 1 : 0};
    return is_number;
}

enum status coord_record_read_limits(struct str line, struct coord_limits *ret, uint64_t *ret_seed)
{
    uint64_t value = 0;
    struct coord_limits limits;
    memset(&limits, 0, sizeof(limits));
    if (!str_starts(line, STR("{\"limits\":"))) {
        return ST_NOTFOUND;
    }
    struct str rest = {line.p + 1, line.len - 1};
    if (!take_number(&rest, "limits", &value) || value != FIELDS ||
        !take_number(&rest, "seed", ret_seed)) {
        return ST_INVAL;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if (!take_number(&rest, fields[i].name, &value) || !field_set(&limits, i, value)) {
            return ST_INVAL;
        }
    }
    static const struct str before = {"\"policy\":\"", 10};
    struct str name = {rest.p + before.len, 0};
    if (!str_starts(rest, before)) {
        return ST_INVAL;
    }
    size_t left = rest.len - before.len;
    while (name.len < left && name.p[name.len] != '"') {
        name.len++;
    }
    if (left < name.len + 2 || name.p[name.len + 1] != '}') {
        return ST_INVAL;
    }
    limits.policy = route_policy_find(name);
    *ret = limits;
    return limits.policy == NULL ? ST_INVAL : ST_OK;
}
