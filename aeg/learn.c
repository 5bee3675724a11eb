/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/learn.h"

enum status aeg_init(struct aeg *aeg, const struct mem *mem, const struct aeg_limits *limits)
{
    *aeg = (struct aeg){0};
    return aeg_table_init(&aeg->table, mem, limits);
}

void aeg_fini(struct aeg *aeg)
{
    if (aeg != NULL && aeg->table.mem != NULL) {
        aeg_table_fini(&aeg->table);
        *aeg = (struct aeg){0};
    }
}

struct aeg_node *aeg_ref_node(const struct aeg *aeg, struct aeg_ref ref)
{
    struct aeg_node *node = ref.serial == 0 ? NULL : aeg_node_at(&aeg->table, ref.idx);
    return node != NULL && node->serial == ref.serial ? node : NULL;
}

struct aeg_cell *aeg_ref_cell(const struct aeg *aeg, struct aeg_ref ref)
{
    struct aeg_cell *cell = ref.serial == 0 ? NULL : aeg_cell_at(&aeg->table, ref.idx);
    return cell != NULL && cell->serial == ref.serial ? cell : NULL;
}

/* Nothing is counted while frozen. */
static struct aeg_cell *count_cell(const struct aeg *aeg, struct aeg_ref ref)
{
    return aeg->is_frozen ? NULL : aeg_ref_cell(aeg, ref);
}

static struct aeg_node *count_node(const struct aeg *aeg, struct aeg_ref ref)
{
    return aeg->is_frozen ? NULL : aeg_ref_node(aeg, ref);
}

static struct aeg_ref ref_node(const struct aeg *aeg, uint32_t idx)
{
    return idx == AEG_NONE ? (struct aeg_ref){0}
                           : (struct aeg_ref){idx, aeg_node_at(&aeg->table, idx)->serial};
}

static enum status open_cell(struct aeg *aeg,
                             uint32_t node,
                             uint64_t kind,
                             struct str name,
                             uint64_t now_us,
                             struct aeg_ref *ret)
{
    uint32_t idx = aeg->is_frozen ? aeg_table_cell(&aeg->table, node, kind) : 0;
    enum status st = ST_OK;
    if (!aeg->is_frozen) {
        st = aeg_table_cell_open(&aeg->table, node, kind, name, now_us, &idx);
    } else if (idx == AEG_NONE) {
        st = ST_NOTFOUND;
    }
    *ret = st == ST_OK ? (struct aeg_ref){idx, aeg_cell_at(&aeg->table, idx)->serial}
                       : (struct aeg_ref){0};
    return st;
}

/* ST_NOTFOUND only when frozen. */
static enum status open_class(struct aeg *aeg, const struct aeg_key *key, uint32_t *ret_node)
{
    if (!aeg->is_frozen) {
        return aeg_table_open(&aeg->table, key, ret_node);
    }
    *ret_node = aeg_table_find(&aeg->table, key);
    return *ret_node == AEG_NONE ? ST_NOTFOUND : ST_OK;
}

/* Finds or makes the places where a gap of this kind is counted. Opening one may make the table
 * forget classes, so each level is looked at again through its ref. */
static enum status
resolve(struct aeg *aeg, struct aeg_session *session, struct str name, uint64_t now_us)
{
    uint32_t node = AEG_NONE;
    enum status st = open_class(aeg, &session->key, &node);
    session->nodes[0] = ref_node(aeg, aeg->table.global);
    session->nodes[1] = ref_node(aeg, aeg_table_find_tenant(&aeg->table, session->key.tenant));
    session->nodes[2] = ref_node(aeg, node);
    for (uint32_t i = 0; i < AEG_LEVELS; i++) {
        session->any[i] = (struct aeg_ref){0};
        session->cells[i] = (struct aeg_ref){0};
        const struct aeg_node *at = aeg_ref_node(aeg, session->nodes[i]);
        if (at == NULL) {
            continue;
        }
        enum status any_st =
            open_cell(aeg, at->idx, AEG_KIND_ANY, STR(""), now_us, &session->any[i]);
        at = aeg_ref_node(aeg, session->nodes[i]);
        enum status kind_st =
            at == NULL ? ST_FULL
                       : open_cell(aeg, at->idx, session->kind, name, now_us, &session->cells[i]);
        st = st != ST_OK ? st : (any_st != ST_OK ? any_st : kind_st);
    }
    if (st == ST_NOTFOUND) {
        return ST_OK;
    }
    aeg->lost_count += st != ST_OK;
    return st;
}

enum status aeg_observe_start(struct aeg *aeg,
                              struct aeg_session *session,
                              const struct aeg_key *key,
                              uint64_t now_us)
{
    *session = (struct aeg_session){.key = *key, .kind = AEG_KIND_START, .gap_from_us = now_us};
    return resolve(aeg, session, STR(""), now_us);
}

