/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/sessions/score.h"

#include "common/base/hash.h"

#include <string.h>

void score_init(struct score *score, const struct mem *mem, uint64_t idle_us)
{
    *score = (struct score){.idle_us = idle_us};
    map_init(&score->owner, mem, SCORE_LABELS_MAX);
    map_init(&score->latest, mem, SCORE_LABELS_MAX);
}

void score_fini(struct score *score)
{
    map_fini(&score->owner);
    map_fini(&score->latest);
}

void score_round(struct score *score, const struct mem *mem)
{
    score_fini(score);
    map_init(&score->owner, mem, SCORE_LABELS_MAX);
    map_init(&score->latest, mem, SCORE_LABELS_MAX);
}

uint32_t score_source(struct score *score, const char *name)
{
    for (uint32_t i = 0; i < score->source_count; i++) {
        if (strcmp(score->sources[i].name, name) == 0) {
            return i;
        }
    }
    ASSERT(score->source_count < SCORE_SOURCES_MAX);
    score->sources[score->source_count].name = name;
    return score->source_count++;
}

static struct score_match *match_row(struct score *score, const char *name)
{
    for (uint32_t i = 0; i < score->match_count; i++) {
        if (strcmp(score->matches[i].name, name) == 0) {
            return &score->matches[i];
        }
    }
    ASSERT(score->match_count < SCORE_MATCHES_MAX);
    score->matches[score->match_count].name = name;
    return &score->matches[score->match_count++];
}

static void note_link(struct score *score,
                      struct score_task *task,
                      const struct score_request *request,
                      uint64_t label)
{
    bool is_kept = label == task->label;
    enum shape_link link = request->link;
    bool is_cut = link == SHAPE_COMPACT || link == SHAPE_CLEAR;
    score->links[link]++;
    score->kept[link] += is_kept ? 1 : 0;
    score->linked[link] += !is_kept && hash_str(request->parent, 0) == task->label ? 1 : 0;
    if (!is_cut) {
        score->sources[task->source].links++;
        score->sources[task->source].kept += is_kept ? 1 : 0;
        if (request->gap_us > score->idle_us) {
            score->late++;
            score->late_kept += is_kept ? 1 : 0;
        }
    }
    task->has_cut = task->has_cut || is_cut;
    task->is_broken = task->is_broken || !is_kept;
}

static void note_repeat(struct score *score,
                        struct score_task *task,
                        const struct score_request *request,
                        uint64_t label)
{
    bool is_kept = label == task->label;
    *(request->is_again ? &score->agains : &score->retries) += 1;
    *(request->is_again ? &score->agains_kept : &score->retries_kept) += is_kept ? 1 : 0;
    task->is_broken = task->is_broken || !is_kept;
}

static enum status note_owner(struct score *score,
                              struct score_task *const *tasks,
                              struct score_task *task,
                              uint64_t label)
{
    const uint64_t *owner = map_get(&score->owner, label);
    if (owner == NULL) {
        return map_put(&score->owner, label, (uint64_t)task->idx + 1);
    }
    if (*owner - 1 != task->idx) {
        tasks[*owner - 1]->is_broken = true;
        task->is_broken = true;
    }
    return ST_OK;
}

enum status score_request(struct score *score,
                          struct score_task *const *tasks,
                          struct score_task *task,
                          const struct score_request *request)
{
    uint64_t label = hash_str(request->label, 0);
    struct score_match *match = match_row(score, request->match);
    const uint64_t *latest = map_get(&score->latest, label);
    bool is_known = latest != NULL;
    bool is_right = is_known && *latest - 1 == task->idx;
    score->joined += is_known ? 1 : 0;
    score->joined_right += is_right ? 1 : 0;
    bool is_split = !is_known && task->label != 0;
    match->wrong += is_known && !is_right ? 1 : 0;
    match->split += is_split ? 1 : 0;
    match->right += is_right || (!is_known && task->label == 0) ? 1 : 0;
    if (request->is_retry || request->is_again) {
        note_repeat(score, task, request, label);
    } else {
        task->steps++;
        if (task->label != 0) {
            note_link(score, task, request, label);
        }
    }
    task->label = label;
    enum status st = note_owner(score, tasks, task, label);
    return st == ST_OK ? map_put(&score->latest, label, (uint64_t)task->idx + 1) : st;
}

void score_task_end(struct score *score, const struct score_task *task, bool is_sub)
{
    if (task->is_aux) {
        score->aux++;
        score->aux_apart += task->is_broken ? 0 : 1;
        return;
    }
    struct score_source *source = &score->sources[task->source];
    source->tasks++;
    source->intact += task->is_broken ? 0 : 1;
    source->uncut += task->has_cut ? 0 : 1;
    source->uncut_intact += task->has_cut || task->is_broken ? 0 : 1;
    score->subs += is_sub ? 1 : 0;
    score->subs_intact += is_sub && !task->is_broken ? 1 : 0;
    if (task->has_cut) {
        return;
    }
    score->twins += task->is_twin ? 1 : 0;
    score->twins_apart += task->is_twin && !task->is_broken ? 1 : 0;
    score->nears += task->is_near ? 1 : 0;
    score->nears_apart += task->is_near && !task->is_broken ? 1 : 0;
}
