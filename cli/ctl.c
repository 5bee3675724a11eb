/* SPDX-License-Identifier: Apache-2.0 */
/* saga ctl: asks the admin port of a running `saga serve` and prints what it says. */
#include "cli/cmd.h"
#include "cli/http_ask.h"
#include "cli/json_table.h"
#include "common/rt/secret.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMEOUT_MS = 10000,
    PATH_BYTES = 1024,
    BODY_BYTES = 1 << 20,
    CHUNK_BYTES = 8192,
    OUT_BYTES = 64 << 20,
    ARGS_MAX = 2
};

static const char usage[] =
    "usage: saga ctl [--admin URL] [--key-file FILE] [--json] [--timeout-ms N] COMMAND\n"
    "\n"
    "  status                      what the gateway is doing\n"
    "  engines                     engines, their health and load\n"
    "  sessions                    sessions known\n"
    "  session ID [--format F]     one session and those it started: steps, gaps, forecast;\n"
    "                              F = json, dot or svg\n"
    "  release-session ID          forget one, once its steps have ended\n"
    "  workflows [ID]              workflows that were declared, or one in full\n"
    "  declare FILE                declare one from its JSON form; - is standard input\n"
    "  drop-workflow ID            forget one; sessions that have it keep it\n"
    "  explain REQUEST_ID          why a request went where it went\n"
    "  add-engine URL [--name N]   take an engine into service\n"
    "  remove-engine NAME          take one out; what runs on it is finished\n"
    "  drain                       finish what runs, then exit (as SIGTERM)\n"
    "  metrics                     all metrics, Prometheus text\n"
    "  health                      is the process alive\n"
    "\n"
    "  --admin URL      admin port, http://HOST:PORT or unix:PATH (default http://127.0.0.1:8081)\n"
    "  --key-file FILE  file with the admin key, where one is set\n"
    "  --json           print the answer as it came\n"
    "  --timeout-ms N   give up after this time (default 10000)\n"
    "\n"
    "Exit code: 0 done, 1 refused or not reachable, 2 called wrongly.\n";

struct options {
    const char *admin;
    const char *key_file;
    const char *name;   /* of add-engine */
    const char *format; /* of session */
    bool is_json;
    uint64_t timeout_ms;
    const char *args[ARGS_MAX]; /* command and its argument */
    int arg_count;
};

struct command {
    const char *name;
    const char *method;
    const char *path; /* the argument follows it when takes_path_arg */
    bool takes_arg;
    bool is_arg_in_path;
    bool takes_format;
    bool is_file_sent; /* the argument is a file that is the body */
    bool is_text;      /* not JSON */
};

static const struct command commands[] = {
    {.name = "status", .method = "GET", .path = "/saga/v1/status"},
    {.name = "engines", .method = "GET", .path = "/saga/v1/engines"},
    {.name = "sessions", .method = "GET", .path = "/saga/v1/sessions"},
    {.name = "session",
     .method = "GET",
     .path = "/saga/v1/sessions/",
     .takes_arg = true,
     .is_arg_in_path = true,
     .takes_format = true},
    {.name = "release-session",
     .method = "DELETE",
     .path = "/saga/v1/sessions/",
     .takes_arg = true,
     .is_arg_in_path = true},
    {.name = "workflows", .method = "GET", .path = "/saga/v1/workflows"},
    {.name = "workflows",
     .method = "GET",
     .path = "/saga/v1/workflows/",
     .takes_arg = true,
     .is_arg_in_path = true},
    {.name = "declare",
     .method = "POST",
     .path = "/saga/v1/workflows",
     .takes_arg = true,
     .is_file_sent = true},
    {.name = "drop-workflow",
     .method = "DELETE",
     .path = "/saga/v1/workflows/",
     .takes_arg = true,
     .is_arg_in_path = true},
    {.name = "explain",
     .method = "GET",
     .path = "/saga/v1/receipts/",
     .takes_arg = true,
     .is_arg_in_path = true},
    {.name = "add-engine", .method = "POST", .path = "/saga/v1/engines", .takes_arg = true},
    {.name = "remove-engine",
     .method = "DELETE",
     .path = "/saga/v1/engines/",
     .takes_arg = true,
     .is_arg_in_path = true},
    {.name = "drain", .method = "POST", .path = "/saga/v1/drain"},
    {.name = "metrics", .method = "GET", .path = "/metrics", .is_text = true},
    {.name = "health", .method = "GET", .path = "/health"},
};

