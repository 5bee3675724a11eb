/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sessions/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GOAL_PRECISION 0.999
#define GOAL_RECALL    0.995

static const char *const link_names[] = {
    [SHAPE_FIRST] = "first",     [SHAPE_WHOLE] = "whole", [SHAPE_REWIND] = "rewind",
    [SHAPE_COMPACT] = "compact", [SHAPE_CLEAR] = "clear",
};

static double ratio(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 1.0 : (double)part / (double)whole;
}

static double precision(const struct score *score)
{
    return ratio(score->joined_right, score->joined);
}

/* Outside compactions and clears. */
static double recall(const struct score *score)
{
    return ratio(score->kept[SHAPE_WHOLE] + score->kept[SHAPE_REWIND],
                 score->links[SHAPE_WHOLE] + score->links[SHAPE_REWIND]);
}

static struct score_source total(const struct score *score)
{
    struct score_source sum = {.name = "all"};
    for (uint32_t i = 0; i < score->source_count; i++) {
        const struct score_source *row = &score->sources[i];
        sum.tasks += row->tasks;
        sum.intact += row->intact;
        sum.uncut += row->uncut;
        sum.uncut_intact += row->uncut_intact;
        sum.links += row->links;
        sum.kept += row->kept;
    }
    return sum;
}

bool report_is_good(const struct score *score)
{
    return precision(score) >= GOAL_PRECISION && recall(score) >= GOAL_RECALL;
}

static void source_line(const struct score_source *row)
{
    (void)printf("%-18s %7" PRIu64 " %9" PRIu64 "  %.5f  %.4f  %.4f\n", row->name, row->tasks,
                 row->links, ratio(row->kept, row->links), ratio(row->uncut_intact, row->uncut),
                 ratio(row->intact, row->tasks));
}

struct report_case {
    const char *name;
    uint64_t count;
    uint64_t well;
};

enum { CASES = 7 };

static void list_cases(const struct score *score, struct report_case ret[static CASES])
{
    const struct report_case cases[CASES] = {
        {"retries", score->retries, score->retries_kept},
        {"again", score->agains, score->agains_kept},
        {"same_opening", score->twins, score->twins_apart},
        {"near_opening", score->nears, score->nears_apart},
        {"sub_agents", score->subs, score->subs_intact},
        {"auxiliary", score->aux, score->aux_apart},
        {"after_idle", score->late, score->late_kept},
    };
    memcpy(ret, cases, sizeof(cases));
}

void report_table(const struct score *score)
{
    struct report_case cases[CASES];
    list_cases(score, cases);
    (void)printf("precision %.6f (%" PRIu64 " of %" PRIu64 "), recall %.5f outside compactions and "
                 "clears\n\n",
                 precision(score), score->joined_right, score->joined, recall(score));
    (void)printf("%-18s %9s %9s %9s  recall\n", "link", "count", "same", "child");
    for (int i = SHAPE_WHOLE; i < SHAPE_LINKS; i++) {
        (void)printf("%-18s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "  %.5f\n", link_names[i],
                     score->links[i], score->kept[i], score->linked[i],
                     ratio(score->kept[i], score->links[i]));
    }
    (void)printf("\n%-18s %9s %9s %9s\n", "match", "right", "wrong", "split");
    for (uint32_t i = 0; i < score->match_count; i++) {
        const struct score_match *row = &score->matches[i];
        (void)printf("%-18s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n", row->name, row->right,
                     row->wrong, row->split);
    }
    (void)printf("\n%-18s %9s %9s\n", "case", "count", "well");
    for (int i = 0; i < CASES; i++) {
        (void)printf("%-18s %9" PRIu64 " %9" PRIu64 "\n", cases[i].name, cases[i].count,
                     cases[i].well);
    }
    (void)printf("\n%-18s %7s %9s  %-7s  %-6s  %-6s\n", "source", "tasks", "links", "recall",
                 "intact", "with cuts");
    for (uint32_t i = 0; i < score->source_count; i++) {
        source_line(&score->sources[i]);
    }
    struct score_source sum = total(score);
    source_line(&sum);
}

static void source_json(const struct score_source *row, const char *end)
{
    (void)printf("{\"source\":\"%s\",\"tasks\":%" PRIu64 ",\"intact\":%" PRIu64
                 ",\"uncut\":%" PRIu64 ",\"uncut_intact\":%" PRIu64 ",\"links\":%" PRIu64
                 ",\"kept\":%" PRIu64 "}%s",
                 row->name, row->tasks, row->intact, row->uncut, row->uncut_intact, row->links,
                 row->kept, end);
}

void report_json(const struct score *score)
{
    struct report_case cases[CASES];
    list_cases(score, cases);
    (void)printf("{\"precision\":%.6f,\"recall\":%.6f,\"joined\":%" PRIu64
                 ",\"joined_right\":%" PRIu64 ",\"links\":{",
                 precision(score), recall(score), score->joined, score->joined_right);
    for (int i = SHAPE_WHOLE; i < SHAPE_LINKS; i++) {
        (void)printf("%s\"%s\":{\"count\":%" PRIu64 ",\"same\":%" PRIu64 ",\"child\":%" PRIu64 "}",
                     i == SHAPE_WHOLE ? "" : ",", link_names[i], score->links[i], score->kept[i],
                     score->linked[i]);
    }
    (void)printf("},\"matches\":{");
    for (uint32_t i = 0; i < score->match_count; i++) {
        const struct score_match *row = &score->matches[i];
        (void)printf("%s\"%s\":{\"right\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"split\":%" PRIu64 "}",
                     i == 0 ? "" : ",", row->name, row->right, row->wrong, row->split);
    }
    (void)printf("},\"cases\":{");
    for (int i = 0; i < CASES; i++) {
        (void)printf("%s\"%s\":[%" PRIu64 ",%" PRIu64 "]", i == 0 ? "" : ",", cases[i].name,
                     cases[i].count, cases[i].well);
    }
    (void)printf("},\"sources\":[");
    for (uint32_t i = 0; i < score->source_count; i++) {
        source_json(&score->sources[i], ",");
    }
    struct score_source sum = total(score);
    source_json(&sum, "]}\n");
}
