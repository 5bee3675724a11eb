/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve_args.h"

#include "routing/params.h"
#include "routing/registry.h"

#include "cli/simfleet.h"
#include "common/rt/config_read.h"

#include <getopt.h>
#include <stdio.h>

enum {
    OPT_CONFIG = 256,
    OPT_LISTEN,
    OPT_ADMIN,
    OPT_ENGINE,
    OPT_ENGINES,
    OPT_SIM_SPEED,
    OPT_LOOPS,
    OPT_RECORD,
    OPT_LEVEL,
    OPT_SET,
    OPT_READY,
    OPT_HELP
};

enum { LISTEN_BYTES = 4096 };

static const struct option options[] = {{"config", required_argument, NULL, OPT_CONFIG},
                                        {"listen", required_argument, NULL, OPT_LISTEN},
                                        {"admin-listen", required_argument, NULL, OPT_ADMIN},
                                        {"engine", required_argument, NULL, OPT_ENGINE},
                                        {"engines", required_argument, NULL, OPT_ENGINES},
                                        {"sim-speed", required_argument, NULL, OPT_SIM_SPEED},
                                        {"loops", required_argument, NULL, OPT_LOOPS},
                                        {"record-events", required_argument, NULL, OPT_RECORD},
                                        {"log-level", required_argument, NULL, OPT_LEVEL},
                                        {"set", required_argument, NULL, OPT_SET},
                                        {"ready-file", required_argument, NULL, OPT_READY},
                                        {"help", no_argument, NULL, OPT_HELP},
                                        {NULL, 0, NULL, 0}};

void serve_args_usage(void)
{
    (void)puts("usage: saga serve [options]\n"
               "Gateway and scheduler in one process, in front of OpenAI-compatible engines.\n"
               "\n"
               "  --config FILE          YAML configuration (see: saga config example)\n"
               "  --listen ADDR          HOST:PORT, [IPV6]:PORT or unix:PATH; repeatable "
               "(127.0.0.1:8080)\n"
               "  --admin-listen ADDR    admin port: metrics, health, control (127.0.0.1:8081; "
               "empty = none)\n"
               "  --engine URL           an engine; repeatable\n"
               "  --engines sim:N        N simulated engines inside this process (made-up text)\n"
               "  --sim-speed X          those engines run X times as fast as modelled (1)\n"
               "  --loops N              reactor threads (1)\n"
               "  --record-events FILE   write every event and effect of the core, for replay\n"
               "  --log-level LEVEL      error, warn, info or debug (info)\n"
               "  --set KEY=VALUE        any key of the configuration; repeatable\n"
               "  --ready-file FILE      written once everything listens: "
               "{\"pid\":N,\"listen\":[...],\"admin\":...}\n"
               "  --help                 this text\n"
               "\n"
               "Flags override the file. SIGHUP reads the file again, SIGTERM stops gracefully, a "
               "second signal at once.");
}

static enum status complain(const struct err *err, const char *what)
{
    (void)fprintf(stderr, "saga serve: %s: %s\n", what, err->text);
    return ST_INVAL;
}

static enum status set(struct config *cfg, const char *key, const char *value)
{
    struct err err = {0};
    return config_set(cfg, key, value, &err) == ST_OK ? ST_OK : complain(&err, key);
}

static enum status set_pair(struct config *cfg, const char *pair)
{
    const char *equals = strchr(pair, '=');
    char key[128];
    if (equals == NULL || (size_t)(equals - pair) >= sizeof(key)) {
        (void)fprintf(stderr, "saga serve: --set %s: expected KEY=VALUE\n", pair);
        return ST_INVAL;
    }
    str_copy(key, sizeof(key), (struct str){pair, (size_t)(equals - pair)});
    return set(cfg, key, equals + 1);
}

static enum status read_sim(struct serve_args *args, const char *text)
{
    uint64_t count = 0;
    bool is_sim = str_starts(str_of(text), STR("sim:"));
    if (!is_sim || str_to_u64(str_of(text + 4), &count) != ST_OK || count == 0 ||
        count > SIMFLEET_MAX) {
        (void)fprintf(stderr, "saga serve: --engines %s: expected sim:N with N from 1 to %d\n",
                      text, SIMFLEET_MAX);
        return ST_INVAL;
    }
    args->sim_count = (uint32_t)count;
    return ST_OK;
}

