/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/match.h"

#include "common/base/hash.h"

enum {
    TAIL_WALK_MAX = 32,  /* tails of one key looked at */
    COMMON_SEGMENTS = 2, /* tools and system prompt */
};

/* How sure each kind is: at most the share that bench_sessions found right on recorded tasks
 * (docs/identity.md), less where it saw few. */
static const double confidences[] = {
    [COORD_MATCH_NONE] = 0.0,   [COORD_MATCH_ID] = 1.0,     [COORD_MATCH_CHAIN] = 0.99,
    [COORD_MATCH_NEW_ID] = 1.0, [COORD_MATCH_NEW] = 0.7,    [COORD_MATCH_TWIN] = 0.9,
    [COORD_MATCH_BACK] = 0.9,   [COORD_MATCH_REOPEN] = 0.6, [COORD_MATCH_FORK] = 0.5,
};

/* Chains of one tenant never meet those of another; the model is in the chain's seed and here once
 * more. Both sides are good hashes already, so combining them by xor is enough. */
static uint64_t chain_scope(const struct coord_sessions *sessions,
                            const struct coord_step_arrived *arrived)
{
    return hash_str(arrived->model, hash_str(arrived->tenant, sessions->seed));
}

static bool is_boundary(const struct coord_step_arrived *arrived, uint32_t i)
{
    return i + 1 == arrived->chain_count || arrived->chain_is_end[i] != 0;
}

/* Prompt bytes of the longest boundary at which an earlier request of this session ended. */
static uint32_t common_bytes(const struct coord_session *session,
                             const struct coord_step_arrived *arrived)
{
    for (uint32_t i = arrived->chain_count; i-- > 0;) {
        if (!is_boundary(arrived, i)) {
            continue;
        }
        for (uint32_t k = 0; k < COORD_TAIL_SLOTS; k++) {
            if (session->tails[k].is_used && session->tails[k].key == arrived->chain[i]) {
                return arrived->chain_bytes[i];
            }
        }
    }
    return 0;
}

/* What is known about one boundary. */
struct tail_hit {
    struct coord_session *idle;   /* its last request ended here, with an answer */
    struct coord_session *failed; /* same, but without one: it may come again */
    struct coord_session *busy;   /* same, still in flight */
    struct coord_session *left;   /* this one ended here once and has gone on */
    struct coord_session *marked; /* the mark in its first request */
    uint32_t left_slot;           /* of left's tail */
    uint32_t left_count;          /* such ones */
    uint32_t live_count;          /* of them used lately or with a step in flight */
    uint32_t marked_count;
};

static bool is_live(const struct coord_session *session, uint64_t now_us)
{
    return session->in_flight > 0 || now_us - session->used_at_us <= COORD_BACK_US;
}

/* Of two that wait at the same point, whose turn it is: the one that has waited longer, but one
 * that has been silent for long comes last. */
static struct coord_session *
sooner_of(struct coord_session *session, struct coord_session *than, uint64_t now_us)
{
    if (than == NULL) {
        return session;
    }
    bool is_recent = is_live(session, now_us);
    bool is_first = is_recent != is_live(than, now_us)
                        ? is_recent
                        : (session->used_at_us < than->used_at_us) == is_recent;
    return is_first ? session : than;
}

static void
hit_add(struct tail_hit *hit, struct coord_session *session, uint32_t slot, uint64_t now_us)
{
    if (slot == COORD_TAIL_MARK) {
        hit->marked = session;
        hit->marked_count++;
    } else if (session->newest != slot) {
        hit->left_count++;
        hit->live_count += is_live(session, now_us) ? 1 : 0;
        if (hit->left == NULL || is_live(session, now_us)) {
            hit->left = session;
            hit->left_slot = slot;
        }
    } else if (session->in_flight > 0) {
        hit->busy = hit->busy == NULL ? session : hit->busy;
    } else if (session->is_answered) {
        hit->idle = sooner_of(session, hit->idle, now_us);
    } else {
        hit->failed = sooner_of(session, hit->failed, now_us);
    }
}

