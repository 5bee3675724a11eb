/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. options, trace, plan; 2. an event loop with the replay, the progress and a
 * descriptor for signals;
 * 3. the replay ends the loop; 4. the result is printed.
 * Failures: bad options or trace: a message, nothing is sent; no server: the same after trying; a
 * first Ctrl-C ends the loop early and prints what there is, a second one ends the program. */
#include "bench/replay/command.h"

#include "bench/replay/live.h"
#include "bench/replay/replay.h"
#include "bench/replay/report_json.h"
#include "common/io/reactor/net.h"

#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { EXIT_FINE = 0, EXIT_FAILURES = 1, EXIT_USAGE = 2, REPORT_BYTES_MAX = 1 << 30 };

struct command {
    struct replay_options opts;
    struct trace trace;
    struct plan plan;
    struct loop *loop;
    struct replay *replay;
    struct live live;
    struct loop_source signal_src;
    sigset_t old_signals;
    struct err failure;
    bool is_interrupted;
};

static void on_signal(struct loop_source *src, uint32_t events)
{
    struct command *cmd = LIST_OWNER(src, struct command, signal_src);
    struct signalfd_siginfo info;
    (void)events;
    if (read(src->fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return;
    }
    cmd->is_interrupted = true;
    /* The next one has its usual effect. */
    (void)pthread_sigmask(SIG_SETMASK, &cmd->old_signals, NULL);
    loop_stop(cmd->loop);
}

/* SIGINT and SIGTERM come through a descriptor. */
static enum status take_signals(struct command *cmd, struct err *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, &cmd->old_signals);
    cmd->signal_src.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    cmd->signal_src.fn = on_signal;
    if (cmd->signal_src.fd < 0) {
        return err_set(err, ST_IO, "signalfd failed");
    }
    enum status st = loop_arm(cmd->loop, &cmd->signal_src, EPOLLIN);
    return st == ST_OK ? ST_OK : err_set(err, st, "cannot watch for signals");
}

static void on_done(void *ctx, const struct err *err)
{
    struct command *cmd = ctx;
    cmd->failure = *err;
    loop_stop(cmd->loop);
}

static void on_update(void *ctx, struct report *report)
{
    struct command *cmd = ctx;
    report->stats = replay_stats(cmd->replay);
    report->in_flight = replay_in_flight(cmd->replay);
    report->waiting = replay_waiting(cmd->replay);
}

static struct report make_report(struct command *cmd)
{
    return (struct report){
        .opts = &cmd->opts,
        .stats = replay_stats(cmd->replay),
        .plan = &cmd->plan,
        .rows = cmd->opts.has_rows ? replay_rows(cmd->replay) : NULL,
        .model = replay_model(cmd->replay),
        .trace_name = cmd->opts.trace == NULL ? "built-in sample" : cmd->opts.trace,
        .agent_total = cmd->plan.count - cmd->plan.root_count,
        .is_bound_complete = replay_bound_is_complete(cmd->replay),
        .is_stopped_early = cmd->is_interrupted,
    };
}

static enum status print_report(struct command *cmd)
{
    struct report report = make_report(cmd);
    struct buf text;
    buf_init(&text, mem_heap(), REPORT_BYTES_MAX);
    enum status st = cmd->opts.is_json ? report_json(&report, &text) : report_text(&report, &text);
    if (st == ST_OK && (fwrite(text.p, 1, text.len, stdout) != text.len || fflush(stdout) != 0)) {
        st = ST_IO;
    }
    buf_fini(&text);
    return st;
}

static enum status prepare(struct command *cmd, struct err *err)
{
    enum status st = trace_load_named(&cmd->trace, mem_heap(), cmd->opts.trace, err);
    if (st != ST_OK) {
        return st;
    }
    st = plan_make(&cmd->plan, mem_heap(), &cmd->trace, &cmd->opts);
    if (st != ST_OK) {
        return err_set(err, st, "the plan: %s", status_text(st));
    }
    st = loop_new(&cmd->loop, err);
    if (st == ST_OK) {
        st = take_signals(cmd, err);
    }
    if (st == ST_OK) {
        (void)net_raise_fd_limit();
        st = replay_new(&cmd->replay, cmd->loop, &cmd->plan, &cmd->opts, err);
    }
    return st;
}

static enum status run(struct command *cmd, struct err *err)
{
    enum status st = replay_start(cmd->replay, on_done, cmd);
    if (st != ST_OK) {
        return err_set(err, st, "cannot start: %s", status_text(st));
    }
    struct report report = make_report(cmd);
    st = live_start(&cmd->live, cmd->loop, &report, on_update, cmd);
    if (st == ST_OK) {
        loop_run(cmd->loop);
        live_stop(&cmd->live);
        replay_stop(cmd->replay);
    }
    if (cmd->failure.status != ST_OK) {
        return err_set(err, cmd->failure.status, "%s: %s", cmd->opts.urls[0], cmd->failure.text);
    }
    st = print_report(cmd);
    return st == ST_OK ? ST_OK : err_set(err, st, "cannot print the result: %s", status_text(st));
}

static void release(struct command *cmd)
{
    replay_free(cmd->replay);
    if (cmd->loop != NULL && cmd->signal_src.fd >= 0) {
        loop_disarm(cmd->loop, &cmd->signal_src);
        (void)close(cmd->signal_src.fd);
    }
    loop_free(cmd->loop);
    plan_fini(&cmd->plan);
    trace_fini(&cmd->trace);
}

int replay_command(int argc, char **argv)
{
    struct command cmd = {.signal_src.fd = -1};
    struct err err = {0};
    if (options_parse(argc, argv, &cmd.opts, &err) != ST_OK) {
        (void)fprintf(stderr, "saga bench: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (cmd.opts.wants_help) {
        (void)fputs(options_help(), stdout);
        return EXIT_FINE;
    }
    enum status st = prepare(&cmd, &err);
    if (st == ST_OK) {
        st = run(&cmd, &err);
    }
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga bench: %s\n", err.text);
    }
    bool is_clean = st == ST_OK && replay_stats(cmd.replay)->step_failed == 0;
    release(&cmd);
    if (st == ST_INVAL) {
        return EXIT_USAGE;
    }
    return is_clean ? EXIT_FINE : EXIT_FAILURES;
}