static const struct command *find_command(const char *name, bool has_arg)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(commands[i].name, name) == 0 && commands[i].takes_arg == has_arg) {
            return &commands[i];
        }
    }
    return NULL;
}

/* Returns -1 to go on, else an exit code. */
static int read_options(int argc, char **argv, struct options *opt)
{
    static const struct option table[] = {
        {"admin", required_argument, NULL, 'a'}, {"key-file", required_argument, NULL, 'k'},
        {"name", required_argument, NULL, 'n'},  {"format", required_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},        {"timeout-ms", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
    };
    *opt = (struct options){.admin = "http://127.0.0.1:8081", .timeout_ms = TIMEOUT_MS};
    optind = 0; /* other subcommands may have used it */
    int c;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 'a':
            opt->admin = optarg;
            break;
        case 'k':
            opt->key_file = optarg;
            break;
        case 'n':
            opt->name = optarg;
            break;
        case 'f':
            opt->format = optarg;
            break;
        case 'j':
            opt->is_json = true;
            break;
        case 't':
            if (str_to_u64(str_of(optarg), &opt->timeout_ms) != ST_OK || opt->timeout_ms == 0 ||
                opt->timeout_ms > 86400000) {
                (void)fprintf(stderr, "saga ctl: --timeout-ms must be 1 to 86400000\n");
                return CMD_USAGE;
            }
            break;
        case 'h':
            (void)fputs(usage, stdout);
            return CMD_OK;
        default:
            (void)fputs(usage, stderr);
            return CMD_USAGE;
        }
    }
    for (; optind < argc; optind++) {
        if (opt->arg_count == ARGS_MAX) {
            (void)fputs(usage, stderr);
            return CMD_USAGE;
        }
        opt->args[opt->arg_count++] = argv[optind];
    }
    return -1;
}

/* path + arg with every byte escaped that has a meaning in a URL. */
static bool make_path(const struct command *command, const char *arg, char ret[PATH_BYTES])
{
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    size_t len = str_copy(ret, PATH_BYTES, str_of(command->path));
    if (!command->is_arg_in_path) {
        return true;
    }
    ASSERT(arg != NULL);
    for (; *arg != '\0'; arg++) {
        if (len + 4 > PATH_BYTES) {
            return false;
        }
        if (strchr(plain, *arg) != NULL) {
            ret[len++] = *arg;
        } else {
            ret[len++] = '%';
            ret[len++] = hex[(unsigned char)*arg >> 4];
            ret[len++] = hex[(unsigned char)*arg & 15];
        }
    }
    ret[len] = '\0';
    return true;
}

/* ?format=F behind the path. */
static bool add_format(const struct options *opt, char path[PATH_BYTES])
{
    size_t len = strlen(path);
    if (opt->format == NULL) {
        return true;
    }
    int got = snprintf(path + len, PATH_BYTES - len, "?format=%s", opt->format);
    return got > 0 && (size_t)got < PATH_BYTES - len;
}

