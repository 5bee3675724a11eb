/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/session.h"

#include "common/base/hash.h"

#include <string.h>

enum {
    ID_PROBES = 4,      /* ids whose hashes are equal */
    TAIL_WALK_MAX = 32, /* tails of one key looked at */
};

#define TAIL_NONE UINT32_MAX

static const char *const state_texts[] = {
#define X(name, text, next) text,
#include "coordinator/core/session_state.def"
#undef X
};

#define BIT(name) (1u << (unsigned)COORD_SESSION_##name)
static const unsigned state_next[] = {
#define X(name, text, next) next,
#include "coordinator/core/session_state.def"
#undef X
};
#undef BIT

const char *coord_session_state_text(enum coord_session_state state)
{
    return state_texts[state];
}

void coord_sessions_init(struct coord_sessions *sessions,
                         const struct mem *mem,
                         uint32_t max_sessions,
                         uint64_t seed)
{
    *sessions = (struct coord_sessions){.mem = mem, .seed = seed};
    slab_init(&sessions->slab, mem, sizeof(struct coord_session), max_sessions);
    map_init(&sessions->by_id, mem, max_sessions);
    map_init(&sessions->by_tail, mem, max_sessions * COORD_TAIL_SLOTS + 1);
    for (int i = 0; i < COORD_SESSION_STATES; i++) {
        list_init(&sessions->lists[i]);
    }
}

static void text_free(const struct coord_sessions *sessions, struct coord_session *session)
{
    mem_free(sessions->mem, session->text, session->text_bytes);
    session->text = NULL;
}

void coord_sessions_fini(struct coord_sessions *sessions)
{
    if (sessions->mem == NULL) {
        return;
    }
    for (int i = 0; i < COORD_SESSION_STATES; i++) {
        LIST_FOR_EACH(link, &sessions->lists[i])
        {
            text_free(sessions, LIST_OWNER(link, struct coord_session, link));
        }
    }
    map_fini(&sessions->by_tail);
    map_fini(&sessions->by_id);
    slab_fini(&sessions->slab);
}

static struct coord_session *session_at(const struct coord_sessions *sessions, uint32_t idx)
{
    return slab_at(&sessions->slab, idx);
}

static struct coord_tail *tail_at(const struct coord_sessions *sessions, uint32_t ref)
{
    return &session_at(sessions, ref / COORD_TAIL_SLOTS)->tails[ref % COORD_TAIL_SLOTS];
}

/* --- labels --- */

static bool is_label(struct str id)
{
    for (size_t i = 0; i < id.len; i++) {
        char c = id.p[i];
        bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == ':';
        if (!is_safe) {
            return false;
        }
    }
    return id.len > 0 && id.len < COORD_LABEL_BYTES;
}

void coord_session_label(struct str id, uint64_t key, char label[static COORD_LABEL_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    if (is_label(id)) {
        (void)str_copy(label, COORD_LABEL_BYTES, id);
        return;
    }
    label[0] = 's';
    label[1] = '-';
    for (int i = 0; i < 16; i++) {
        label[2 + i] = hex[(key >> (60 - 4 * i)) & 15];
    }
    label[18] = '\0';
}

/* --- lists --- */

void coord_session_move(struct coord_sessions *sessions,
                        struct coord_session *session,
                        enum coord_session_state next,
                        uint64_t now_us)
{
    if (next != session->state) {
        ASSERT((state_next[session->state] & (1u << (unsigned)next)) != 0);
    }
    list_remove(&session->link);
    sessions->counts[session->state]--;
    session->state = next;
    if (next != COORD_SESSION_COLD) {
        session->used_at_us = now_us;
    }
    list_push_back(&sessions->lists[next], &session->link);
    sessions->counts[next]++;
}

struct coord_session *coord_sessions_first(const struct coord_sessions *sessions,
                                           enum coord_session_state state)
{
    struct list *link = list_first(&sessions->lists[state]);
    return link == NULL ? NULL : LIST_OWNER(link, struct coord_session, link);
}

struct coord_session *coord_sessions_oldest(const struct coord_sessions *sessions)
{
    struct coord_session *session = coord_sessions_first(sessions, COORD_SESSION_COLD);
    return session != NULL ? session : coord_sessions_first(sessions, COORD_SESSION_WARM);
}

/* --- ids --- */

static bool id_is(const struct coord_session *session,
                  const struct coord_step_arrived *arrived,
                  struct str id,
                  uint32_t model)
{
    return session->model == model && session->tenant_len == arrived->tenant.len &&
           str_eq((struct str){session->text, session->tenant_len}, arrived->tenant) &&
           str_eq(coord_session_id_text(session), id);
}

/* One home per (tenant, id, model). */
uint64_t coord_sessions_id_key(const struct coord_sessions *sessions,
                               const struct coord_step_arrived *arrived,
                               struct str id)
{
    uint64_t who = hash_str(id, hash_str(arrived->tenant, sessions->seed));
    return hash_str(arrived->model, who);
}

static struct coord_session *id_find(const struct coord_sessions *sessions,
                                     const struct coord_step_arrived *arrived,
                                     struct str id,
                                     uint32_t model)
{
    uint64_t key = coord_sessions_id_key(sessions, arrived, id);
    for (uint64_t i = 0; i < ID_PROBES; i++) {
        const uint64_t *idx = map_get(&sessions->by_id, key + i);
        if (idx != NULL && id_is(session_at(sessions, (uint32_t)*idx), arrived, id, model)) {
            return session_at(sessions, (uint32_t)*idx);
        }
    }
    return NULL;
}

/* --- chains --- */

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
    struct coord_session *idle; /* it is the end of this one's last request, nothing in flight */
    struct coord_session *busy; /* same, with a step in flight */
    struct coord_session *left; /* this one ended here once and has gone on */
    uint32_t left_slot;         /* of its tail */
    uint32_t left_count;        /* such ones */
    uint32_t live_count;        /* of them used lately or with a step in flight */
};

