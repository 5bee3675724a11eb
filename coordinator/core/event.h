/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the coordinator's core (events) and what it wants done (effects). Plain data:
 * pointers are borrowed for the call (events) or until the next core_step (effects); a recorded
 * log writes what they point to.
 * PURE. */
#ifndef COORDINATOR_CORE_EVENT_H
#define COORDINATOR_CORE_EVENT_H

#include "aeg/spec.h"
#include "common/base/ids.h"
#include "routing/gate.h"

enum coord_route {
    COORD_ROUTE_CHAT,
    COORD_ROUTE_COMPLETIONS,
    COORD_ROUTE_RESPONSES,
    COORD_ROUTE_MESSAGES,
    COORD_ROUTE_COUNT_TOKENS
};

/* How a step ended. */
enum coord_outcome {
    COORD_OUTCOME_OK,           /* 2xx, complete */
    COORD_OUTCOME_CLIENT_ERROR, /* engine answered 4xx (or 3xx): says nothing about its health */
    COORD_OUTCOME_ENGINE_ERROR, /* engine answered 5xx, or a stream that was an error or empty */
    COORD_OUTCOME_CUT,          /* engine vanished after body bytes had reached the client */
    COORD_OUTCOME_GONE,         /* client left */
};

/* Why an attempt failed before a body byte reached the client. */
enum coord_fail {
    COORD_FAIL_CONNECT,    /* never reached the engine: surely not executed */
    COORD_FAIL_OVERLOADED, /* our own descriptor or memory limit */
    COORD_FAIL_STATUS,     /* engine answered 502/503/other 5xx that may be tried elsewhere */
    COORD_FAIL_DIED,       /* closed, reset or malformed: may have been executed */
    COORD_FAIL_TIMEOUT,    /* first-byte time-out: the engine may still be at it */
};

enum coord_engine_kind {
    COORD_ENGINE_UNKNOWN,
    COORD_ENGINE_VLLM,
    COORD_ENGINE_SGLANG,
    COORD_ENGINE_TRTLLM,
    COORD_ENGINE_LLAMACPP,
    COORD_ENGINE_OPENAI,
    COORD_ENGINE_SIM
};

enum coord_event_kind {
    COORD_EV_STEP_ARRIVED,  /* a request was read and understood */
    COORD_EV_STEP_STARTED,  /* the node released it: it is being sent to the engine */
    COORD_EV_STEP_ANSWERED, /* the engine's head arrived */
    COORD_EV_STEP_DONE,     /* over; exactly one of DONE or GONE (or a REFUSE effect) ends a step */
    COORD_EV_STEP_GONE,     /* client left before an end */
    COORD_EV_ATTEMPT_FAILED, /* this attempt is over, the step is not: answered SUBMIT or REFUSE */
    COORD_EV_NODE_REFUSED,   /* queue full there, or waited too long: answered SUBMIT or REFUSE */
    COORD_EV_ENGINE_ADDED,
    COORD_EV_ENGINE_REMOVED,   /* drained: running steps end, nothing new */
    COORD_EV_ENGINE_PROBED,    /* result of a PROBE effect */
    COORD_EV_SESSION_RELEASED, /* an operator has it forgotten, at once or when its steps have ended
                                */
    COORD_EV_WORKFLOW_DECLARED, /* an operator or a program says what a task will do */
    COORD_EV_WORKFLOW_DROPPED,  /* forgotten; sessions that have it keep it */
    COORD_EV_TICK,              /* every 100 ms or so */
};

/* Why an answer ended, as the engine said. */
enum coord_finish {
    COORD_FINISH_NONE, /* not said */
    COORD_FINISH_STOP,
    COORD_FINISH_LENGTH,
    COORD_FINISH_TOOLS,
    COORD_FINISH_OTHER,
};

/* What the client says about the step beside whose it is; 0 and "" = not said. */
struct coord_hints {
    struct str class_hint; /* kind of agent */
    struct str step_hint;  /* name of the step or turn */
    int32_t priority;      /* higher is more urgent */
    uint32_t output_tokens;
    uint64_t deadline_us;  /* from arrival */
    uint64_t retention_us; /* how long its cache is worth keeping */
    bool is_final;         /* last step of the session */
    bool expects_resume;
};

struct coord_step_arrived {
    struct request_id req;
    struct str name;    /* x-request-id, <= 128 bytes, printable */
    struct str tenant;  /* scope of the session id; "" until tenants exist */
    struct str session; /* id the client sent, <= 256 bytes; "" = infer from the chain */
    struct str schema;  /* the way it was said (identity.def), "" = not */
    struct str parent;  /* session that started it, <= 256 bytes; "" = a root, or not known */
    struct str branch;  /* its name inside the client's session, "" = the root there */
    struct coord_hints hints;
    struct str model; /* as asked for, <= 256 bytes */
    enum coord_route route;
    /* The prompt chain (docs/formulas.md#F1), three arrays [chain_count]: hashes from first to
     * last, prompt bytes up to and with each boundary (ascending), and 1 = end of a message (or of
     * tools or system), 0 = inside a long one. */
    const uint64_t *chain;
    const uint32_t *chain_bytes;
    const uint8_t *chain_is_end;
    uint32_t chain_count;       /* <= COORD_CHAIN_MAX */
    uint32_t prompt_bytes;      /* canonical prompt bytes */
    uint32_t max_output_tokens; /* 0 = not said */
    bool is_stream;
    /* Names of the tools whose results this prompt ends with, as the client sent them back: any
     * bytes, [tool_count] <= COORD_TOOLS_MAX, each cut at COORD_TOOL_BYTES. */
    const struct str *tools;
    uint32_t tool_count;
    /* Of tools and system prompt (docs/formulas.md#F11); 0 = there are none. */
    uint64_t opening;        /* chain hash at their end */
    uint64_t opening_sketch; /* prompts that read alike differ in few bits */
};