static enum status read_body(const char *path, struct buf *body, struct err *err)
{
    char chunk[CHUNK_BYTES];
    ASSERT(path != NULL);
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (file == NULL) {
        return err_set(err, ST_IO, "%.200s cannot be opened", path);
    }
    enum status st = ST_OK;
    size_t len = 0;
    while (st == ST_OK && (len = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        st = buf_add(body, chunk, len);
    }
    bool is_failed = ferror(file) != 0;
    if (file != stdin) {
        is_failed = fclose(file) != 0 || is_failed;
    }
    if (st != ST_OK || is_failed) {
        return err_set(err, ST_IO, "%.200s is %s", path, st != ST_OK ? "too long" : "not readable");
    }
    return ST_OK;
}

static enum status add_engine_body(const struct options *opt, struct buf *body)
{
    enum status st = buf_add_str(body, STR("{\"url\":\""));
    st = st == ST_OK ? buf_add_json(body, str_of(opt->args[1])) : st;
    if (opt->name != NULL) {
        st = st == ST_OK ? buf_add_str(body, STR("\",\"name\":\"")) : st;
        st = st == ST_OK ? buf_add_json(body, str_of(opt->name)) : st;
    }
    return st == ST_OK ? buf_add_str(body, STR("\"}")) : st;
}

/* What is sent, where the argument is not in the path. */
static enum status make_body(const struct command *command,
                             const struct options *opt,
                             struct buf *body,
                             struct err *err)
{
    if (!command->takes_arg || command->is_arg_in_path) {
        return ST_OK;
    }
    if (command->is_file_sent) {
        return read_body(opt->args[1], body, err);
    }
    return add_engine_body(opt, body) == ST_OK
               ? ST_OK
               : err_set(err, ST_INVAL, "the URL or name is too long");
}

static bool print_all(FILE *to, struct str text)
{
    bool is_done = text.len == 0 || fwrite(text.p, 1, text.len, to) == text.len;
    if (is_done && text.len > 0 && text.p[text.len - 1] != '\n') {
        is_done = fputc('\n', to) != EOF;
    }
    return is_done && fflush(to) == 0;
}

/* What a refusal says, from {"error":{"message":...}} or as it is. */
static void print_refusal(int status, struct str body)
{
    yyjson_doc *doc = body.len == 0 ? NULL : yyjson_read(body.p, body.len, 0);
    yyjson_val *message =
        yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "error"), "message");
    if (yyjson_is_str(message)) {
        (void)fprintf(stderr, "saga ctl: %s (HTTP %d)\n", yyjson_get_str(message), status);
    } else {
        (void)fprintf(stderr, "saga ctl: HTTP %d\n", status);
        (void)print_all(stderr, body);
    }
    yyjson_doc_free(doc);
}

static bool print_table(struct str body)
{
    yyjson_doc *doc = body.len == 0 ? NULL : yyjson_read(body.p, body.len, 0);
    if (doc == NULL) {
        return print_all(stdout, body);
    }
    struct buf out;
    buf_init(&out, mem_heap(), OUT_BYTES);
    bool is_done =
        json_table(&out, yyjson_doc_get_root(doc)) == ST_OK && print_all(stdout, buf_str(&out));
    buf_fini(&out);
    yyjson_doc_free(doc);
    return is_done;
}

static int run_command(const struct command *command, const struct options *opt)
{
    char path[PATH_BYTES];
    char key[SECRET_BYTES] = "";
    struct err err = {.status = ST_OK};
    struct buf body;
    struct buf answer;
    int status = 0;
    int rc = CMD_FAILED;
    buf_init(&body, mem_heap(), BODY_BYTES);
    buf_init(&answer, mem_heap(), HTTP_ASK_BYTES);
    if (opt->key_file != NULL && secret_read(opt->key_file, key, &err) != ST_OK) {
        goto out;
    }
    if (!make_path(command, opt->args[1], path) || !add_format(opt, path)) {
        status_ignore(err_set(&err, ST_INVAL, "'%.60s...' is too long", opt->args[1]),
                      "printed below");
        goto out;
    }
    if (make_body(command, opt, &body, &err) != ST_OK) {
        goto out;
    }
    struct http_ask ask = {
        .url = str_of(opt->admin),
        .method = command->method,
        .path = path,
        .key = str_of(key),
        .body = buf_str(&body),
        .timeout_us = opt->timeout_ms * 1000,
    };
    if (http_ask(&ask, &status, &answer, &err) != ST_OK) {
        goto out;
    }
    if (status >= 300) {
        print_refusal(status, buf_str(&answer));
    } else if (opt->is_json || command->is_text || opt->format != NULL) {
        rc = print_all(stdout, buf_str(&answer)) ? CMD_OK : CMD_FAILED;
    } else {
        rc = print_table(buf_str(&answer)) ? CMD_OK : CMD_FAILED;
    }
out:
    if (err.status != ST_OK) {
        (void)fprintf(stderr, "saga ctl: %s\n", err.text);
    }
    buf_fini(&body);
    buf_fini(&answer);
    return rc;
}

int cmd_ctl(int argc, char **argv)
{
    struct options opt;
    int rc = read_options(argc, argv, &opt);
    if (rc >= 0) {
        return rc;
    }
    const struct command *command =
        opt.arg_count == 0 ? NULL : find_command(opt.args[0], opt.arg_count == 2);
    if (command == NULL || (opt.format != NULL && !command->takes_format)) {
        (void)fputs(usage, stderr);
        return CMD_USAGE;
    }
    return run_command(command, &opt);
}
