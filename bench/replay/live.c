/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/live.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, TEXT_MAX = 8192 };

#define TABLE_EVERY_US UINT64_C(250000)
#define LINE_EVERY_US  UINT64_C(5000000)

/* Weight of the newest reading in the live token rate. */
#define RATE_WEIGHT 0.3

static uint32_t terminal_width(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < WIDTH_MIN) {
        return WIDTH_DEFAULT;
    }
    return size.ws_col;
}

static void look(struct live *live)
{
    struct report *report = &live->report;
    live->update(live->ctx, report);
    double now_s = report->stats->elapsed_s;
    uint64_t deltas = report->stats->delta_count;
    if (now_s - live->last_s < 0.01) {
        return;
    }
    double rate = (double)(deltas - live->last_deltas) / (now_s - live->last_s);
    bool is_first = live->last_deltas == 0;
    report->tokens_per_s =
        is_first ? rate : report->tokens_per_s + RATE_WEIGHT * (rate - report->tokens_per_s);
    live->last_s = now_s;
    live->last_deltas = deltas;
}

static void draw(struct live *live)
{
    live->text.len = 0;
    enum status st = ST_OK;
    if (live->is_table) {
        /* Up to the table's first line, and clear from there. */
        if (live->has_drawn) {
            st = buf_add_fmt(&live->text, "\033[%dA\033[J", REPORT_LIVE_LINES);
        }
        st = st == ST_OK ? report_live(&live->report, terminal_width() - 1, &live->text) : st;
    } else {
        st = report_line(&live->report, &live->text);
    }
    if (st == ST_OK) {
        (void)fwrite(live->text.p, 1, live->text.len, stderr);
        (void)fflush(stderr);
        live->has_drawn = true;
    }
}

static void set_timer(struct live *live)
{
    uint64_t every_us = live->is_table ? TABLE_EVERY_US : LINE_EVERY_US;
    status_ignore(loop_timer_set(live->loop, &live->timer, loop_now_us(live->loop) + every_us),
                  "without memory there is no progress to see, nothing else");
}

static void tick(struct loop_timer *timer)
{
    struct live *live = LIST_OWNER(timer, struct live, timer);
    look(live);
    draw(live);
    set_timer(live);
}

enum status live_start(struct live *live,
                       struct loop *loop,
                       const struct report *report,
                       live_update_fn update,
                       void *ctx)
{
    *live = (struct live){.report = *report, .update = update, .ctx = ctx, .timer.fn = tick};
    if (report->opts->is_quiet) {
        return ST_OK;
    }
    live->loop = loop;
    live->is_table = report->opts->is_live || isatty(STDERR_FILENO) == 1;
    buf_init(&live->text, mem_heap(), TEXT_MAX);
    set_timer(live);
    return ST_OK;
}

void live_stop(struct live *live)
{
    if (live->loop == NULL) {
        return;
    }
    loop_timer_cancel(live->loop, &live->timer);
    if (live->is_table) {
        look(live);
        draw(live);
    }
    buf_fini(&live->text);
    live->loop = NULL;
}
