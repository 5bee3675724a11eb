/* SPDX-License-Identifier: Apache-2.0 */
/* The all-in-one shape: coordinator core and node-agent core side by side, fed by the gateways of
 * one or more loops. With one loop both cores run inside it; with more they run in a loop and
 * thread of their own, behind mailboxes. THREAD: hub_new, hub_free and hub_add_lane before and
 * after the loops run; hub_ask any; the rest happens in the core's loop. LIMITS: HUB_LANES_MAX
 * loops; mailboxes sized by limits.requests. */
#ifndef CLI_HUB_H
#define CLI_HUB_H

#include "cli/hub_question.h"
#include "coordinator/io/front.h"

struct hub;

/* loop: where the cores run. is_inline: it is the one loop of the one gateway. cfg is borrowed
 * until hub_reload. */
MUST_CHECK enum status hub_new(
    struct hub **ret, struct loop *loop, bool is_inline, const struct config *cfg, struct err *err);
void hub_free(struct hub *hub);
/* Announces the gateway of loop idx (0, 1, ...) and fills the port it posts to. The front is made
 * after this and told by hub_set_front. ST_NOMEM, ST_IO. */
MUST_CHECK enum status
hub_add_lane(struct hub *hub, struct loop *loop, struct front_port *ret_port);
void hub_set_front(struct hub *hub, uint32_t idx, struct front *front);

/* Asks from another thread; done (may be NULL) follows exactly once after ST_OK. ST_BUSY, ST_NOMEM,
 * ST_INVAL (key file). */
MUST_CHECK enum status hub_ask(struct hub *hub,
                               const struct hub_question *question,
                               hub_done_fn done,
                               void *ctx,
                               struct err *err);
/* The same from the core's own thread, before loop_run. */
MUST_CHECK enum status
hub_answer(struct hub *hub, const struct hub_question *question, struct buf *out, struct err *err);

/* Requests not yet ended in all gateways, as of up to 100 ms ago. THREAD: any. */
uint32_t hub_in_flight(const struct hub *hub);
/* Monotonic time of the core's last tick, us. THREAD: any. */
uint64_t hub_ticked_at_us(const struct hub *hub);
bool hub_is_ready(const struct hub *hub);

#endif
