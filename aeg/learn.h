/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to a session, counted: steps, and the gaps between them. The caller tells events in
 * the order in which they happen to that session; anything else is harmless but teaches nonsense.
 * PURE. THREAD: one owner. OWNERSHIP: sessions are the caller's storage and hold nothing.
 * LIMITS: aeg_limits. */
#ifndef AEG_LEARN_H
#define AEG_LEARN_H

#include "aeg/class.h"

enum {
    AEG_LEVELS = 3,      /* global, tenant, class */
    AEG_RECENT = 16,     /* gaps that a session itself remembers */
    AEG_TOOLS_MAX = 16,  /* of one step that are looked at */
    AEG_BIN_NONE = 0xff, /* not observed */
};

struct aeg {
    struct aeg_table table;
    bool is_frozen;      /* sessions go on, nothing more is counted of them; the caller's to set */
    uint64_t step_count; /* observed, as below */
    uint64_t gap_count;
    uint64_t censored_count;
    uint64_t session_count; /* ended */
    uint64_t lost_count;    /* observations whose class had no place, or lost it in between */
};

/* Finds a node or a cell again, or finds that it was forgotten. */
struct aeg_ref {
    uint32_t idx;
    uint32_t serial; /* 0 = none */
};

struct aeg_recent {
    uint16_t kind; /* low bits */
    uint8_t wait_bin;
    uint8_t fresh_bin;
    uint8_t out_bin;
};

struct aeg_session {
    struct aeg_key key;
    uint64_t kind; /* of the gap that is open or was the last; AEG_KIND_START before */
    uint64_t gap_from_us;
    uint64_t mark_at_us; /* when the open gap was last counted as censored */
    uint32_t step_count;
    uint32_t context_tokens; /* that the next step may reuse */
    float service_sum_s;
    struct aeg_ref nodes[AEG_LEVELS];
    struct aeg_ref any[AEG_LEVELS];   /* cells of all kinds */
    struct aeg_ref cells[AEG_LEVELS]; /* cells of `kind` */
    struct aeg_recent recent[AEG_RECENT];
    uint8_t recent_count;
    uint8_t recent_at; /* of the gap opened last */
    uint8_t mark_bin;
    bool is_marked;
    bool is_gap_open;
};

struct aeg_step {
    uint32_t new_tokens; /* of the prompt, not in the prompt and answer before */
    uint32_t out_tokens;
    uint32_t context_tokens; /* prompt + output */
    uint64_t service_us;     /* work of an engine, waiting not counted */
};

/* As aeg_table_init. */
MUST_CHECK enum status
aeg_init(struct aeg *aeg, const struct mem *mem, const struct aeg_limits *limits);
void aeg_fini(struct aeg *aeg);

/* A session's first request has come. ST_OK; ST_FULL or ST_NOMEM: the levels that found no place
 * teach and tell nothing, the session is usable all the same. */
MUST_CHECK enum status aeg_observe_start(struct aeg *aeg,
                                         struct aeg_session *session,
                                         const struct aeg_key *key,
                                         uint64_t now_us);

/* A step ended. */
void aeg_observe_step(struct aeg *aeg,
                      struct aeg_session *session,
                      const struct aeg_step *step,
                      uint64_t now_us);

/* The step's answer is out and the client is to come back: with the results of these tools, or,
 * with none, after an answer to a person. Of several tools the one that is slowest so far decides
 * the kind. Names are untrusted bytes, cut at AEG_NAME_BYTES when kept. As aeg_observe_start. */
MUST_CHECK enum status aeg_observe_gap_opened(struct aeg *aeg,
                                              struct aeg_session *session,
                                              const struct str *tools,
                                              size_t tool_count,
                                              uint64_t now_us);
/* The open gap turns out to have been after these tools, as the next request's results tell. Comes
 * before aeg_observe_gap_closed: it is counted there, as this kind and no longer as what it was
 * opened as. Nothing happens when no gap is open or the kind is the same. As
 * aeg_observe_gap_opened. */
MUST_CHECK enum status aeg_observe_gap_named(struct aeg *aeg,
                                             struct aeg_session *session,
                                             const struct str *tools,
                                             size_t tool_count,
                                             uint64_t now_us);
/* The open gap's length is to teach nothing: as if it had never been open. The sizes of the next
 * step still count. Nothing happens when no gap is open. */
void aeg_observe_gap_dropped(struct aeg *aeg, struct aeg_session *session);
/* The next request has come. */
void aeg_observe_gap_closed(struct aeg *aeg, struct aeg_session *session, uint64_t now_us);
/* The gap is still open now: right-censored here. May be told again and again; the latest counts,
 * and a return takes it back. */
void aeg_observe_gap_censored(struct aeg *aeg, struct aeg_session *session, uint64_t now_us);
/* No step follows (is_complete), or none that we would see. An open gap is censored now. */
void aeg_observe_end(struct aeg *aeg,
                     struct aeg_session *session,
                     bool is_complete,
                     uint64_t now_us);

/* The node or cell behind a ref, NULL when it was forgotten. */
struct aeg_node *aeg_ref_node(const struct aeg *aeg, struct aeg_ref ref);
struct aeg_cell *aeg_ref_cell(const struct aeg *aeg, struct aeg_ref ref);

#endif
