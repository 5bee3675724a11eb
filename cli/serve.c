/* SPDX-License-Identifier: Apache-2.0 */
/* `saga serve`. Happy path: 1. flags and file; 2. signals blocked, descriptors raised, TLS; 3.
 * loops with a gateway each, the hub, simulated engines; 4. listeners, admin port, engines; 5.
 * ready file; 6. wait for signals. SIGHUP: the configuration is read again. SIGTERM or SIGINT:
 * drain until drain_timeout_ms, then exit 0; a second one exits at once. Failures at start: one
 * line that says what and why, exit 1 (2 for usage). */
#include "cli/admin_routes.h"
#include "cli/cmd.h"
#include "cli/hub.h"
#include "cli/ready.h"
#include "cli/serve_args.h"
#include "cli/simfleet.h"
#include "common/io/admin/admin.h"
#include "common/io/reactor/loop.h"
#include "common/io/reactor/net.h"
#include "common/io/reactor/tls.h"
#include "common/rt/clock.h"
#include "common/rt/config_read.h"
#include "common/rt/log.h"
#include "common/rt/metric.h"
#include "common/rt/thread.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    CONFIGS_MAX = 16,
    LISTENS_MAX = 16,
    WAIT_MS = 20,
    MALLOC_MMAP_BYTES = 262144,
    MALLOC_TRIM_BYTES = 1048576
};

struct serve {
    struct serve_args args;
    struct config
        cfgs[CONFIGS_MAX]; /* the one in force and those before it: loops may still look at them */
    int cfg_idx;
    struct tls_ctx *server_tls;
    struct loop *core_loop; /* of the hub; the gateway's own with one loop */
    struct thread core_thread;
    struct loop *loops[HUB_LANES_MAX];
    struct front *fronts[HUB_LANES_MAX];
    struct thread threads[HUB_LANES_MAX];
    uint32_t loop_count;
    struct hub *hub;
    struct simfleet *sims;
    struct admin *admin;
    char listens[LISTENS_MAX][NET_ADDR_TEXT_BYTES];
    size_t listen_count;
};

static void run_loop(void *arg)
{
    loop_run(arg);
}

static void block_signals(sigset_t *ret)
{
    sigemptyset(ret);
    sigaddset(ret, SIGTERM);
    sigaddset(ret, SIGINT);
    sigaddset(ret, SIGHUP);
    sigaddset(ret, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, ret, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
}

static enum status make_tls(struct serve *serve, const struct config *cfg, struct err *err)
{
    enum status st = ST_OK;
    if (cfg->tls_cert_file[0] != '\0') {
        st = tls_server_new(&serve->server_tls, cfg->tls_cert_file, cfg->tls_key_file, err);
    }
    if (st == ST_OK && !cfg->tls_upstream_verify) {
        log_warn("serve",
                 "certificates of https engines are not checked (tls.upstream_verify is off)");
    }
    return st;
}

static enum status
make_front(struct serve *serve, uint32_t idx, const struct config *cfg, struct err *err)
{
    struct front_opts opts = {.loop = serve->loops[idx],
                              .cfg = cfg,
                              .loop_idx = (uint8_t)idx,
                              .server_tls = serve->server_tls};
    enum status st = hub_add_lane(serve->hub, serve->loops[idx], &opts.port);
    if (st != ST_OK) {
        return err_set(err, st, "loop %u: %s", idx, status_text(st));
    }
    st = front_new(&serve->fronts[idx], &opts, err);
    if (st == ST_OK) {
        hub_set_front(serve->hub, idx, serve->fronts[idx]);
    }
    return st;
}

static enum status make_loops(struct serve *serve, const struct config *cfg, struct err *err)
{
    bool is_inline = cfg->loops == 1;
    enum status st = ST_OK;
    for (uint32_t i = 0; i < cfg->loops && st == ST_OK; i++) {
        st = loop_new(&serve->loops[i], err);
        serve->loop_count += st == ST_OK ? 1 : 0;
    }
    if (st == ST_OK && is_inline) {
        serve->core_loop = serve->loops[0];
    } else if (st == ST_OK) {
        st = loop_new(&serve->core_loop, err);
    }
    if (st == ST_OK) {
        st = hub_new(&serve->hub, serve->core_loop, is_inline, cfg, err);
    }
    for (uint32_t i = 0; i < serve->loop_count && st == ST_OK; i++) {
        st = make_front(serve, i, cfg, err);
    }
    return st;
}

/* One address on every loop; port 0 is chosen by the first. A unix socket is served by the first
 * loop alone. */
static enum status listen_on(struct serve *serve, const char *text, struct err *err)
{
    struct net_addr addr;
    enum status st = net_addr_parse(str_of(text), &addr, err);
    if (st == ST_NOTFOUND) {
        return err_set(err, ST_INVAL, "listen %s: an address is expected, not a host name", text);
    }
    bool is_shared = serve->loop_count > 1 && addr.sa.ss_family != AF_UNIX;
    uint32_t count = is_shared ? serve->loop_count : 1;
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        int fd = -1;
        st = net_listen(&addr, is_shared, &fd, err);
        if (st == ST_OK) {
            st = net_local_addr(fd, &addr);
        }
        if (st == ST_OK) {
            st = front_listen(serve->fronts[i], fd);
        }
        if (st != ST_OK && fd >= 0) {
            close(fd);
        }
    }
    if (st == ST_OK) {
        net_addr_text(&addr, serve->listens[serve->listen_count++]);
    }
    return st;
}

