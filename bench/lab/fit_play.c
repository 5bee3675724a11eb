/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/fit_play.h"

#include <string.h>

/* A request in the batch. */
struct member {
    uint32_t step;
    uint32_t computed; /* tokens of the prompt */
    uint32_t planned;  /* of the iteration under way */
    uint32_t generated;
};

struct player {
    const struct sim_profile *profile;
    const struct fit_step *steps;
    struct fit_played *played;
    struct member *members; /* [member_count] in arrival order */
    uint32_t member_count;
    uint32_t next; /* waiting: next .. end */
    uint32_t end;  /* of this engine's steps */
    double now_s;
};

static void admit(struct player *player)
{
    while (player->next < player->end && player->member_count < player->profile->max_running &&
           player->steps[player->next].sent_s <= player->now_s) {
        const struct fit_step *step = &player->steps[player->next];
        uint32_t last = step->prompt_tokens - 1; /* is always computed */
        player->members[player->member_count++] = (struct member){
            .step = player->next++,
            .computed = step->cached_tokens < last ? step->cached_tokens : last,
        };
    }
}

/* Decodes first, then chunks as the budget allows. */
static struct sim_batch form(struct player *player)
{
    struct sim_batch batch = {0};
    for (uint32_t i = 0; i < player->member_count; i++) {
        struct member *member = &player->members[i];
        if (member->generated > 0) {
            batch.decode_requests++;
            batch.decode_tokens += player->steps[member->step].prompt_tokens + member->generated;
        }
    }
    uint32_t budget = player->profile->budget_tokens;
    uint32_t left = budget > batch.decode_requests ? budget - batch.decode_requests : 1;
    for (uint32_t i = 0; i < player->member_count; i++) {
        struct member *member = &player->members[i];
        uint32_t missing = player->steps[member->step].prompt_tokens - member->computed;
        member->planned = missing < left ? missing : left;
        if (member->planned > 0) {
            sim_batch_add_chunk(&batch, member->planned, member->computed);
        }
        left -= member->planned;
    }
    return batch;
}

static struct fit_work work_of(const struct sim_profile *profile, const struct sim_batch *batch)
{
    double tokens = (double)(batch->prefill_tokens + batch->decode_requests);
    bool is_computing = profile->a_s + profile->b_s_per_token * tokens > profile->f_s;
    return (struct fit_work){.of = {
                                 [FIT_A] = 1,
                                 [FIT_W] = is_computing ? 0 : 1,
                                 [FIT_B] = is_computing ? tokens : 0,
                                 [FIT_D] = batch->prefill_pairs,
                                 [FIT_G] = batch->decode_requests,
                                 [FIT_H] = (double)batch->decode_tokens,
                             }};
}

static void
add(struct fit_work *sum, double *sum_s, const struct fit_work *work, double share_s, double share)
{
    for (int i = 0; i < FIT_TERMS; i++) {
        sum->of[i] += share * work->of[i];
    }
    *sum_s += share_s * share;
}

/* One iteration: everybody who was there has waited for all of it, who came during it for the rest.
 */
static void iterate(struct player *player)
{
    struct sim_batch batch = form(player);
    struct fit_work work = work_of(player->profile, &batch);
    double took_s = sim_profile_iteration_s(player->profile, &batch);
    double end_s = player->now_s + took_s;
    uint32_t kept = 0;
    for (uint32_t i = player->next; i < player->end && player->steps[i].sent_s < end_s; i++) {
        double late_s = player->steps[i].sent_s - player->now_s;
        double share = late_s > 0 ? 1 - late_s / took_s : 1;
        add(&player->played[i].first, &player->played[i].first_s, &work, took_s, share);
    }
    for (uint32_t i = 0; i < player->member_count; i++) {
        struct member *member = &player->members[i];
        struct fit_played *played = &player->played[member->step];
        bool is_first = member->generated == 0;
        add(is_first ? &played->first : &played->decode,
            is_first ? &played->first_s : &played->decode_s, &work, took_s, 1);
        member->computed += member->planned;
        if (member->computed == player->steps[member->step].prompt_tokens) {
            member->generated++;
        }
        if (member->generated < player->steps[member->step].output_tokens) {
            player->members[kept++] = *member;
        }
    }
    player->member_count = kept;
    player->now_s = end_s;
}

static void play_engine(struct player *player)
{
    while (player->next < player->end || player->member_count > 0) {
        if (player->member_count == 0 && player->steps[player->next].sent_s > player->now_s) {
            player->now_s = player->steps[player->next].sent_s;
        }
        admit(player);
        iterate(player);
    }
}

enum status fit_play(const struct sim_profile *profile,
                     const struct fit_step *steps,
                     uint32_t count,
                     const struct mem *mem,
                     struct fit_played *ret)
{
    struct player player = {.profile = profile, .steps = steps, .played = ret};
    player.members = mem_calloc(mem, profile->max_running, sizeof(*player.members));
    if (player.members == NULL) {
        return ST_NOMEM;
    }
    memset(ret, 0, count * sizeof(*ret));
    while (player.next < count) {
        player.end = player.next;
        while (player.end < count && steps[player.end].engine == steps[player.next].engine) {
            player.end++;
        }
        player.now_s = 0;
        play_engine(&player);
    }
    mem_free(mem, player.members, profile->max_running * sizeof(*player.members));
    return ST_OK;
}
