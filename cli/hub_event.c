/* SPDX-License-Identifier: Apache-2.0 */
/* Deep copies of events, for the way from a gateway's loop to the core's, and the memory of the
 * last ones. */
#include "cli/hub_inside.h"

#include <unistd.h>

/* Bytes behind the event that a copy needs; the same walk then places them. */
struct copier {
    char *at; /* NULL = only count */
    size_t bytes;
};

static const void *put(struct copier *copier, const void *src, size_t len, size_t align)
{
    copier->bytes = (copier->bytes + align - 1) & ~(align - 1);
    void *place = copier->at == NULL ? NULL : copier->at + copier->bytes;
    if (place != NULL && len > 0) {
        memcpy(place, src, len);
    }
    copier->bytes += len;
    return place;
}

static void put_str(struct copier *copier, struct str *s)
{
    const char *place = put(copier, s->p, s->len, 1);
    if (copier->at != NULL) {
        s->p = place;
    }
}

/* An array of strings, and what they point to. */
static void put_strs(struct copier *copier, const struct str **strs, uint32_t count)
{
    const struct str *copies = put(copier, *strs, count * sizeof(*copies), sizeof(void *));
    for (uint32_t i = 0; i < count; i++) {
        struct str item = (*strs)[i];
        put_str(copier, &item);
        if (copier->at != NULL) {
            memcpy((char *)(uintptr_t)&copies[i], &item, sizeof(item));
        }
    }
    if (copier->at != NULL) {
        *strs = copies;
    }
}

static void copy_arrived(struct copier *copier, struct coord_step_arrived *ev)
{
    size_t n = ev->chain_count;
    const void *chain = put(copier, ev->chain, n * sizeof(*ev->chain), sizeof(*ev->chain));
    const void *bytes =
        put(copier, ev->chain_bytes, n * sizeof(*ev->chain_bytes), sizeof(*ev->chain_bytes));
    const void *ends = put(copier, ev->chain_is_end, n, 1);
    if (copier->at != NULL) {
        ev->chain = chain;
        ev->chain_bytes = bytes;
        ev->chain_is_end = ends;
    }
    put_str(copier, &ev->name);
    put_str(copier, &ev->tenant);
    put_str(copier, &ev->session);
    put_str(copier, &ev->schema);
    put_str(copier, &ev->parent);
    put_str(copier, &ev->branch);
    put_str(copier, &ev->hints.class_hint);
    put_str(copier, &ev->hints.step_hint);
    put_str(copier, &ev->model);
    put_strs(copier, &ev->tools, ev->tool_count);
}

static void copy_probed(struct copier *copier, struct coord_engine_probed *ev)
{
    if (ev->models != NULL) {
        put_strs(copier, &ev->models, ev->model_count);
    }
}

static void walk(struct copier *copier, struct coord_event *ev)
{
    switch (ev->kind) {
    case COORD_EV_STEP_ARRIVED:
        copy_arrived(copier, &ev->u.arrived);
        break;
    case COORD_EV_ENGINE_ADDED:
        put_str(copier, &ev->u.engine_added.name);
        break;
    case COORD_EV_ENGINE_PROBED:
        copy_probed(copier, &ev->u.engine_probed);
        break;
    case COORD_EV_STEP_DONE:
        put_strs(copier, &ev->u.done.tools, ev->u.done.tool_count);
        break;
    case COORD_EV_SESSION_RELEASED:
        put_str(copier, &ev->u.released.label);
        break;
    case COORD_EV_STEP_STARTED:
    case COORD_EV_STEP_ANSWERED:
    case COORD_EV_STEP_GONE:
    case COORD_EV_ATTEMPT_FAILED:
    case COORD_EV_NODE_REFUSED:
    case COORD_EV_ENGINE_REMOVED:
    case COORD_EV_WORKFLOW_DECLARED: /* made in the core's own loop (hub_ask.c) */
    case COORD_EV_WORKFLOW_DROPPED:
    case COORD_EV_TICK:
        break;
    }
}

struct coord_event *hub_event_clone(const struct coord_event *ev, size_t *ret_bytes)
{
    struct coord_event scratch = *ev;
    struct copier counter = {0};
    walk(&counter, &scratch);
    *ret_bytes = sizeof(*ev) + counter.bytes;
    char *block = mem_alloc(mem_heap(), *ret_bytes);
    if (block == NULL) {
        return NULL;
    }
    struct coord_event *copy = (struct coord_event *)(void *)block;
    *copy = *ev;
    struct copier placer = {.at = block + sizeof(*ev)};
    walk(&placer, copy);
    return copy;
}

static uint64_t subject_of(const struct coord_event *ev)
{
    switch (ev->kind) {
    case COORD_EV_STEP_ARRIVED:
        return ev->u.arrived.req.v;
    case COORD_EV_STEP_STARTED:
        return ev->u.started.req.v;
    case COORD_EV_STEP_ANSWERED:
        return ev->u.answered.req.v;
    case COORD_EV_STEP_DONE:
        return ev->u.done.req.v;
    case COORD_EV_STEP_GONE:
        return ev->u.gone.req.v;
    case COORD_EV_ATTEMPT_FAILED:
        return ev->u.failed.req.v;
    case COORD_EV_NODE_REFUSED:
        return ev->u.node_refused.req.v;
    case COORD_EV_ENGINE_ADDED:
        return ev->u.engine_added.engine.v;
    case COORD_EV_ENGINE_REMOVED:
        return ev->u.engine_removed.engine.v;
    case COORD_EV_ENGINE_PROBED:
        return ev->u.engine_probed.engine.v;
    case COORD_EV_SESSION_RELEASED:
    case COORD_EV_WORKFLOW_DECLARED:
    case COORD_EV_WORKFLOW_DROPPED:
    case COORD_EV_TICK:
        break;
    }
    return 0;
}

void hub_recent_note(struct hub *hub, const struct coord_event *ev)
{
    if (ev->kind == COORD_EV_TICK) {
        return;
    }
    hub->recent[hub->recent_count % HUB_RECENT_COUNT] =
        (struct hub_recent){ev->kind, subject_of(ev), loop_now_us(hub->loop)};
    hub->recent_count++;
}

void hub_recent_print(void *ctx)
{
    const struct hub *hub = ctx;
    uint64_t from = hub->recent_count > HUB_RECENT_COUNT ? hub->recent_count - HUB_RECENT_COUNT : 0;
    for (uint64_t i = from; i < hub->recent_count; i++) {
        const struct hub_recent *event = &hub->recent[i % HUB_RECENT_COUNT];
        char line[96];
        int len = snprintf(line, sizeof(line), "event kind=%d subject=%016llx at_us=%llu\n",
                           (int)event->kind, (unsigned long long)event->subject,
                           (unsigned long long)event->at_us);
        ssize_t put = write(STDERR_FILENO, line, (size_t)len);
        (void)put; /* the process is about to abort */
    }
}