static bool tail_look(const struct coord_sessions *sessions,
                      uint64_t key,
                      uint64_t now_us,
                      struct tail_hit *ret)
{
    *ret = (struct tail_hit){.idle = NULL};
    const uint64_t *first = map_get(&sessions->by_tail, key);
    if (first == NULL) {
        return false;
    }
    uint32_t ref = (uint32_t)*first;
    for (int seen = 0; seen < TAIL_WALK_MAX && ref != COORD_TAIL_NONE; seen++) {
        struct coord_session *session = coord_sessions_at(sessions, ref / COORD_TAIL_SLOTS);
        uint32_t slot = ref % COORD_TAIL_SLOTS;
        ref = coord_sessions_tail(sessions, ref)->next;
        bool is_same = slot != COORD_TAIL_MARK && session->newest != slot && session == ret->left;
        if (!is_same) { /* it was here twice */
            hit_add(ret, session, slot, now_us);
        }
    }
    uint32_t unseen = ref != COORD_TAIL_NONE ? 1 : 0;
    ret->left_count += unseen;
    ret->live_count += unseen;
    ret->marked_count += unseen;
    return true;
}

static bool is_first_tail(const struct coord_session *session, uint32_t slot)
{
    return slot == COORD_TAIL_OPENING || (slot == 0 && !session->tails[COORD_TAIL_OPENING].is_used);
}

/* It has sent one prompt so far, with no replies of its own in it. */
static bool is_opening(const struct coord_session *session)
{
    return session->opening_segments > 0 && is_first_tail(session, session->newest);
}

/* Segments of the chain up to and with that boundary. */
static uint32_t segments_to(const struct coord_step_arrived *arrived, uint32_t last)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i <= last; i++) {
        count += is_boundary(arrived, i) ? 1 : 0;
    }
    return count;
}

/* Nobody but the left session can be meant, and it waits. Beyond its first request a prompt holds
 * its own replies. Its first request others may send too: then it counts only if it was used
 * lately, no other such one was, and it is more than one segment (a system prompt alone says
 * nothing). */
static bool is_gone_back(const struct tail_hit *hit,
                         const struct coord_step_arrived *arrived,
                         uint32_t at,
                         uint64_t now_us)
{
    const struct coord_session *session = hit->left;
    if (session->in_flight > 0) {
        return false;
    }
    if (!is_first_tail(session, hit->left_slot)) {
        return hit->left_count == 1;
    }
    return hit->live_count == 1 && is_live(session, now_us) && segments_to(arrived, at) >= 2;
}

/* The end of its first request was replaced. Another task that shares most of that request begins
 * with about as many messages; this prompt has more, and nobody else has got there. */
static bool
is_rewritten(const struct tail_hit *hit, const struct coord_step_arrived *arrived, uint64_t now_us)
{
    const struct coord_session *session = hit->marked;
    return hit->marked_count == 1 && session->in_flight == 0 && session->is_answered &&
           is_live(session, now_us) &&
           segments_to(arrived, arrived->chain_count - 1) > session->opening_segments;
}

/* The whole chain was sent before. */
static bool match_repeat(const struct tail_hit *hit, struct coord_match *ret)
{
    if (hit->failed != NULL) {
        ret->kind = COORD_MATCH_CHAIN;
        ret->session = hit->failed;
    } else if (hit->idle != NULL && !is_opening(hit->idle)) {
        ret->kind = COORD_MATCH_CHAIN; /* it holds its own replies, so nobody else sends it */
        ret->session = hit->idle;
    } else if (hit->idle != NULL || hit->busy != NULL) {
        ret->kind = COORD_MATCH_TWIN; /* nobody asks again for an answer that he has */
        ret->parent = hit->idle;
    } else if (hit->left != NULL) {
        ret->kind = COORD_MATCH_FORK;
        ret->parent = hit->left;
    } else {
        return false;
    }
    return true;
}

/* The chain goes on from a boundary that was sent before. */
static bool match_more(const struct tail_hit *hit,
                       const struct coord_step_arrived *arrived,
                       uint32_t at,
                       uint64_t now_us,
                       struct coord_match *ret)
{
    struct coord_session *waits = hit->idle != NULL ? hit->idle : hit->failed;
    if (waits != NULL || hit->busy != NULL) {
        ret->kind = COORD_MATCH_CHAIN; /* the busy one did not wait for its answer */
        ret->session = waits != NULL ? waits : hit->busy;
    } else if (hit->left != NULL && is_gone_back(hit, arrived, at, now_us)) {
        ret->kind =
            is_first_tail(hit->left, hit->left_slot) ? COORD_MATCH_REOPEN : COORD_MATCH_BACK;
        ret->session = hit->left;
    } else if (hit->left != NULL) {
        ret->kind = COORD_MATCH_FORK;
        ret->parent = hit->left;
    } else if (is_rewritten(hit, arrived, now_us)) {
        ret->kind = COORD_MATCH_REOPEN;
        ret->session = hit->marked;
    } else {
        return false;
    }
    return true;
}

