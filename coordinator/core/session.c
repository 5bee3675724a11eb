/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/session.h"

#include "common/base/hash.h"

#include <string.h>

enum { ID_PROBES = 4 }; /* ids whose hashes are equal */

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
    if (next != COORD_SESSION_COLD && next != COORD_SESSION_ONCE_COLD) {
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

static struct coord_session *sooner(const struct coord_sessions *sessions,
                                    enum coord_session_state state,
                                    enum coord_session_state other_state)
{
    struct coord_session *session = coord_sessions_first(sessions, state);
    struct coord_session *other = coord_sessions_first(sessions, other_state);
    if (session == NULL || other == NULL) {
        return session != NULL ? session : other;
    }
    return session->used_at_us <= other->used_at_us ? session : other;
}

struct coord_session *coord_sessions_oldest(const struct coord_sessions *sessions)
{
    /* Sessions that nobody has come back to may be a flood of ids: it only drives out itself. */
    uint32_t once =
        sessions->counts[COORD_SESSION_ONCE] + sessions->counts[COORD_SESSION_ONCE_COLD];
    if (once > sessions->slab.max_nodes / 2) {
        return sooner(sessions, COORD_SESSION_ONCE_COLD, COORD_SESSION_ONCE);
    }
    struct coord_session *cold = sooner(sessions, COORD_SESSION_COLD, COORD_SESSION_ONCE_COLD);
    return cold != NULL ? cold : sooner(sessions, COORD_SESSION_WARM, COORD_SESSION_ONCE);
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

struct coord_session *coord_sessions_find_id(const struct coord_sessions *sessions,
                                             const struct coord_step_arrived *arrived,
                                             struct str id,
                                             uint32_t model)
{
    uint64_t key = coord_sessions_id_key(sessions, arrived, id);
    for (uint64_t i = 0; i < ID_PROBES; i++) {
        const uint64_t *idx = map_get(&sessions->by_id, key + i);
        if (idx != NULL && id_is(coord_sessions_at(sessions, (uint32_t)*idx), arrived, id, model)) {
            return coord_sessions_at(sessions, (uint32_t)*idx);
        }
    }
    return NULL;
}

/* --- birth, growth, end --- */

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
                                 uint64_t key,
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
    session->key = key;
    session->home = ENGINE_NONE;
    session->alt = ENGINE_NONE;
    session->model = model;
    session->newest = COORD_TAILS - 1;
    if (coord_step_has_id(arrived)) {
        enum status st = id_put(sessions, session, arrived, key);
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
    if (tail->next != COORD_TAIL_NONE) {
        coord_sessions_tail(sessions, tail->next)->prev = tail->prev;
    }
    if (tail->prev != COORD_TAIL_NONE) {
        coord_sessions_tail(sessions, tail->prev)->next = tail->next;
    } else if (tail->next != COORD_TAIL_NONE || keeps_key) {
        *map_get(&sessions->by_tail, tail->key) = tail->next;
    } else {
        (void)map_remove(&sessions->by_tail, tail->key);
    }
}

static void tail_link(struct coord_sessions *sessions, struct coord_tail *tail, uint32_t ref)
{
    uint64_t *first = map_get(&sessions->by_tail, tail->key);
    tail->prev = COORD_TAIL_NONE;
    tail->next = (uint32_t)*first;
    if (tail->next != COORD_TAIL_NONE) {
        coord_sessions_tail(sessions, tail->next)->prev = ref;
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
    if (tail->next != COORD_TAIL_NONE) {
        coord_sessions_tail(sessions, tail->next)->prev = ref;
    }
    if (tail->prev != COORD_TAIL_NONE) {
        coord_sessions_tail(sessions, tail->prev)->next = ref;
    } else {
        *map_get(&sessions->by_tail, tail->key) = ref;
    }
}

/* A place in the index for that key. */
static enum status key_put(struct coord_sessions *sessions, uint64_t key)
{
    return map_get(&sessions->by_tail, key) != NULL
               ? ST_OK
               : map_put(&sessions->by_tail, key, COORD_TAIL_NONE);
}

static void tail_set(struct coord_sessions *sessions,
                     struct coord_session *session,
                     uint32_t slot,
                     uint64_t key)
{
    struct coord_tail *tail = &session->tails[slot];
    *tail = (struct coord_tail){
        .key = key, .next = COORD_TAIL_NONE, .prev = COORD_TAIL_NONE, .is_used = true};
    if (session->text == NULL) {
        tail_link(sessions, tail, session->idx * COORD_TAIL_SLOTS + slot);
    }
}

/* The first request of a session without an id. */
static enum status open_tails(struct coord_sessions *sessions,
                              struct coord_session *session,
                              const struct coord_ends *ends)
{
    enum status st = key_put(sessions, ends->tail_key);
    if (st == ST_OK && ends->has_mark && (st = key_put(sessions, ends->mark_key)) != ST_OK &&
        *map_get(&sessions->by_tail, ends->tail_key) == COORD_TAIL_NONE) {
        (void)map_remove(&sessions->by_tail, ends->tail_key);
    }
    if (st != ST_OK) {
        return st;
    }
    tail_set(sessions, session, 0, ends->tail_key);
    if (ends->has_mark) {
        tail_set(sessions, session, COORD_TAIL_MARK, ends->mark_key);
    }
    session->opening_segments = ends->segments;
    session->newest = 0;
    return ST_OK;
}

enum status coord_sessions_advance(struct coord_sessions *sessions,
                                   struct coord_session *session,
                                   const struct coord_ends *ends)
{
    struct coord_tail *newest = &session->tails[session->newest];
    bool is_indexed = session->text == NULL;
    if (newest->is_used && newest->key == ends->tail_key) {
        return ST_OK;
    }
    if (!newest->is_used && is_indexed) {
        return open_tails(sessions, session, ends);
    }
    uint32_t slot = (session->newest + 1) % COORD_TAILS;
    struct coord_tail *tail = &session->tails[slot];
    if (is_indexed && key_put(sessions, ends->tail_key) != ST_OK) {
        return ST_NOMEM;
    }
    if (tail->is_used && !session->tails[COORD_TAIL_OPENING].is_used) {
        tail_keep(sessions, session, slot);
    } else if (is_indexed && tail->is_used) {
        tail_unlink(sessions, tail, tail->key == ends->tail_key);
    }
    tail_set(sessions, session, slot, ends->tail_key);
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