/* Weight of an observation in this cell, after making room for its growth. */
static float cell_weight(struct aeg *aeg, struct aeg_cell *cell, uint64_t now_us)
{
    uint64_t half_life_us = aeg->table.limits.half_life_us;
    float factor = 1.0f;
    if (dist_rebase(&cell->clock, now_us, half_life_us, &factor)) {
        dist_rescale(cell->return_ended, DIST_BINS, factor);
        dist_rescale(cell->return_risk, DIST_RISKS, factor);
        dist_rescale(cell->fresh_left, DIST_BINS, factor);
        dist_rescale(cell->out_left, DIST_BINS, factor);
        cell->fresh_n *= factor;
        cell->out_n *= factor;
        cell->return_n *= factor;
        cell->return_bins *= factor;
        cell->return_ended_n *= factor;
    }
    return dist_weight(&cell->clock, now_us, half_life_us);
}

static float node_weight(struct aeg *aeg, struct aeg_node *node, uint64_t now_us)
{
    uint64_t half_life_us = aeg->table.limits.half_life_us;
    float factor = 1.0f;
    if (dist_rebase(&node->clock, now_us, half_life_us, &factor)) {
        dist_rescale(node->length_ended, DIST_BINS, factor);
        dist_rescale(node->length_risk, DIST_RISKS, factor);
        node->length_n *= factor;
        node->service_n *= factor;
        node->service_sum_s *= factor;
    }
    return dist_weight(&node->clock, now_us, half_life_us);
}

static struct aeg_cell *
cell_of(const struct aeg *aeg, const struct aeg_session *session, uint32_t i)
{
    return count_cell(aeg, i < AEG_LEVELS ? session->any[i] : session->cells[i - AEG_LEVELS]);
}

void aeg_observe_step(struct aeg *aeg,
                      struct aeg_session *session,
                      const struct aeg_step *step,
                      uint64_t now_us)
{
    uint32_t fresh_bin = dist_bin(&dist_axis_count, step->new_tokens);
    uint32_t out_bin = dist_bin(&dist_axis_count, step->out_tokens);
    bool is_first = session->kind == AEG_KIND_START;
    for (uint32_t i = 0; i < 2 * AEG_LEVELS; i++) {
        struct aeg_cell *cell = cell_of(aeg, session, i);
        if (cell == NULL) {
            continue;
        }
        float weight = cell_weight(aeg, cell, now_us);
        dist_count_left(cell->out_left, out_bin, weight);
        cell->out_n += weight;
        /* A first prompt is new as a whole: it says nothing about what a gap brings. */
        if (!is_first || i >= AEG_LEVELS) {
            dist_count_left(cell->fresh_left, fresh_bin, weight);
            cell->fresh_n += weight;
        }
    }
    for (uint32_t i = 0; i < AEG_LEVELS; i++) {
        struct aeg_node *node = count_node(aeg, session->nodes[i]);
        if (node != NULL) {
            float weight = node_weight(aeg, node, now_us);
            node->service_n += weight;
            node->service_sum_s += weight * (float)((double)step->service_us * 1e-6);
        }
    }
    if (session->recent_count > 0) {
        struct aeg_recent *recent = &session->recent[session->recent_at];
        recent->fresh_bin = (uint8_t)fresh_bin;
        recent->out_bin = (uint8_t)out_bin;
    }
    session->service_sum_s += (float)((double)step->service_us * 1e-6);
    session->context_tokens = step->context_tokens;
    session->step_count += session->step_count < UINT32_MAX;
    aeg->step_count++;
}

/* Mean bin of the kind's return times over everybody, -1 when unknown. */
static float slowness(const struct aeg *aeg, uint64_t kind)
{
    uint32_t idx = aeg_table_cell(&aeg->table, aeg->table.global, kind);
    const struct aeg_cell *cell = idx == AEG_NONE ? NULL : aeg_cell_at(&aeg->table, idx);
    return cell == NULL || !(cell->return_ended_n > 0.0f)
               ? -1.0f
               : cell->return_bins / cell->return_ended_n;
}

static uint64_t
slowest(const struct aeg *aeg, const struct str *tools, size_t tool_count, struct str *ret_name)
{
    uint64_t kind = AEG_KIND_ANSWER;
    float slow = -2.0f;
    size_t count = tool_count < AEG_TOOLS_MAX ? tool_count : AEG_TOOLS_MAX;
    *ret_name = STR("");
    for (size_t i = 0; i < count; i++) {
        uint64_t other = aeg_kind_of_tool(tools[i]);
        float other_slow = count == 1 ? 0.0f : slowness(aeg, other);
        if (other_slow > slow) {
            slow = other_slow;
            kind = other;
            *ret_name = tools[i];
        }
    }
    return kind;
}

