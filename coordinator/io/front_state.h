/* SPDX-License-Identifier: Apache-2.0 */
/* What a gateway holds: itself, and each client request (its body, its attempt on an engine, its
 * answer). Internal to coordinator/io. THREAD: reactor. OWNERSHIP: a step belongs to its front from
 * step_take until the exchange's on_close. */
#ifndef COORDINATOR_IO_FRONT_STATE_H
#define COORDINATOR_IO_FRONT_STATE_H

#include "common/base/map.h"
#include "common/io/reactor/http_server.h"
#include "coordinator/io/body.h"
#include "coordinator/io/body_pool.h"
#include "coordinator/io/errors.h"
#include "coordinator/io/fleet_io.h"
#include "coordinator/io/front_port.h"
#include "coordinator/io/sse.h"

enum step_state {
#define X(state, is_initial, is_final, next) STEP_##state,
#include "coordinator/io/step_state.def"
#undef X
};

struct front {
    struct loop *loop;
    const struct config *cfg;
    struct front_port port;
    uint8_t loop_idx;
    struct tls_ctx *server_tls;
    struct http_server *server;
    struct http_client *client;
    struct fleet_io fleet;
    struct body_parser *parser;
    struct map by_req; /* request id -> struct step * */
    struct list steps;
    struct list probes;
    uint64_t next_req;
    uint64_t name_seed;
    char error_name[COORD_NAME_MAX + 1]; /* of the refusal being written */
    struct body_pool bodies;
    struct buf spare_out; /* filtered bytes of one read */
    struct buf models;    /* JSON of /v1/models */
    uint32_t step_count;
    struct http_server_counters told_server; /* what the metrics have been told */
    struct http_client_counters told_client;
    bool is_ready;
    bool is_draining;
};

/* A place of the request's body that an engine gets in another form. */
struct step_edit {
    size_t at;
    size_t cut;      /* bytes left out there */
    struct str text; /* bytes put there instead */
};

struct step {
    struct list link; /* in front->steps */
    struct front *front;
    struct http_exchange *ex;
    struct http_call *call;  /* NULL when no attempt is open */
    struct loop_timer timer; /* keep-alive comments */
    struct request_id req;
    struct engine_id engine;
    uint32_t attempt;
    enum coord_route route;
    enum step_state state;
    uint64_t arrived_at_us; /* head of the request */
    uint64_t waited_at_us;  /* body complete, with the core */
    uint64_t active_at_us;  /* last byte written to the client */
    struct buf body;        /* request body; freed when the engine has it and has begun to answer */
    struct buf head;        /* request head sent to the engine */
    struct buf fields;      /* answer's header lines not yet given to the client */
    struct buf kept; /* HELD: body of the held answer; else JSON answer kept to read usage from */
    struct buf receipt;       /* NUL-terminated when not empty */
    struct sse_reader reader; /* its facts are the answer's, whatever form that has */
    struct sse_filter filter;
    int64_t answer_length;
    struct step_edit usage;   /* asks for usage in the client's stead */
    struct step_edit billing; /* takes the billing block out, for engines that it does not suit */
    uint16_t answer_status;   /* of the engine */
    uint16_t client_status;   /* what the client was told, 0 = nothing yet */
    bool is_stream;           /* the client asked for one */
    bool is_injected;         /* we asked for usage in its stead */
    bool is_sse;              /* the answer is an event stream */
    bool is_plain_json;       /* the answer can be read for usage */
    bool is_known;            /* the core has it: exactly one of DONE, GONE, REFUSE ends that */
    bool is_body_out;         /* a byte of an answer's body has reached the client */
    bool is_held_whole;       /* HELD: the answer came whole */
    bool is_counted_stream;   /* in the streams gauge */
    bool is_cut;              /* broke off after bytes had reached the client */
    char name[COORD_NAME_MAX + 1];
    char session[COORD_SESSION_MAX + 1];
    char told_session[COORD_SESSION_MAX + 1]; /* x-session-id to add for the engine, "" = none */
};

#endif
