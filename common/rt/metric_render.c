/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.def as Prometheus text and as a page of the manual. */
#include "common/rt/metric.h"
#include "common/rt/metric_table.h"

#include <stdio.h>

enum { LABEL_TEXT_BYTES = 160, NUMBER_TEXT_BYTES = 40 };

static const char *kind_text(enum metric_kind kind)
{
    static const char *const texts[] = {
        [METRIC_KIND_COUNTER] = "counter",
        [METRIC_KIND_GAUGE] = "gauge",
        [METRIC_KIND_HISTOGRAM] = "histogram",
    };
    return texts[kind];
}

static bool is_time(const struct metric_info *info)
{
    return strcmp(info->unit, "us") == 0;
}

/* Value in the shown unit: microseconds become seconds, exactly. */
static void number_text(const struct metric_info *info, uint64_t value, char ret[NUMBER_TEXT_BYTES])
{
    int len;
    if (!is_time(info)) {
        len = snprintf(ret, NUMBER_TEXT_BYTES, "%llu", (unsigned long long)value);
    } else {
        len = snprintf(ret, NUMBER_TEXT_BYTES, "%llu.%06u", (unsigned long long)(value / 1000000),
                       (unsigned)(value % 1000000));
        while (len > 2 && ret[len - 1] == '0') {
            ret[--len] = '\0';
        }
        if (len > 1 && ret[len - 1] == '.') {
            ret[--len] = '\0';
        }
    }
    ASSERT(len > 0);
}

/* `name="value",` for each label there is; empty for none. */
static void
labels_text(const struct metric_info *info, unsigned a, unsigned b, char ret[LABEL_TEXT_BYTES])
{
    ret[0] = '\0';
    const struct metric_label *labels[] = {info->label1, info->label2};
    unsigned values[] = {a, b};
    size_t len = 0;
    for (int i = 0; i < 2; i++) {
        if (labels[i]->text[0] != '\0') {
            int n = snprintf(ret + len, LABEL_TEXT_BYTES - len, "%s%s=\"%s\"", len == 0 ? "" : ",",
                             labels[i]->text, labels[i]->values[values[i]]);
            ASSERT(n > 0 && (size_t)n < LABEL_TEXT_BYTES - len);
            len += (size_t)n;
        }
    }
}

static enum status
render_histogram(struct buf *out, const struct metric_info *info, unsigned cell, const char *labels)
{
    uint64_t sum = 0;
    const char *comma = labels[0] == '\0' ? "" : ",";
    char number[NUMBER_TEXT_BYTES];
    enum status st = ST_OK;
    for (unsigned i = 0; i <= info->buckets->count && st == ST_OK; i++) {
        sum += metric_cell(cell + i);
        if (i < info->buckets->count) {
            number_text(info, info->buckets->bounds[i], number);
        }
        st = buf_add_fmt(out, "saga_%s_bucket{%s%sle=\"%s\"} %llu\n", info->name, labels, comma,
                         i < info->buckets->count ? number : "+Inf", (unsigned long long)sum);
    }
    if (st != ST_OK) {
        return st;
    }
    number_text(info, metric_cell(cell + info->buckets->count + 1), number);
    const char *open = labels[0] == '\0' ? "" : "{";
    const char *close = labels[0] == '\0' ? "" : "}";
    st = buf_add_fmt(out, "saga_%s_sum%s%s%s %s\n", info->name, open, labels, close, number);
    if (st != ST_OK) {
        return st;
    }
    return buf_add_fmt(out, "saga_%s_count%s%s%s %llu\n", info->name, open, labels, close,
                       (unsigned long long)sum);
}

static enum status
render_plain(struct buf *out, const struct metric_info *info, unsigned cell, const char *labels)
{
    uint64_t value = metric_cell(cell);
    const char *open = labels[0] == '\0' ? "" : "{";
    const char *close = labels[0] == '\0' ? "" : "}";
    if (info->kind == METRIC_KIND_GAUGE) {
        return buf_add_fmt(out, "saga_%s%s%s%s %lld\n", info->name, open, labels, close,
                           (long long)value);
    }
    return buf_add_fmt(out, "saga_%s%s%s%s %llu\n", info->name, open, labels, close,
                       (unsigned long long)value);
}

static enum status render_one(struct buf *out, const struct metric_info *info)
{
    enum status st = buf_add_fmt(out, "# HELP saga_%s %s\n# TYPE saga_%s %s\n", info->name,
                                 info->help, info->name, kind_text(info->kind));
    unsigned cell = info->first_cell;
    for (unsigned a = 0; a < info->label1->count; a++) {
        for (unsigned b = 0; b < info->label2->count && st == ST_OK; b++) {
            char labels[LABEL_TEXT_BYTES];
            labels_text(info, a, b, labels);
            st = info->kind == METRIC_KIND_HISTOGRAM ? render_histogram(out, info, cell, labels)
                                                     : render_plain(out, info, cell, labels);
            cell += info->cells_each;
        }
    }
    return st;
}

enum status metric_render(struct buf *out)
{
    enum status st = ST_OK;
    for (unsigned i = 0; i < METRIC_COUNT && st == ST_OK; i++) {
        st = render_one(out, &metric_infos[i]);
    }
    return st;
}

static enum status docs_label(struct buf *out, const struct metric_label *label)
{
    if (label->text[0] == '\0') {
        return ST_OK;
    }
    enum status st = buf_add_fmt(out, "`%s` (", label->text);
    for (unsigned i = 0; i < label->count && st == ST_OK; i++) {
        st = buf_add_fmt(out, "%s%s", i == 0 ? "" : ", ", label->values[i]);
    }
    return st == ST_OK ? buf_add_str(out, STR(") ")) : st;
}

enum status metric_docs(struct buf *out)
{
    enum status st = buf_add_str(
        out,
        STR("<!-- Made by `saga config docs metrics` from common/rt/metrics.def; do not edit. -->\n"
            "# Metrics\n\n"
            "`GET /metrics` on the admin port, Prometheus text. Times are shown in seconds.\n\n"
            "| metric | type | unit | labels | what it counts | when it moves |\n"
            "|---|---|---|---|---|---|\n"));
    for (unsigned i = 0; i < METRIC_COUNT && st == ST_OK; i++) {
        const struct metric_info *info = &metric_infos[i];
        st = buf_add_fmt(out, "| `saga_%s` | %s | %s | ", info->name, kind_text(info->kind),
                         is_time(info) ? "s" : info->unit);
        if (st == ST_OK) {
            st = docs_label(out, info->label1);
        }
        if (st == ST_OK) {
            st = docs_label(out, info->label2);
        }
        if (st == ST_OK) {
            st = buf_add_fmt(out, "| %s | %s |\n", info->help, info->action);
        }
    }
    return st;
}