static enum status
add_engine(struct serve *serve, const struct config_engine *engine, struct err *err)
{
    struct hub_question question = {.kind = HUB_ASK_ADD_ENGINE, .engine = engine};
    return hub_answer(serve->hub, &question, NULL, err);
}

static enum status add_sims(struct serve *serve, struct err *err)
{
    if (serve->args.sim_count == 0) {
        return ST_OK;
    }
    enum status st =
        simfleet_start(&serve->sims, serve->args.sim_count, serve->args.sim_speed, err);
    for (uint32_t i = 0; i < serve->args.sim_count && st == ST_OK; i++) {
        char name[16];
        snprintf(name, sizeof(name), "sim%u", i);
        struct config_engine engine = {
            .url = simfleet_url(serve->sims, i),
            .name = name,
            .api_key_file = "",
            .kv_tokens = simfleet_kv_tokens(),
        };
        st = add_engine(serve, &engine, err);
    }
    return st;
}

static enum status add_engines(struct serve *serve, const struct config *cfg, struct err *err)
{
    enum status st = add_sims(serve, err);
    for (size_t i = 0; i < cfg->engine_count && st == ST_OK; i++) {
        st = add_engine(serve, &cfg->engines[i], err);
    }
    if (st == ST_OK && cfg->engine_count == 0 && serve->args.sim_count == 0) {
        log_warn(
            "serve",
            "no engine is configured: requests get 503 until one is added (saga ctl add-engine)");
    }
    return st;
}

static enum status start_threads(struct serve *serve, struct err *err)
{
    enum status st = ST_OK;
    if (serve->core_loop != serve->loops[0]) {
        st = thread_start(&serve->core_thread, "core", run_loop, serve->core_loop, err);
    }
    for (uint32_t i = 0; i < serve->loop_count && st == ST_OK; i++) {
        char name[THREAD_NAME_BYTES];
        snprintf(name, sizeof(name), "loop%u", i);
        st = thread_start(&serve->threads[i], name, run_loop, serve->loops[i], err);
    }
    return st;
}

static enum status tell_ready(struct serve *serve, struct err *err)
{
    char admin[NET_ADDR_TEXT_BYTES] = "";
    const char *listens[LISTENS_MAX];
    if (serve->admin != NULL) {
        net_addr_text(admin_local_addr(serve->admin), admin);
    }
    for (size_t i = 0; i < serve->listen_count; i++) {
        listens[i] = serve->listens[i];
        log_info("serve", "listening on %s", serve->listens[i]);
    }
    if (serve->admin != NULL) {
        log_info("serve", "admin port on %s", admin);
    }
    if (serve->args.ready_file == NULL) {
        return ST_OK;
    }
    return ready_write(serve->args.ready_file, listens, serve->listen_count,
                       serve->admin != NULL ? admin : NULL, err);
}

static enum status start(struct serve *serve, const struct config *cfg, struct err *err)
{
    enum status st = make_tls(serve, cfg, err);
    if (st == ST_OK) {
        st = make_loops(serve, cfg, err);
    }
    for (size_t i = 0; i < cfg->listen.count && st == ST_OK; i++) {
        st = listen_on(serve, cfg->listen.items[i], err);
    }
    if (st == ST_OK) {
        st = add_engines(serve, cfg, err);
    }
    if (st == ST_OK && cfg->admin_listen[0] != '\0') {
        st = admin_routes_start(&serve->admin, cfg, serve->hub, err);
    }
    if (st == ST_OK) {
        st = start_threads(serve, err);
    }
    return st == ST_OK ? tell_ready(serve, err) : st;
}