static bool is_live(const struct coord_session *session, uint64_t now_us)
{
    return session->in_flight > 0 || now_us - session->used_at_us <= COORD_BACK_US;
}

/* Of two that wait at the same point, whose turn it is: the one that has waited longer, but one
 * that has been silent for long comes last. */
static bool
is_sooner(const struct coord_session *session, const struct coord_session *than, uint64_t now_us)
{
    if (than == NULL || is_live(session, now_us) != is_live(than, now_us)) {
        return than == NULL || is_live(session, now_us);
    }
    return (session->used_at_us < than->used_at_us) == is_live(session, now_us);
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
    int seen = 0;
    for (; seen < TAIL_WALK_MAX && ref != TAIL_NONE; seen++) {
        uint32_t slot = ref % COORD_TAIL_SLOTS;
        struct coord_session *session = session_at(sessions, ref / COORD_TAIL_SLOTS);
        bool is_newest = session->newest == slot;
        ref = tail_at(sessions, ref)->next;
        if (is_newest && session->in_flight == 0) {
            ret->idle = is_sooner(session, ret->idle, now_us) ? session : ret->idle;
        } else if (is_newest && ret->busy == NULL) {
            ret->busy = session;
        } else if (!is_newest && session != ret->left) {
            ret->left_count++;
            ret->live_count += is_live(session, now_us) ? 1 : 0;
            if (ret->left != NULL && !is_live(session, now_us)) {
                continue;
            }
            ret->left = session;
            ret->left_slot = slot;
        }
    }
    ret->left_count += ref != TAIL_NONE ? 1 : 0; /* not looked at */
    ret->live_count += ref != TAIL_NONE ? 1 : 0;
    return true;
}

static bool is_first_tail(const struct tail_hit *hit)
{
    const struct coord_session *session = hit->left;
    return hit->left_slot == COORD_TAIL_OPENING ||
           (hit->left_slot == 0 && !session->tails[COORD_TAIL_OPENING].is_used);
}

/* Nobody but the left session can be meant, and it waits. Beyond its first request a prompt holds
 * its own replies. Its first request others may send too: then it counts only if it was used
 * lately, no other such one was, nobody has begun as it did, and it is more than one segment (a
 * system prompt alone says nothing). */
