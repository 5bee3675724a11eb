/* SPDX-License-Identifier: Apache-2.0 */
/* `saga engine`: simulated engines in the foreground, one per --listen, all on one loop. */
#include "bench/lab/profile_file.h"
#include "cli/cmd.h"
#include "cli/ready.h"
#include "common/io/reactor/loop.h"
#include "common/io/reactor/net.h"
#include "simulator/worker/worker.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LISTEN_MAX = 256 };

struct engine_args {
    const char *listens[LISTEN_MAX];
    size_t listen_count;
    const char *ready_file;
    bool is_quiet;
    struct sim_worker_opts opts;
};

static const char usage_text[] =
    "usage: saga engine [--listen HOST:PORT]... [options]\n"
    "Simulated inference engines that speak the OpenAI and Anthropic APIs as vLLM does, one per "
    "--listen.\n"
    "The text is made up, the timing and the KV cache are modelled.\n"
    "\n"
    "  --listen ADDR        HOST:PORT, [IPV6]:PORT or unix:PATH; port 0 picks one "
    "(127.0.0.1:8000)\n"
    "  --model NAME         name of the model that is served (sim)\n"
    "  --profile P          machine and model whose timing is imitated: a name, see below, or "
    "FILE.yaml (default)\n"
    "  --speed X            modelled seconds per real second; 0 = no waiting (1)\n"
    "  --kv-tokens N        KV memory in tokens (of the profile)\n"
    "  --context N          longest prompt and reply in tokens (of the profile)\n"
    "  --max-running N      requests in a batch (of the profile)\n"
    "  --chunk N            tokens of one iteration (of the profile)\n"
    "  --queue-max N        waiting requests, more is 503 (4096)\n"
    "  --no-prefix-cache    compute every prompt whole\n"
    "  --seed N             of the replies (1)\n"
    "  --reply-tokens N     mean length of replies that nothing limits (64)\n"
    "  --tool-every N       answer every N-th request that brings tools with a call; 0 = only when "
    "asked (0)\n"
    "  --api-key KEY        /v1 needs this key\n"
    "  --body-bytes N       largest request body (67108864)\n"
    "  --fault SPEC[@RATIO] what goes wrong, for all requests or this share of them: delay=MS, "
    "stall,\n"
    "                       stall-after=N, error=STATUS, reset-after=N, short-body, no-done, "
    "garbage,\n"
    "                       several with commas. The same as header x-sim-fault for one request.\n"
    "  --ready-file FILE    written once everything listens: "
    "{\"pid\":N,\"listen\":[...],\"admin\":null}\n"
    "  --quiet              do not print the addresses\n"
    "\n"
    "Header x-sim-tool: 1 asks for a tool call. SIGTERM or Ctrl-C ends it.\n"
    "\n"
    "profiles:\n";

static void print_usage(FILE *to)
{
    (void)fputs(usage_text, to);
    const struct sim_profile *profile;
    for (size_t i = 0; (profile = sim_profile_at(i)) != NULL; i++) {
        (void)fprintf(to, "  %-20s %s\n", profile->name, profile->text);
    }
}

enum option_id {
    OPT_LISTEN = 256,
    OPT_MODEL,
    OPT_PROFILE,
    OPT_SPEED,
    OPT_KV_TOKENS,
    OPT_CONTEXT,
    OPT_MAX_RUNNING,
    OPT_CHUNK,
    OPT_QUEUE_MAX,
    OPT_NO_PREFIX_CACHE,
    OPT_SEED,
    OPT_REPLY_TOKENS,
    OPT_TOOL_EVERY,
    OPT_API_KEY,
    OPT_BODY_BYTES,
    OPT_FAULT,
    OPT_READY_FILE,
    OPT_QUIET,
    OPT_HELP,
};

static const struct option options[] = {
    {"listen", required_argument, NULL, OPT_LISTEN},
    {"model", required_argument, NULL, OPT_MODEL},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"speed", required_argument, NULL, OPT_SPEED},
    {"kv-tokens", required_argument, NULL, OPT_KV_TOKENS},
    {"context", required_argument, NULL, OPT_CONTEXT},
    {"max-running", required_argument, NULL, OPT_MAX_RUNNING},
    {"chunk", required_argument, NULL, OPT_CHUNK},
    {"queue-max", required_argument, NULL, OPT_QUEUE_MAX},
    {"no-prefix-cache", no_argument, NULL, OPT_NO_PREFIX_CACHE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"reply-tokens", required_argument, NULL, OPT_REPLY_TOKENS},
    {"tool-every", required_argument, NULL, OPT_TOOL_EVERY},
    {"api-key", required_argument, NULL, OPT_API_KEY},
    {"body-bytes", required_argument, NULL, OPT_BODY_BYTES},
    {"fault", required_argument, NULL, OPT_FAULT},
    {"ready-file", required_argument, NULL, OPT_READY_FILE},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* Options that are a whole number within bounds. */