static void report_key(void *ctx, const char *key)
{
    (void)ctx;
    log_warn("serve", "changed, but needs a restart key=%s", key);
}

static bool has_engine(const struct config *cfg, const struct config_engine *engine)
{
    for (size_t i = 0; i < cfg->engine_count; i++) {
        const struct config_engine *other = &cfg->engines[i];
        if (strcmp(other->name, engine->name) == 0 && strcmp(other->url, engine->url) == 0 &&
            strcmp(other->api_key_file, engine->api_key_file) == 0 && other->kind == engine->kind &&
            other->max_running == engine->max_running) {
            return true;
        }
    }
    return false;
}

static void engine_done(void *ctx, enum status st, const struct err *err, struct buf *out)
{
    (void)ctx;
    (void)out;
    if (st != ST_OK && st != ST_CLOSED) {
        log_error("serve", "engine not changed why=%s", log_quote(str_of(err->text)).text);
    }
}

static void ask_engine(struct serve *serve, const struct hub_question *question)
{
    struct err err = {0};
    if (hub_ask(serve->hub, question, engine_done, NULL, &err) != ST_OK) {
        log_error("serve", "engine not changed why=%s", log_quote(str_of(err.text)).text);
    }
}

/* Engines that left the file go (what runs on them is finished), new ones come. Those added by the
 * admin port stay. */
static void reload_engines(struct serve *serve, const struct config *old, const struct config *next)
{
    for (size_t i = 0; i < old->engine_count; i++) {
        if (!has_engine(next, &old->engines[i])) {
            struct hub_question question = {.kind = HUB_ASK_REMOVE_ENGINE,
                                            .text = str_of(old->engines[i].name)};
            ask_engine(serve, &question);
        }
    }
    for (size_t i = 0; i < next->engine_count; i++) {
        if (!has_engine(old, &next->engines[i])) {
            struct hub_question question = {.kind = HUB_ASK_ADD_ENGINE,
                                            .engine = &next->engines[i]};
            ask_engine(serve, &question);
        }
    }
}

static void reload(struct serve *serve)
{
    struct config *old = &serve->cfgs[serve->cfg_idx];
    struct config *next = &serve->cfgs[(serve->cfg_idx + 1) % CONFIGS_MAX];
    struct serve_args args;
    struct err err = {0};
    if (serve->args.config_file == NULL) {
        log_warn("serve", "SIGHUP without --config: nothing to read");
        return;
    }
    config_fini(next); /* CONFIGS_MAX reloads old */
    if (config_defaults(next, mem_heap()) != ST_OK ||
        serve_args_read(&args, next, serve->args.argc, serve->args.argv) != ST_OK) {
        log_error("serve", "reload refused: the old configuration stays in force");
        return;
    }
    struct hub_question question = {.kind = HUB_ASK_RELOAD, .cfg = next};
    if (hub_ask(serve->hub, &question, NULL, NULL, &err) != ST_OK) {
        log_error("serve", "reload refused: %s", err.text);
        return;
    }
    serve->cfg_idx = (serve->cfg_idx + 1) % CONFIGS_MAX;
    reload_engines(serve, old, next);
    log_set_level((enum config_log_level)next->log_level);
    size_t fixed = config_diff_not_reloadable(old, next, report_key, NULL);
    log_info("serve", "configuration reloaded file=%s not_reloadable=%zu", serve->args.config_file,
             fixed);
}

/* Until everything has ended, the deadline, or one signal more than there may be (false). */
static bool wait_for_drain(struct serve *serve, const sigset_t *signals, int spare_signals)
{
    const struct config *cfg = &serve->cfgs[serve->cfg_idx];
    uint64_t until_us = clock_now_us() + cfg->drain_timeout_ms * 1000;
    struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};
    bool is_settled = false;
    while (clock_now_us() < until_us) {
        int sig = sigtimedwait(signals, NULL, &pause);
        if ((sig == SIGTERM || sig == SIGINT) && spare_signals-- == 0) {
            log_warn("serve", "second signal: exit at once in_flight=%u",
                     hub_in_flight(serve->hub));
            return false;
        }
        bool is_idle = hub_in_flight(serve->hub) == 0;
        if (is_idle && is_settled) {
            return true;
        }
        is_settled =
            is_idle; /* seen twice: requests that were just being read are counted by now */
    }
    log_warn("serve", "drain deadline passed in_flight=%u", hub_in_flight(serve->hub));
    return true;
}