enum status aeg_observe_gap_opened(struct aeg *aeg,
                                   struct aeg_session *session,
                                   const struct str *tools,
                                   size_t tool_count,
                                   uint64_t now_us)
{
    struct str name = STR("");
    session->kind = slowest(aeg, tools, tool_count, &name);
    session->is_gap_open = true;
    session->is_marked = false;
    session->gap_from_us = now_us;
    session->recent_at = (uint8_t)((session->recent_at + (session->recent_count > 0)) % AEG_RECENT);
    if (session->recent_count < AEG_RECENT) {
        session->recent_count++;
    }
    session->recent[session->recent_at] =
        (struct aeg_recent){(uint16_t)session->kind, AEG_BIN_NONE, AEG_BIN_NONE, AEG_BIN_NONE};
    return resolve(aeg, session, name, now_us);
}

/* Takes back what the open gap was counted as before. */
static void take_mark(struct aeg *aeg, struct aeg_session *session)
{
    if (!session->is_marked) {
        return;
    }
    for (uint32_t i = 0; i < 2 * AEG_LEVELS; i++) {
        struct aeg_cell *cell = cell_of(aeg, session, i);
        if (cell != NULL) {
            uint64_t half_life_us = aeg->table.limits.half_life_us;
            float weight = dist_weight(&cell->clock, session->mark_at_us, half_life_us);
            dist_count_open(cell->return_risk, session->mark_bin, -weight);
            cell->return_n = cell->return_n > weight ? cell->return_n - weight : 0.0f;
        }
    }
    session->is_marked = false;
}

enum status aeg_observe_gap_named(struct aeg *aeg,
                                  struct aeg_session *session,
                                  const struct str *tools,
                                  size_t tool_count,
                                  uint64_t now_us)
{
    struct str name = STR("");
    uint64_t kind = slowest(aeg, tools, tool_count, &name);
    if (!session->is_gap_open || kind == session->kind) {
        return ST_OK;
    }
    take_mark(aeg, session);
    session->kind = kind;
    session->recent[session->recent_at].kind = (uint16_t)kind;
    return resolve(aeg, session, name, now_us);
}

void aeg_observe_gap_dropped(struct aeg *aeg, struct aeg_session *session)
{
    if (session->is_gap_open) {
        take_mark(aeg, session);
        session->is_gap_open = false;
    }
}

void aeg_observe_gap_closed(struct aeg *aeg, struct aeg_session *session, uint64_t now_us)
{
    if (!session->is_gap_open) {
        return;
    }
    take_mark(aeg, session);
    uint64_t wait_us = now_us > session->gap_from_us ? now_us - session->gap_from_us : 0;
    uint32_t bin = dist_bin(&dist_axis_time_us, (double)wait_us);
    for (uint32_t i = 0; i < 2 * AEG_LEVELS; i++) {
        struct aeg_cell *cell = cell_of(aeg, session, i);
        if (cell != NULL) {
            float weight = cell_weight(aeg, cell, now_us);
            cell->return_ended[bin] += weight;
            dist_count_ended(cell->return_risk, bin, weight);
            cell->return_n += weight;
            cell->return_ended_n += weight;
            cell->return_bins += weight * (float)bin;
        }
    }
    session->recent[session->recent_at].wait_bin = (uint8_t)bin;
    session->is_gap_open = false;
    aeg->gap_count++;
}

void aeg_observe_gap_censored(struct aeg *aeg, struct aeg_session *session, uint64_t now_us)
{
    if (!session->is_gap_open || now_us <= session->gap_from_us) {
        return;
    }
    take_mark(aeg, session);
    uint32_t bin = dist_bin(&dist_axis_time_us, (double)(now_us - session->gap_from_us));
    for (uint32_t i = 0; i < 2 * AEG_LEVELS; i++) {
        struct aeg_cell *cell = cell_of(aeg, session, i);
        if (cell != NULL) {
            float weight = cell_weight(aeg, cell, now_us);
            dist_count_open(cell->return_risk, bin, weight);
            cell->return_n += weight;
        }
    }
    session->mark_bin = (uint8_t)bin;
    session->mark_at_us = now_us;
    session->is_marked = true;
    aeg->censored_count++;
}

void aeg_observe_end(struct aeg *aeg,
                     struct aeg_session *session,
                     bool is_complete,
                     uint64_t now_us)
{
    aeg_observe_gap_censored(aeg, session, now_us);
    uint32_t bin = dist_bin(&dist_axis_count, session->step_count);
    for (uint32_t i = 0; i < AEG_LEVELS; i++) {
        struct aeg_node *node = count_node(aeg, session->nodes[i]);
        if (node != NULL) {
            float weight = node_weight(aeg, node, now_us);
            node->length_n += weight;
            if (is_complete) {
                node->length_ended[bin] += weight;
                dist_count_ended(node->length_risk, bin, weight);
            } else {
                dist_count_open(node->length_risk, bin, weight);
            }
        }
    }
    session->is_gap_open = false;
    session->is_marked = false;
    aeg->session_count++;
}