struct coord_step_done {
    struct request_id req;
    enum coord_outcome outcome;
    uint16_t http_status; /* what the engine answered */
    bool has_usage;       /* the three counts below are from the engine */
    uint32_t prompt_tokens;
    uint32_t cached_tokens;
    uint32_t output_tokens;
    enum coord_finish finish;
    const struct str *tools; /* [tool_count] called by the answer; as in coord_step_arrived */
    uint32_t tool_count;
};

struct coord_attempt_failed {
    struct request_id req;
    uint32_t attempt;
    enum coord_fail why;
    uint16_t http_status; /* COORD_FAIL_STATUS: the engine's status, else 0 */
};

struct coord_engine_added {
    struct engine_id engine;
    struct str name;      /* <= 63 bytes, unique among live engines */
    uint32_t max_running; /* steps sent to it at a time */
    uint32_t kv_tokens;   /* of its KV memory; 0 = not known */
};

struct coord_engine_probed {
    struct engine_id engine;
    bool is_up; /* /health (or /v1/models) answered 2xx in time */
    enum coord_engine_kind kind;
    const struct str *models; /* [model_count] ids it serves; NULL = this probe did not ask */
    uint32_t model_count;
};

struct coord_workflow_declared {
    struct str tenant;
    struct str id; /* of the sessions that it is for, 1 to COORD_SESSION_MAX bytes */
    struct aeg_spec_input spec;
};

struct coord_event {
    enum coord_event_kind kind;
    union {
        struct coord_step_arrived arrived;
        struct {
            struct request_id req;
            uint32_t attempt;
            struct engine_id engine; /* its node may have chosen another one; ENGINE_NONE = as
                                        placed */
        } started;
        struct {
            struct request_id req;
            uint32_t attempt;
            uint16_t http_status;
        } answered;
        struct coord_step_done done;
        struct {
            struct request_id req;
        } gone;
        struct coord_attempt_failed failed;
        struct {
            struct request_id req;
            uint32_t attempt;
            bool is_timeout;
        } node_refused;
        struct coord_engine_added engine_added;
        struct {
            struct engine_id engine;
        } engine_removed;
        struct coord_engine_probed engine_probed;
        struct {
            struct str label; /* as coord_session_label gives it; all sessions that have it */
        } released;
        struct coord_workflow_declared workflow;
        struct {
            struct str tenant;
            struct str id;
        } workflow_dropped;
    } u;
};

enum coord_refuse {
    COORD_REFUSE_NO_ENGINE,  /* 503 no_engine, Retry-After */
    COORD_REFUSE_NO_HEALTHY, /* 503 no_healthy_engine, Retry-After */
    COORD_REFUSE_NO_MODEL,   /* 404 model_not_found (only once every engine has told its models) */
    COORD_REFUSE_QUEUE_FULL, /* 503 queue_full, Retry-After */
    COORD_REFUSE_QUEUE_TIMEOUT, /* 503 queue_timeout, Retry-After */
    COORD_REFUSE_LIMIT,         /* 503 overloaded: a table here is full */
    COORD_REFUSE_FAILED, /* last attempt failed and none is left: relay what is known (502/504) */
};

enum coord_effect_kind {
    COORD_EF_SUBMIT,   /* hand the step to the node of this engine */
    COORD_EF_REFUSE,   /* end the step with an error */
    COORD_EF_WITHDRAW, /* tell the node: forget this waiting step */
    COORD_EF_PROBE,    /* ask the engine: health, and models/kind when wants_models */
    COORD_EF_SETTLED,  /* the node's slot for this step is free again (step or attempt over) */
};

struct coord_receipt;

struct coord_effect {
    enum coord_effect_kind kind;
    union {
        struct {
            struct request_id req;
            struct engine_id engine;
            uint32_t attempt;                    /* 1 = first */
            struct gate_need need;               /* for the node */
            const char *session;                 /* label for x-saga-session, NUL-terminated */
            const struct coord_receipt *receipt; /* receipt.h renders it */
        } submit;
        struct {
            struct request_id req;
            enum coord_refuse why;
            uint32_t retry_after_s;    /* 0 = none */
            enum coord_fail last_fail; /* COORD_REFUSE_FAILED */
            uint16_t last_status;      /* COORD_REFUSE_FAILED with COORD_FAIL_STATUS */
        } refuse;
        struct {
            struct request_id req;
            struct engine_id engine;
            uint32_t attempt;
        } withdraw;
        struct {
            struct engine_id engine;
            bool wants_models;
        } probe;
        struct {
            struct request_id req;
            struct engine_id engine;
            uint32_t attempt;
            struct gate_usage usage; /* for the node */
        } settled;
    } u;
};

/* Effects of one step, in order. Valid until the next core_step. */
struct coord_effects {
    struct coord_effect *items; /* [count] */
    uint32_t count;
    uint32_t cap;
};

enum {
    COORD_CHAIN_MAX = 4096,
    COORD_SESSION_MAX = 256,
    COORD_MODEL_MAX = 256,
    COORD_NAME_MAX = 128,
    COORD_TOOLS_MAX = 16,
    COORD_TOOL_BYTES = 64,
};

#endif