static int serve_signals(struct serve *serve, const sigset_t *signals)
{
    int sig = 0;
    while (sig != SIGTERM && sig != SIGINT && sig != SIGUSR1) {
        sig = sigwaitinfo(signals, NULL);
        if (sig == SIGHUP) {
            reload(serve);
        }
    }
    struct err err = {0};
    struct hub_question question = {.kind = HUB_ASK_DRAIN};
    log_info("serve", "draining in_flight=%u", hub_in_flight(serve->hub));
    if (hub_ask(serve->hub, &question, NULL, NULL, &err) != ST_OK) {
        log_error("serve", "cannot drain: %s", err.text);
        return CMD_FAILED;
    }
    bool is_asked =
        sig == SIGUSR1; /* by the admin port: the SIGTERM that follows it is the first */
    bool is_clean = wait_for_drain(serve, signals, is_asked ? 1 : 0);
    log_info("serve", "stopped");
    return is_clean ? CMD_OK : CMD_FAILED;
}

/* Socket files go with the process that made them. */
static void unlink_sockets(const struct serve *serve)
{
    for (size_t i = 0; i < serve->listen_count; i++) {
        struct str text = str_of(serve->listens[i]);
        if (str_starts(text, STR("unix:"))) {
            unlink(text.p + 5);
        }
    }
}

static void stop(struct serve *serve)
{
    unlink_sockets(serve);
    for (uint32_t i = 0; i < serve->loop_count; i++) {
        loop_stop(serve->loops[i]);
    }
    if (serve->core_loop != NULL) {
        loop_stop(serve->core_loop);
    }
    for (uint32_t i = 0; i < serve->loop_count; i++) {
        thread_join(&serve->threads[i]);
    }
    thread_join(&serve->core_thread);
    admin_stop(serve->admin);
    for (uint32_t i = 0; i < serve->loop_count; i++) {
        front_free(serve->fronts[i]);
    }
    hub_free(serve->hub);
    simfleet_stop(serve->sims);
    bool is_inline = serve->core_loop == serve->loops[0];
    for (uint32_t i = 0; i < serve->loop_count; i++) {
        loop_free(serve->loops[i]);
    }
    if (!is_inline) {
        loop_free(serve->core_loop);
    }
    tls_free(serve->server_tls);
    for (int i = 0; i < CONFIGS_MAX; i++) {
        config_fini(&serve->cfgs[i]);
    }
    log_flush(clock_now_us(), true);
}

/* Request bodies come and go in hundreds of kilobytes: they go back to the system instead of
 * growing the heap. */
static void tune_malloc(void)
{
    /* NOLINTBEGIN(concurrency-mt-unsafe): no other thread yet */
    mallopt(M_MMAP_THRESHOLD, MALLOC_MMAP_BYTES);
    mallopt(M_TRIM_THRESHOLD, MALLOC_TRIM_BYTES);
    mallopt(M_ARENA_MAX, 2);
    /* NOLINTEND(concurrency-mt-unsafe) */
}

int cmd_serve(int argc, char **argv)
{
    static struct serve serve;
    struct config *cfg = &serve.cfgs[0];
    if (config_defaults(cfg, mem_heap()) != ST_OK) {
        (void)fputs("saga serve: out of memory\n", stderr);
        return CMD_FAILED;
    }
    enum status st = serve_args_read(&serve.args, cfg, argc, argv);
    if (st != ST_OK || serve.args.wants_help) {
        if (st == ST_OK) {
            serve_args_usage();
        }
        config_fini(cfg);
        return st == ST_OK ? CMD_OK : CMD_USAGE;
    }
    sigset_t signals;
    struct err err = {0};
    block_signals(&signals);
    tune_malloc();
    log_set_level((enum config_log_level)cfg->log_level);
    config_env_check();
    metric_set(METRIC_FDS_LIMIT, 0, 0, net_raise_fd_limit());
    metric_set(METRIC_START_TIME, 0, 0, clock_wall_us() / 1000000);
    int rc = CMD_FAILED;
    st = start(&serve, cfg, &err);
    if (st == ST_OK) {
        rc = serve_signals(&serve, &signals);
    } else {
        (void)fprintf(stderr, "saga serve: %s\n", err.text[0] != '\0' ? err.text : status_text(st));
    }
    stop(&serve);
    return rc;
}
