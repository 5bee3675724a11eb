/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/mock.h"

static void heap_put(struct mock_timers *timers, size_t at, struct mock_conn *conn)
{
    timers->heap[at] = conn;
    conn->heap_at = at + 1;
}

static void heap_up(struct mock_timers *timers, size_t at)
{
    struct mock_conn *conn = timers->heap[at];

    while (at > 0 && timers->heap[(at - 1) / 2]->due_ns > conn->due_ns) {
        heap_put(timers, at, timers->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(timers, at, conn);
}

static void heap_down(struct mock_timers *timers, size_t at)
{
    struct mock_conn *conn = timers->heap[at];

    for (size_t child = 2 * at + 1; child < timers->len; child = 2 * at + 1) {
        if (child + 1 < timers->len &&
            timers->heap[child + 1]->due_ns < timers->heap[child]->due_ns) {
            child++;
        }
        if (timers->heap[child]->due_ns >= conn->due_ns) {
            break;
        }
        heap_put(timers, at, timers->heap[child]);
        at = child;
    }
    heap_put(timers, at, conn);
}

void mock_timer_set(struct mock_timers *timers, struct mock_conn *conn, uint64_t due_ns)
{
    conn->due_ns = due_ns;
    if (conn->heap_at != 0) {
        heap_up(timers, conn->heap_at - 1);
        heap_down(timers, conn->heap_at - 1);
        return;
    }
    if (timers->len == timers->cap) {
        timers->cap = timers->cap == 0 ? 256 : timers->cap * 2;
        timers->heap = wire_grow(timers->heap, timers->cap * sizeof(struct mock_conn *));
    }
    heap_put(timers, timers->len++, conn);
    heap_up(timers, timers->len - 1);
}

void mock_timer_clear(struct mock_timers *timers, struct mock_conn *conn)
{
    size_t at = conn->heap_at;
    struct mock_conn *moved = NULL;

    if (at == 0) {
        return;
    }
    conn->heap_at = 0;
    moved = timers->heap[--timers->len];
    if (moved != conn) {
        heap_put(timers, at - 1, moved);
        heap_up(timers, at - 1);
        heap_down(timers, moved->heap_at - 1);
    }
}