static bool is_gone_back(const struct tail_hit *hit, uint32_t segments, uint64_t now_us)
{
    const struct coord_session *session = hit->left;
    ASSERT(session != NULL); /* a boundary that is known is some session's */
    if (session->in_flight > 0) {
        return false;
    }
    if (!is_first_tail(hit)) {
        return hit->left_count == 1;
    }
    return hit->live_count == 1 && is_live(session, now_us) && !session->is_repeated &&
           segments >= 2;
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

/* at: the boundary of the new chain. */
static void match_hit(const struct tail_hit *hit,
                      const struct coord_step_arrived *arrived,
                      uint32_t at,
                      uint64_t now_us,
                      struct coord_match *ret)
{
    bool is_whole_chain = at + 1 == arrived->chain_count;
    if (hit->idle != NULL) {
        ret->kind = COORD_MATCH_CHAIN; /* the next step, or the last one again */
        ret->session = hit->idle;
    } else if (hit->busy != NULL && !is_whole_chain) {
        ret->kind = COORD_MATCH_CHAIN; /* went on without waiting for the answer */
        ret->session = hit->busy;
    } else if (hit->busy != NULL) {
        ret->kind = COORD_MATCH_TWIN;
    } else if (!is_whole_chain && is_gone_back(hit, segments_to(arrived, at), now_us)) {
        ret->kind = is_first_tail(hit) ? COORD_MATCH_REOPEN : COORD_MATCH_BACK;
        ret->session = hit->left;
    } else {
        ret->kind = COORD_MATCH_FORK;
        ret->parent = hit->left;
    }
}

static void match_chain(const struct coord_sessions *sessions,
                        const struct coord_step_arrived *arrived,
                        uint64_t now_us,
                        struct coord_match *ret)
{
    uint64_t scope = chain_scope(sessions, arrived);
    uint32_t last = arrived->chain_count - 1;
    ret->kind = COORD_MATCH_NEW;
    ret->tail_key = arrived->chain[last] ^ scope;
    struct tail_hit hit;
    for (uint32_t i = last + 1; i-- > 0;) {
        if (!is_boundary(arrived, i)) {
            continue;
        }
        if (tail_look(sessions, arrived->chain[i] ^ scope, now_us, &hit)) {
            match_hit(&hit, arrived, i, now_us, ret);
            ret->bytes = arrived->chain_bytes[i];
            break;
        }
    }
    if (ret->session != NULL) {
        ret->key = ret->session->key;
    } else if (ret->kind == COORD_MATCH_NEW) {
        ret->key = ret->tail_key;
    } else {
        ret->key = hash_mix(ret->tail_key, sessions->births + 1);
    }
}

/* By the client's id. A new one may have been started by another, whose engine holds part of the
 * prompt: what both have sent, or else the opening (tools or system text) they likely share. */
static void match_id(const struct coord_sessions *sessions,
                     const struct coord_step_arrived *arrived,
                     uint32_t model,
                     struct coord_match *ret)
{
    ret->session = id_find(sessions, arrived, arrived->session, model);
    ret->kind = ret->session != NULL ? COORD_MATCH_ID : COORD_MATCH_NEW_ID;
    ret->key = coord_sessions_id_key(sessions, arrived, arrived->session);
    ret->tail_key = arrived->chain_count > 0 ? arrived->chain[arrived->chain_count - 1] : 0;
    if (ret->session != NULL) {
        ret->bytes = common_bytes(ret->session, arrived);
        return;
    }
    if (arrived->parent.len > 0) {
        ret->parent = id_find(sessions, arrived, arrived->parent, model);
    }
    if (ret->parent == NULL) {
        return;
    }
    ret->bytes = common_bytes(ret->parent, arrived);
    for (uint32_t i = 0; i < arrived->chain_count && ret->bytes == 0; i++) {
        ret->bytes = is_boundary(arrived, i) ? arrived->chain_bytes[i] : 0;
    }
}

void coord_sessions_match(const struct coord_sessions *sessions,
                          const struct coord_step_arrived *arrived,
                          uint32_t model,
                          uint64_t now_us,
                          struct coord_match *ret)
{
    *ret = (struct coord_match){.kind = COORD_MATCH_NONE};
    if (arrived->session.len > 0 && arrived->session.len <= COORD_SESSION_MAX) {
        match_id(sessions, arrived, model, ret);
    } else if (arrived->chain_count > 0) {
        match_chain(sessions, arrived, now_us, ret);
    } else {
        ret->key = hash_str(arrived->name, hash_mix(sessions->seed, arrived->req.v));
    }
    ret->confidence = confidences[ret->kind];
}

static enum status id_put(struct coord_sessions *sessions,
                          struct coord_session *session,
                          const struct coord_step_arrived *arrived,
                          uint64_t hash)
{
    for (uint64_t i = 0; i < ID_PROBES && map_get(&sessions->by_id, hash) != NULL; i++) {
        hash++;
    }
    size_t skip = arrived->tenant.len + 1;
    size_t bytes = skip + arrived->session.len;
    char *text = mem_alloc(sessions->mem, bytes);
    if (text == NULL) {
        return ST_NOMEM;
    }
    if (map_put(&sessions->by_id, hash, session->idx) != ST_OK) {
        mem_free(sessions->mem, text, bytes);
        return ST_NOMEM;
    }
    (void)str_copy(text, skip, arrived->tenant);
    memcpy(text + skip, arrived->session.p, arrived->session.len);
    session->text = text;
    session->text_bytes = (uint32_t)bytes;
    session->tenant_len = (uint32_t)arrived->tenant.len;
    session->id_key = hash;
    return ST_OK;
}

enum status coord_sessions_birth(struct coord_sessions *sessions,
                                 const struct coord_step_arrived *arrived,
                                 const struct coord_match *match,
                                 uint32_t model,
                                 struct coord_session **ret)
{
    if (sessions->slab.used_nodes >= sessions->slab.max_nodes) {
        return ST_FULL;
    }
    uint32_t idx = SLAB_NONE;
    struct coord_session *session = slab_alloc(&sessions->slab, &idx);
    if (session == NULL) {
        return ST_NOMEM;
    }
    session->idx = idx;
    session->key = match->key;
    session->home = ENGINE_NONE;
    session->alt = ENGINE_NONE;
    session->model = model;
    session->newest = COORD_TAILS - 1;
    if (match->kind == COORD_MATCH_NEW_ID) {
        enum status st = id_put(sessions, session, arrived, match->key);
        if (st != ST_OK) {
            slab_free(&sessions->slab, idx);
            return st;
        }
    }
    session->state = COORD_SESSION_BUSY;
    list_push_back(&sessions->lists[COORD_SESSION_BUSY], &session->link);
    sessions->counts[COORD_SESSION_BUSY]++;
    sessions->births++;
    *ret = session;
    return ST_OK;
}

/* Takes a tail out of the index; its key stays in the map for a moment if it is about to be used
 * again. */
static void
tail_unlink(struct coord_sessions *sessions, const struct coord_tail *tail, bool keeps_key)
{
    if (tail->next != TAIL_NONE) {
        tail_at(sessions, tail->next)->prev = tail->prev;
    }
    if (tail->prev != TAIL_NONE) {
        tail_at(sessions, tail->prev)->next = tail->next;
    } else if (tail->next != TAIL_NONE || keeps_key) {
        *map_get(&sessions->by_tail, tail->key) = tail->next;
    } else {
        (void)map_remove(&sessions->by_tail, tail->key);
    }
}

static void tail_link(struct coord_sessions *sessions, struct coord_tail *tail, uint32_t ref)
{
    uint64_t *first = map_get(&sessions->by_tail, tail->key);
    tail->prev = TAIL_NONE;
    tail->next = (uint32_t)*first;
    if (tail->next != TAIL_NONE) {
        tail_at(sessions, tail->next)->prev = ref;
    }
    *first = ref;
}

/* Moves the first tail out of the ring, to stay. */
static void tail_keep(struct coord_sessions *sessions, struct coord_session *session, uint32_t slot)
{
    struct coord_tail *tail = &session->tails[slot];
    session->tails[COORD_TAIL_OPENING] = *tail;
    if (session->text != NULL) {
        return; /* in no index */
    }
    uint32_t ref = session->idx * COORD_TAIL_SLOTS + COORD_TAIL_OPENING;
    if (tail->next != TAIL_NONE) {
        tail_at(sessions, tail->next)->prev = ref;
    }
    if (tail->prev != TAIL_NONE) {
        tail_at(sessions, tail->prev)->next = ref;
    } else {
        *map_get(&sessions->by_tail, tail->key) = ref;
    }
}

enum status coord_sessions_advance(struct coord_sessions *sessions,
                                   struct coord_session *session,
                                   uint64_t tail_key)
{
    struct coord_tail *newest = &session->tails[session->newest];
    if (newest->is_used && newest->key == tail_key) {
        session->is_repeated = session->is_repeated || session->is_answered;
        return ST_OK;
    }
    uint32_t slot = (session->newest + 1) % COORD_TAILS;
    struct coord_tail *tail = &session->tails[slot];
    bool is_indexed = session->text == NULL;
    if (is_indexed && map_get(&sessions->by_tail, tail_key) == NULL &&
        map_put(&sessions->by_tail, tail_key, TAIL_NONE) != ST_OK) {
        return ST_NOMEM;
    }
    if (tail->is_used && !session->tails[COORD_TAIL_OPENING].is_used) {
        tail_keep(sessions, session, slot);
    } else if (is_indexed && tail->is_used) {
        tail_unlink(sessions, tail, tail->key == tail_key);
    }
    *tail =
        (struct coord_tail){.key = tail_key, .next = TAIL_NONE, .prev = TAIL_NONE, .is_used = true};
    if (is_indexed) {
        tail_link(sessions, tail, session->idx * COORD_TAIL_SLOTS + slot);
    }
    session->newest = slot;
    return ST_OK;
}

void coord_sessions_forget(struct coord_sessions *sessions, struct coord_session *session)
{
    ASSERT(session->in_flight == 0);
    if (session->text != NULL) {
        (void)map_remove(&sessions->by_id, session->id_key);
        text_free(sessions, session);
    } else {
        for (uint32_t i = 0; i < COORD_TAIL_SLOTS; i++) {
            if (session->tails[i].is_used) {
                tail_unlink(sessions, &session->tails[i], false);
            }
        }
    }
    list_remove(&session->link);
    sessions->counts[session->state]--;
    slab_free(&sessions->slab, session->idx);
}
