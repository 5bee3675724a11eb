/* SPDX-License-Identifier: Apache-2.0 */
/* Misbehaviour on request, for tests of whoever talks to an engine.
 *
 *   delay=MS        the request is looked at MS later
 *   stall           never answers, not even a head
 *   stall-after=N   sends N tokens (body bytes when not streaming), then nothing more
 *   error=STATUS    answers with this HTTP status (400..599)
 *   reset-after=N   cuts the connection after N tokens (body bytes); 0 = before the head
 *   short-body      sends half of the body it announced; a stream lacks its last chunk
 *   no-done         a stream lacks [DONE], message_stop or response.completed
 *   garbage         the body is no JSON; a stream has a broken event after its first token
 *
 * Several are separated by commas.
 *
 * THREAD: any. */
#ifndef SIMULATOR_WORKER_FAULT_H
#define SIMULATOR_WORKER_FAULT_H

#include "common/base/err.h"
#include "common/base/str.h"

#define SIM_FAULT_NEVER UINT64_MAX

struct sim_fault {
    uint64_t delay_ms;
    uint64_t stall_after; /* tokens or body bytes; SIM_FAULT_NEVER = off */
    uint64_t reset_after;
    int error_status; /* 0 = off */
    bool is_stalled;
    bool is_short;
    bool lacks_done;
    bool is_garbage;
};

void sim_fault_init(struct sim_fault *fault);
/* Adds what text asks for. ST_INVAL names the word that is wrong. */
MUST_CHECK enum status sim_fault_parse(struct sim_fault *fault, struct str text, struct err *err);

#endif