struct number_option {
    int id;
    uint64_t min;
    uint64_t max;
    uint32_t *u32; /* where it goes, one of the two */
    uint64_t *u64;
};

static bool take_number(struct engine_args *args, int id, const char *text, bool *ret_is_ok)
{
    struct sim_worker_opts *o = &args->opts;
    struct sim_profile *profile = &o->engine.profile;
    const struct number_option numbers[] = {
        {OPT_KV_TOKENS, 16, UINT32_MAX, &profile->kv_tokens, NULL},
        {OPT_CONTEXT, 2, UINT32_MAX, &profile->context_tokens, NULL},
        {OPT_MAX_RUNNING, 1, 65536, &profile->max_running, NULL},
        {OPT_CHUNK, 1, 1 << 20, &profile->budget_tokens, NULL},
        {OPT_QUEUE_MAX, 0, 1 << 20, &o->engine.queue_max, NULL},
        {OPT_REPLY_TOKENS, 1, 1 << 20, &o->mean_tokens, NULL},
        {OPT_TOOL_EVERY, 0, UINT32_MAX, &o->tool_every, NULL},
        {OPT_SEED, 0, UINT64_MAX, NULL, &o->seed},
        {OPT_BODY_BYTES, 1024, 1 << 30, NULL, &o->body_bytes},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        const struct number_option *number = &numbers[i];
        if (number->id != id) {
            continue;
        }
        uint64_t value = 0;
        *ret_is_ok = str_to_u64(str_of(text), &value) == ST_OK && value >= number->min &&
                     value <= number->max;
        if (!*ret_is_ok) {
            (void)fprintf(stderr,
                          "saga engine: '%s' is no whole number from %" PRIu64 " to %" PRIu64 "\n",
                          text, number->min, number->max);
        } else if (number->u32 != NULL) {
            *number->u32 = (uint32_t)value;
        } else {
            *number->u64 = value;
        }
        return true;
    }
    return false;
}

/* SPEC or SPEC@RATIO; the text of argv is cut at the @. */
static bool take_fault(struct engine_args *args, char *text)
{
    char *at = strrchr(text, '@');
    args->opts.fault_ratio = 1.0;
    if (at != NULL) {
        *at = '\0';
        if (str_to_f64(str_of(at + 1), &args->opts.fault_ratio) != ST_OK ||
            args->opts.fault_ratio < 0.0 || args->opts.fault_ratio > 1.0) {
            (void)fprintf(stderr, "saga engine: '%s' is no share from 0 to 1\n", at + 1);
            return false;
        }
    }
    args->opts.fault = text;
    return true;
}

/* A profile replaces what was set from an earlier one; read in a first pass. */
static bool take_profile(struct engine_args *args, const char *name)
{
    struct err err = {0};
    if (profile_load(name, &args->opts.engine.profile, &err) != ST_OK) {
        (void)fprintf(stderr, "saga engine: %s\n", err.text);
        return false;
    }
    return true;
}

static bool take_listen(struct engine_args *args, const char *text)
{
    if (args->listen_count == LISTEN_MAX) {
        (void)fprintf(stderr, "saga engine: at most %d times --listen\n", (int)LISTEN_MAX);
        return false;
    }
    args->listens[args->listen_count++] = text;
    return true;
}

static bool take_speed(struct engine_args *args, const char *text)
{
    if (str_to_f64(str_of(text), &args->opts.speed) != ST_OK || args->opts.speed < 0.0) {
        (void)fprintf(stderr, "saga engine: '%s' is no speed\n", text);
        return false;
    }
    return true;
}

static bool take_option(struct engine_args *args, int id, char *text)
{
    bool is_ok = true;
    if (take_number(args, id, text, &is_ok)) {
        return is_ok;
    }
    switch (id) {
    case OPT_LISTEN:
        return take_listen(args, text);
    case OPT_MODEL:
        args->opts.model = text;
        return true;
    case OPT_PROFILE:
        return true; /* the first pass took it */
    case OPT_SPEED:
        return take_speed(args, text);
    case OPT_NO_PREFIX_CACHE:
        args->opts.engine.has_prefix_cache = false;
        return true;
    case OPT_API_KEY:
        args->opts.api_key = text;
        return true;
    case OPT_FAULT:
        return take_fault(args, text);
    case OPT_READY_FILE:
        args->ready_file = text;
        return true;
    case OPT_QUIET:
        args->is_quiet = true;
        return true;
    default:
        (void)fputs("try saga engine --help\n", stderr);
        return false;
    }
}

