/* SPDX-License-Identifier: Apache-2.0 */
/* What may be asked of the hub.
 * THREAD: any (plain data). */
#ifndef CLI_HUB_QUESTION_H
#define CLI_HUB_QUESTION_H

#include "common/base/config.h"
#include "common/base/err.h"
#include "coordinator/core/core.h"
#include "coordinator/io/workflow_read.h"

enum { HUB_LANES_MAX = 64 };

/* What other threads may want; each is answered from the core's loop. */
enum hub_ask_kind {
    HUB_ASK_STATUS,        /* -> JSON */
    HUB_ASK_ENGINES,       /* -> JSON */
    HUB_ASK_SESSIONS,      /* -> JSON */
    HUB_ASK_SESSION,       /* text = label, format -> JSON, DOT or SVG */
    HUB_ASK_RELEASE,       /* text = label of a session */
    HUB_ASK_WORKFLOWS,     /* -> JSON */
    HUB_ASK_WORKFLOW,      /* text = id -> JSON */
    HUB_ASK_DECLARE,       /* workflow -> JSON */
    HUB_ASK_DROP_WORKFLOW, /* text = id */
    HUB_ASK_RECEIPT,       /* text = request name -> JSON */
    HUB_ASK_ADD_ENGINE,    /* engine */
    HUB_ASK_REMOVE_ENGINE, /* text = name */
    HUB_ASK_METRICS,       /* brings the metrics up to date */
    HUB_ASK_RELOAD,        /* cfg */
    HUB_ASK_DRAIN,         /* gateways stop accepting */
};

struct hub_question {
    enum hub_ask_kind kind;
    struct str text;                    /* <= COORD_SESSION_MAX bytes */
    enum coord_session_format format;   /* HUB_ASK_SESSION */
    struct workflow_doc *workflow;      /* taken over by hub_ask, whatever comes of it */
    const struct config_engine *engine; /* strings are copied */
    const struct config *cfg;           /* HUB_ASK_RELOAD: borrowed from then on */
};

/* The answer, in the core's thread. ST_CLOSED: the hub ends; whoever asked may be gone already. */
typedef void (*hub_done_fn)(void *ctx, enum status st, const struct err *err, struct buf *out);

#endif
