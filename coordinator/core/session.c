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
    map_init(&sessions->by_tail, mem, max_sessions * COORD_TAILS + 1);
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
    return &session_at(sessions, ref / COORD_TAILS)->tails[ref % COORD_TAILS];
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

static bool
id_is(const struct coord_session *session, const struct coord_step_arrived *arrived, uint32_t model)
{
    return session->model == model && session->tenant_len == arrived->tenant.len &&
           str_eq((struct str){session->text, session->tenant_len}, arrived->tenant) &&
           str_eq(coord_session_id_text(session), arrived->session);
}

/* One home per (tenant, id, model). */
static uint64_t id_hash(const struct coord_sessions *sessions,
                        const struct coord_step_arrived *arrived)
{
    uint64_t who = hash_str(arrived->session, hash_str(arrived->tenant, sessions->seed));
    return hash_str(arrived->model, who);
}

static struct coord_session *id_find(const struct coord_sessions *sessions,
                                     const struct coord_step_arrived *arrived,
                                     uint32_t model,
                                     uint64_t hash)
{
    for (uint64_t i = 0; i < ID_PROBES; i++) {
        const uint64_t *idx = map_get(&sessions->by_id, hash + i);
        if (idx != NULL && id_is(session_at(sessions, (uint32_t)*idx), arrived, model)) {
            return session_at(sessions, (uint32_t)*idx);
        }
    }
    return NULL;
}

/* --- chains --- */

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
        for (uint32_t k = 0; k < COORD_TAILS; k++) {
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
};

static bool tail_look(const struct coord_sessions *sessions, uint64_t key, struct tail_hit *ret)
{
    *ret = (struct tail_hit){NULL, NULL, NULL};
    const uint64_t *first = map_get(&sessions->by_tail, key);
    if (first == NULL) {
        return false;
    }
    uint32_t ref = (uint32_t)*first;
    for (int i = 0; i < TAIL_WALK_MAX && ref != TAIL_NONE && ret->idle == NULL; i++) {
        struct coord_session *session = session_at(sessions, ref / COORD_TAILS);
        bool is_newest = session->newest == ref % COORD_TAILS;
        if (is_newest && session->in_flight == 0) {
            ret->idle = session;
        } else if (is_newest && ret->busy == NULL) {
            ret->busy = session;
        } else if (!is_newest && ret->left == NULL) {
            ret->left = session;
        }
        ref = tail_at(sessions, ref)->next;
    }
    return true;
}

static void match_hit(const struct tail_hit *hit, bool is_whole_chain, struct coord_match *ret)
{
    if (hit->idle != NULL) {
        ret->kind = COORD_MATCH_CHAIN; /* the next step, or the last one again */
        ret->session = hit->idle;
    } else if (hit->busy != NULL && !is_whole_chain) {
        ret->kind = COORD_MATCH_CHAIN; /* went on without waiting for the answer */
        ret->session = hit->busy;
    } else if (hit->busy != NULL) {
        ret->kind = COORD_MATCH_TWIN;
    } else {
        ret->kind = COORD_MATCH_FORK;
        ret->parent = hit->left;
    }
}

static void match_chain(const struct coord_sessions *sessions,
                        const struct coord_step_arrived *arrived,
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
        if (tail_look(sessions, arrived->chain[i] ^ scope, &hit)) {
            match_hit(&hit, i == last, ret);
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

void coord_sessions_match(const struct coord_sessions *sessions,
                          const struct coord_step_arrived *arrived,
                          uint32_t model,
                          struct coord_match *ret)
{
    *ret = (struct coord_match){.kind = COORD_MATCH_NONE};
    if (arrived->session.len > 0 && arrived->session.len <= COORD_SESSION_MAX) {
        uint64_t hash = id_hash(sessions, arrived);
        ret->session = id_find(sessions, arrived, model, hash);
        ret->kind = ret->session != NULL ? COORD_MATCH_ID : COORD_MATCH_NEW_ID;
        ret->key = hash;
        if (ret->session != NULL) {
            ret->bytes = common_bytes(ret->session, arrived);
        }
        ret->tail_key = arrived->chain_count > 0 ? arrived->chain[arrived->chain_count - 1] : 0;
    } else if (arrived->chain_count > 0) {
        match_chain(sessions, arrived, ret);
    } else {
        ret->key = hash_str(arrived->name, hash_mix(sessions->seed, arrived->req.v));
    }
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

enum status coord_sessions_advance(struct coord_sessions *sessions,
                                   struct coord_session *session,
                                   uint64_t tail_key)
{
    struct coord_tail *newest = &session->tails[session->newest];
    if (newest->is_used && newest->key == tail_key) {
        return ST_OK;
    }
    uint32_t slot = (session->newest + 1) % COORD_TAILS;
    struct coord_tail *tail = &session->tails[slot];
    bool is_indexed = session->text == NULL;
    if (is_indexed && map_get(&sessions->by_tail, tail_key) == NULL &&
        map_put(&sessions->by_tail, tail_key, TAIL_NONE) != ST_OK) {
        return ST_NOMEM;
    }
    if (is_indexed && tail->is_used) {
        tail_unlink(sessions, tail, tail->key == tail_key);
    }
    *tail =
        (struct coord_tail){.key = tail_key, .next = TAIL_NONE, .prev = TAIL_NONE, .is_used = true};
    if (is_indexed) {
        tail_link(sessions, tail, session->idx * COORD_TAILS + slot);
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
        for (uint32_t i = 0; i < COORD_TAILS; i++) {
            if (session->tails[i].is_used) {
                tail_unlink(sessions, &session->tails[i], false);
            }
        }
    }
    list_remove(&session->link);
    sessions->counts[session->state]--;
    slab_free(&sessions->slab, session->idx);
}