/* CMD_OK: go on. -1: help was printed. */
static int read_args(int argc, char **argv, struct engine_args *args)
{
    sim_worker_opts_init(&args->opts);
    for (int pass = 0; pass < 2; pass++) {
        int id;
        optind = 0;
        opterr = pass;
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): only the main thread exists */
        while ((id = getopt_long(argc, argv, "", options, NULL)) != -1) {
            if (id == OPT_HELP) {
                print_usage(stdout);
                return -1;
            }
            bool is_ok = true;
            if (pass == 0) {
                is_ok = id != OPT_PROFILE || take_profile(args, optarg);
            } else {
                is_ok = take_option(args, id, optarg);
            }
            if (!is_ok) {
                return CMD_USAGE;
            }
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "saga engine: unexpected '%s', try --help\n", argv[optind]);
        return CMD_USAGE;
    }
    if (args->listen_count == 0) {
        args->listens[args->listen_count++] = "127.0.0.1:8000";
    }
    return CMD_OK;
}

static struct loop *signal_loop;

static void on_signal(int signo)
{
    (void)signo;
    loop_stop(signal_loop);
}

struct engine_run {
    struct loop *loop;
    struct sim_worker *workers[LISTEN_MAX];
    char addrs[LISTEN_MAX][NET_ADDR_TEXT_BYTES];
};

static enum status
start_worker(struct engine_run *run, const struct engine_args *args, size_t idx, struct err *err)
{
    struct net_addr addr;
    int fd = -1;
    enum status st = net_addr_parse(str_of(args->listens[idx]), &addr, err);
    if (st != ST_OK) {
        return err_set(err, st, "--listen %.100s: give a literal address, [IPV6]:PORT or unix:PATH",
                       args->listens[idx]);
    }
    st = net_listen(&addr, false, &fd, err);
    if (st != ST_OK) {
        return st;
    }
    st = net_local_addr(fd, &addr);
    if (st == ST_OK) {
        net_addr_text(&addr, run->addrs[idx]);
        st = sim_worker_new(&run->workers[idx], run->loop, &args->opts, fd, err);
    }
    if (st != ST_OK) {
        close(fd);
    }
    return st;
}

static enum status serve(struct engine_run *run, const struct engine_args *args, struct err *err)
{
    enum status st = loop_new(&run->loop, err);
    for (size_t i = 0; st == ST_OK && i < args->listen_count; i++) {
        st = start_worker(run, args, i, err);
    }
    if (st != ST_OK) {
        return st;
    }
    signal_loop = run->loop;
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    if (sigaction(SIGPIPE, &ignore, NULL) != 0 || sigaction(SIGTERM, &action, NULL) != 0 ||
        sigaction(SIGINT, &action, NULL) != 0) {
        return err_set(err, ST_INTERNAL, "sigaction failed");
    }
    const char *addrs[LISTEN_MAX];
    for (size_t i = 0; i < args->listen_count; i++) {
        addrs[i] = run->addrs[i];
        if (!args->is_quiet) {
            (void)printf("simulated engine for model %s on %s\n", args->opts.model, addrs[i]);
        }
    }
    (void)fflush(stdout);
    if (args->ready_file != NULL) {
        st = ready_write(args->ready_file, addrs, args->listen_count, NULL, err);
    }
    if (st == ST_OK) {
        loop_run(run->loop);
    }
    return st;
}

int cmd_engine(int argc, char **argv)
{
    static struct engine_args args;
    static struct engine_run run;
    struct err err = {0};
    int rc = read_args(argc, argv, &args);
    if (rc != CMD_OK) {
        return rc == -1 ? CMD_OK : rc;
    }
    (void)net_raise_fd_limit();
    enum status st = serve(&run, &args, &err);
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga engine: %s\n",
                      err.text[0] != '\0' ? err.text : status_text(st));
    }
    for (size_t i = 0; i < args.listen_count; i++) {
        sim_worker_free(run.workers[i]);
    }
    loop_free(run.loop);
    return st == ST_OK ? CMD_OK : CMD_FAILED;
}
