/* SPDX-License-Identifier: Apache-2.0 */
/* A coordinator core with short ways to say what happens to it, for its tests.
 * THREAD: one. */
#ifndef TESTS_UNIT_COORDINATOR_CORE_DESK_H
#define TESTS_UNIT_COORDINATOR_CORE_DESK_H

#include "coordinator/core/core.h"
#include "coordinator/core/receipts.h"
#include "coordinator/core/session.h"
#include "tests/kit/kit.h"

enum { TALK_MAX = 256 };

/* A prompt as its chain: grows by saying things. */
struct talk {
    uint64_t chain[TALK_MAX];
    uint32_t bytes[TALK_MAX];
    uint8_t is_end[TALK_MAX];
    uint32_t count;
};

void talk_begin(struct talk *talk);
/* Adds a message of that many bytes. */
void talk_say(struct talk *talk, const char *text, uint32_t bytes);

struct desk {
    struct kit_mem km;
    struct coord_core *core;
    const struct coord_effects *effects; /* of the last event */
    uint64_t now_us;
    uint64_t last_req;
    const char *parent; /* session that starts those of the next arrivals; NULL = none */
    uint64_t opening;   /* of the next arrivals */
    const char *result; /* tool whose result the next arrivals end with; NULL = none */
    const char *agent;  /* class hint of the next arrivals; NULL = none */
    bool is_final;      /* of the next arrivals */
    enum status st;     /* of the last event */
};

struct coord_limits desk_limits(void);
void desk_open(struct desk *desk, const struct coord_limits *limits);
/* Ends everything and expects no memory to be held. */
void desk_close(struct desk *desk);

void desk_event(struct desk *desk, const struct coord_event *ev);
void desk_add(struct desk *desk, uint32_t engine);
/* A probe's answer; model NULL = it did not ask. */
void desk_probed(struct desk *desk, uint32_t engine, bool is_up, const char *model);
/* Engines 1..count, up, serving "m". */
void desk_fleet(struct desk *desk, uint32_t count);

/* A step of model "m" arrives; either may be NULL. Returns its id. */
uint64_t desk_arrive(struct desk *desk, const char *session, const struct talk *talk);
/* Same for another model and route. */
uint64_t desk_arrive_as(struct desk *desk,
                        const char *session,
                        const struct talk *talk,
                        const char *model,
                        enum coord_route route);
void desk_start(struct desk *desk, uint64_t req, uint32_t attempt);
void desk_answer(struct desk *desk, uint64_t req, uint32_t attempt);
void desk_done(struct desk *desk, uint64_t req, enum coord_outcome outcome);
/* Ends well, by a call of this tool (NULL: with an answer). */
void desk_done_by(struct desk *desk, uint64_t req, const char *tool);
void desk_gone(struct desk *desk, uint64_t req);
void desk_fail(
    struct desk *desk, uint64_t req, uint32_t attempt, enum coord_fail why, uint16_t http_status);
void desk_node_refuses(struct desk *desk, uint64_t req, uint32_t attempt, bool is_timeout);
void desk_remove(struct desk *desk, uint32_t engine);
void desk_tick(struct desk *desk, uint64_t later_us);

/* The n-th effect of that kind (0 = first) of the last event, NULL when there is none. */
const struct coord_effect *
desk_effect(const struct desk *desk, enum coord_effect_kind kind, uint32_t n);
/* Engine of the only SUBMIT of the last event; fails the test when there is none. */
uint32_t desk_sent_to(const struct desk *desk);
/* Label of the session that the only SUBMIT of the last event is in. */
void desk_label(const struct desk *desk, char ret[static COORD_LABEL_BYTES]);
/* Sessions born so far. */
uint64_t desk_born(const struct desk *desk);
/* The last event refused for this reason. */
void desk_expect_refused(const struct desk *desk, enum coord_refuse why);
/* A whole step: arrives, starts, answers, ends well. Returns the engine. */
uint32_t desk_whole_step(struct desk *desk, const char *session, const struct talk *talk);
/* The value of an engine's numeric field in the report. */
double desk_engine_number(const struct desk *desk, uint32_t engine, const char *field);
/* State text of an engine in the report; "" when it is not listed. Valid until the next call. */
const char *desk_engine_state(const struct desk *desk, uint32_t engine);

#endif