static enum status read_speed(struct serve_args *args, const char *text)
{
    if (str_to_f64(str_of(text), &args->sim_speed) != ST_OK || args->sim_speed <= 0) {
        (void)fprintf(stderr, "saga serve: --sim-speed %s: expected a number above 0\n", text);
        return ST_INVAL;
    }
    return ST_OK;
}

static enum status add_listen(char listens[LISTEN_BYTES], const char *addr)
{
    size_t len = strlen(listens);
    size_t more = strlen(addr);
    if (len + more + 2 > LISTEN_BYTES) {
        (void)fputs("saga serve: too many --listen\n", stderr);
        return ST_INVAL;
    }
    snprintf(listens + len, LISTEN_BYTES - len, "%s%s", len > 0 ? "," : "", addr);
    return ST_OK;
}

static enum status
apply(struct serve_args *args, struct config *cfg, char listens[LISTEN_BYTES], int option)
{
    struct err err = {0};
    switch (option) {
    case OPT_LISTEN:
        return add_listen(listens, optarg);
    case OPT_ADMIN:
        return set(cfg, "admin.listen", optarg);
    case OPT_ENGINE:
        if (!args->has_engine) { /* flags replace what the file says */
            args->has_engine = true;
            cfg->engine_count = 0;
        }
        return config_add_engine(cfg, optarg, &err) == ST_OK ? ST_OK : complain(&err, "--engine");
    case OPT_ENGINES:
        return read_sim(args, optarg);
    case OPT_SIM_SPEED:
        return read_speed(args, optarg);
    case OPT_LOOPS:
        return set(cfg, "loops", optarg);
    case OPT_RECORD:
        return set(cfg, "record_events", optarg);
    case OPT_LEVEL:
        return set(cfg, "log.level", optarg);
    case OPT_SET:
        return set_pair(cfg, optarg);
    case OPT_READY:
        args->ready_file = optarg;
        return ST_OK;
    case OPT_HELP:
        args->wants_help = true;
        return ST_OK;
    case OPT_CONFIG: /* read before the others */
        return ST_OK;
    default:
        (void)fputs("Try: saga serve --help\n", stderr);
        return ST_INVAL;
    }
}

static void print_errors(const struct config_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++) {
        (void)fprintf(stderr, "%s\n", errors->text[i]);
    }
    if (errors->total_count > errors->count) {
        (void)fprintf(stderr, "%zu more\n", errors->total_count - errors->count);
    }
}

/* The file comes first, whatever its place among the flags. */
static enum status
read_file(struct serve_args *args, struct config *cfg, struct config_errors *errors)
{
    optind = 1;
    opterr = 0;
    int option = 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((option = getopt_long(args->argc, args->argv, "", options, NULL)) != -1) {
        if (option == OPT_CONFIG) {
            args->config_file = optarg;
        }
    }
    if (args->config_file == NULL) {
        return ST_OK;
    }
    enum status st = config_read_file(cfg, args->config_file, errors);
    if (st != ST_OK && errors->count == 0) {
        (void)fprintf(stderr, "saga serve: %s: %s\n", args->config_file, status_text(st));
    }
    return st;
}

static enum status check_params(const struct config *cfg)
{
    double params[GATE_PARAMS_MAX];
    struct err err = {0};
    const struct route_policy *policy = route_policy_at((size_t)cfg->routing_policy);
    enum status st = route_params_read(policy, str_of(cfg->routing_params), params, &err);
    if (st != ST_OK) {
        (void)fprintf(stderr, "routing.params: %s\n", err.text);
    }
    return st;
}

enum status serve_args_read(struct serve_args *args, struct config *cfg, int argc, char **argv)
{
    static struct config_errors errors;
    memset(&errors, 0, sizeof(errors));
    *args = (struct serve_args){.argc = argc, .argv = argv, .sim_speed = 1};
    char listens[LISTEN_BYTES] = "";
    enum status st = read_file(args, cfg, &errors);
    optind = 1;
    opterr = 1;
    int option = 0;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while (st == ST_OK && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        st = apply(args, cfg, listens, option);
    }
    if (st == ST_OK && optind < argc) {
        (void)fprintf(stderr, "saga serve: unexpected argument %s\nTry: saga serve --help\n",
                      argv[optind]);
        st = ST_INVAL;
    }
    if (st == ST_OK && listens[0] != '\0') {
        st = set(cfg, "listen", listens);
    }
    if (st == ST_OK && !args->wants_help) {
        st = config_check(cfg, &errors);
    }
    if (st == ST_OK && !args->wants_help) {
        st = check_params(cfg);
    }
    print_errors(&errors);
    return st;
}
