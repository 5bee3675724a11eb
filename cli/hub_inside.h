/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the hub. THREAD: the core's loop, but for the mailboxes. */
#ifndef CLI_HUB_INSIDE_H
#define CLI_HUB_INSIDE_H

#include "cli/hub_question.h"
#include "common/rt/mailbox.h"
#include "common/rt/secret.h"
#include "coordinator/core/core.h"
#include "coordinator/io/front.h"
#include "node_agent/core/core.h"

#include <stdatomic.h>
#include <stdio.h>

/* A command for a gateway, without borrowed pointers. */
enum hub_cmd_kind {
    HUB_CMD_PLACED,
    HUB_CMD_START,
    HUB_CMD_REFUSE,
    HUB_CMD_PROBE,
    HUB_CMD_KIND,
    HUB_CMD_MODELS,
    HUB_CMD_ADD_ENGINE,
    HUB_CMD_REMOVE_ENGINE,
    HUB_CMD_RELOAD,
    HUB_CMD_DRAIN,
};

/* A NUL-terminated text on the heap, owned; zeroed = none. */
struct hub_text {
    char *p;
    size_t bytes; /* with the NUL */
};

struct hub_cmd {
    enum hub_cmd_kind kind;
    struct request_id req;
    struct engine_id engine;
    uint32_t attempt;
    struct front_refusal refusal;
    enum coord_engine_kind engine_kind;
    bool flag;                /* PROBE: wants models; MODELS: ready */
    const struct config *cfg; /* RELOAD */
    struct hub_text text;     /* PLACED: session; MODELS: JSON */
    struct hub_text receipt;  /* PLACED: empty = not asked for */
    struct hub_engine *entry; /* ADD_ENGINE: counted */
};

/* An engine of the fleet, shared with the gateways that are being told of it. */
struct hub_engine {
    _Atomic uint32_t refs;
    struct tls_ctx *tls; /* the hub's, NULL = plain */
    struct engine_id id;
    struct config_engine cfg; /* strings below */
    char name[64];
    char url[1024];
    char key_file[1024];
    char key[SECRET_BYTES];
};

struct hub_lane {
    struct hub *hub;
    struct loop *loop;
    struct front *front;
    uint32_t idx;
    struct mailbox *commands;  /* NULL when inline */
    struct loop_source source; /* of that mailbox, in the lane's loop */
    struct loop_timer timer;   /* publishes in_flight */
    _Atomic uint32_t in_flight;
};

/* A question on its way to the core. */
struct hub_ask_state {
    hub_done_fn done;
    void *ctx;
    struct hub_question question;
    struct buf out;
    struct hub_engine *engine; /* counted, NULL = none */
    char text[COORD_SESSION_MAX + 1];
};

/* What the core's mailbox carries. */
struct hub_msg {
    struct coord_event *event; /* heap, owned */
    size_t event_bytes;        /* of that block */
    struct hub_ask_state *ask; /* heap, owned */
};

/* What the core was last told, for the report of a failed assertion. */
struct hub_recent {
    enum coord_event_kind kind;
    uint64_t subject; /* request or engine id, 0 = none */
    uint64_t at_us;
};

enum { HUB_RECENT_COUNT = 64, HUB_SEED = 1 };

struct hub {
    struct loop *loop;
    bool is_inline;
    const struct config *cfg;
    struct coord_core *coord;
    struct agent_core *agent;
    struct hub_lane lanes[HUB_LANES_MAX];
    uint32_t lane_count;
    struct mailbox *inbox;
    struct loop_source inbox_source;
    struct loop_timer tick;
    struct loop_job job;   /* runs queued commands (inline) */
    struct hub_cmd *queue; /* inline: [queue_count] */
    uint32_t queue_count;
    uint32_t queue_cap;
    struct tls_ctx *tls;         /* for https engines, made with the first one */
    struct hub_engine **engines; /* [engine_count] */
    uint32_t engine_count;
    uint32_t engine_cap;
    uint32_t next_engine;
    _Atomic uint64_t ticked_at_us;
    _Atomic bool is_ready;
    uint64_t published_print; /* hash of the models and readiness that the gateways know */
    uint32_t tick_count;
    struct hub_recent recent[HUB_RECENT_COUNT];
    uint64_t recent_count; /* ever noted */
    _Atomic bool is_draining;
    void (*apply_config)(struct hub *hub, const struct config *cfg);
    FILE *record; /* NULL = off */
};

/* Runs one event through the cores and queues what they want (hub_core.c). Returns what the
 * coordinator's core said; its refusals are logged. */
enum status hub_handle(struct hub *hub, const struct coord_event *ev);
/* The node goes by this policy and its numbers from now on. */
void hub_handle_policy(struct hub *hub, const struct config *cfg);
void hub_handle_tick(struct hub *hub);
/* Writes what the core was given, for replay; nothing when nothing is recorded. */
void hub_record_limits(struct hub *hub, const struct coord_limits *limits);
/* Answers a question and lets go of it (hub_ask.c). */
void hub_settle_ask(struct hub *hub, struct hub_ask_state *ask);
/* The hub ends before it could answer. */
void hub_drop_ask(struct hub_ask_state *ask);
/* Deep copy in one block of *ret_bytes; NULL without memory. */
struct coord_event *hub_event_clone(const struct coord_event *ev, size_t *ret_bytes);
/* Remembers an event; hub_recent_print (an assert hook: allocates nothing) writes them to standard
 * error. */
void hub_recent_note(struct hub *hub, const struct coord_event *ev);
void hub_recent_print(void *ctx);
/* Copy of a text; stays zeroed without memory. */
struct hub_text hub_text_copy(const char *text);
/* Queues a command for one gateway, taking over its heap parts (hub_cmd.c). */
void hub_send(struct hub *hub, uint32_t lane, struct hub_cmd *cmd);
/* Carries out a command in the gateway's own loop and frees its parts. */
void hub_cmd_run(struct front *front, struct hub_cmd *cmd);
void hub_cmd_drop(struct hub_cmd *cmd);
void hub_engine_unref(struct hub_engine *engine);
/* Models and readiness as the core has them now, to all gateways. */
void hub_publish(struct hub *hub);

#endif