/* A boundary late in a first request, past tools and system prompt; none in a short one. */
static void
find_mark(const struct coord_step_arrived *arrived, uint64_t scope, struct coord_ends *ret)
{
    uint32_t last = arrived->chain_count - 1;
    uint32_t most_bytes = arrived->chain_bytes[last] / 8 * 7;
    uint32_t i = last;
    while (i > 0 && arrived->chain_bytes[i] > most_bytes) {
        i--;
    }
    ret->segments = segments_to(arrived, last);
    uint32_t least = ret->segments > COMMON_SEGMENTS ? COMMON_SEGMENTS : 1;
    ret->has_mark = i > 0 && segments_to(arrived, i - 1) >= least;
    ret->mark_key = arrived->chain[i] ^ scope;
}

static void match_chain(const struct coord_sessions *sessions,
                        const struct coord_step_arrived *arrived,
                        uint64_t now_us,
                        struct coord_match *ret)
{
    uint64_t scope = chain_scope(sessions, arrived);
    uint32_t last = arrived->chain_count - 1;
    ret->kind = COORD_MATCH_NEW;
    ret->ends.tail_key = arrived->chain[last] ^ scope;
    struct tail_hit hit;
    for (uint32_t i = last + 1; i-- > 0;) {
        if (tail_look(sessions, arrived->chain[i] ^ scope, now_us, &hit) &&
            (i == last ? match_repeat(&hit, ret) : match_more(&hit, arrived, i, now_us, ret))) {
            ret->bytes = arrived->chain_bytes[i];
            break;
        }
    }
    if (ret->session != NULL) {
        ret->key = ret->session->key;
        return;
    }
    if (ret->kind != COORD_MATCH_FORK) {
        find_mark(arrived, scope, &ret->ends);
    }
    ret->key = ret->kind == COORD_MATCH_NEW ? ret->ends.tail_key
                                            : hash_mix(ret->ends.tail_key, sessions->births + 1);
}

/* By the client's id. A new one may have been started by another, whose engine holds part of the
 * prompt: what both have sent, or else the opening (tools or system text) they likely share. */
static void match_id(const struct coord_sessions *sessions,
                     const struct coord_step_arrived *arrived,
                     uint32_t model,
                     struct coord_match *ret)
{
    ret->session = coord_sessions_find_id(sessions, arrived, arrived->session, model);
    ret->kind = ret->session != NULL ? COORD_MATCH_ID : COORD_MATCH_NEW_ID;
    ret->key = coord_sessions_id_key(sessions, arrived, arrived->session);
    ret->ends.tail_key = arrived->chain_count > 0 ? arrived->chain[arrived->chain_count - 1] : 0;
    if (ret->session != NULL) {
        ret->bytes = common_bytes(ret->session, arrived);
        return;
    }
    if (arrived->parent.len > 0) {
        ret->parent = coord_sessions_find_id(sessions, arrived, arrived->parent, model);
    }
    if (ret->parent == NULL) {
        return;
    }
    ret->bytes = common_bytes(ret->parent, arrived);
    for (uint32_t i = 0; i < arrived->chain_count && ret->bytes == 0; i++) {
        ret->bytes = is_boundary(arrived, i) ? arrived->chain_bytes[i] : 0;
    }
}

void coord_match_step(const struct coord_sessions *sessions,
                      const struct coord_step_arrived *arrived,
                      uint32_t model,
                      uint64_t now_us,
                      struct coord_match *ret)
{
    *ret = (struct coord_match){.kind = COORD_MATCH_NONE};
    if (coord_step_has_id(arrived)) {
        match_id(sessions, arrived, model, ret);
    } else if (arrived->chain_count > 0) {
        match_chain(sessions, arrived, now_us, ret);
    } else {
        ret->key = hash_str(arrived->name, hash_mix(sessions->seed, arrived->req.v));
    }
    ret->confidence = confidences[ret->kind];
}
