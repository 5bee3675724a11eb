/* SPDX-License-Identifier: Apache-2.0 */
/* bench-load: an HTTP load generator for LLM gateways that stand in front of bench-mock.
 * One process, one thread, one epoll. See docs/bench.md for what each mode measures. */
#include "bench/load/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define PROMPT_BYTES 860U

struct load_mode {
    const char *name;
    int (*run)(const struct load_args *args);
    const char *help;
};

static const struct load_mode MODES[] = {
    {"small", load_small, "short requests, not streamed: closed loop, or open loop at --rate"},
    {"streams", load_streams, "--streams SSE streams of --chunks events, --interval-us apart"},
    {"agent", load_agent, "growing prompts: --sessions x --steps, all first steps first"},
    {"leave", load_leave, "streams whose clients leave; asks --mock when it saw that"},
    {"silent", load_silent, "--streams open streams that say nothing, until stdin ends"},
};

struct load_flag {
    const char *name;
    size_t offset;
    uint64_t standard;
};

#define FLAG(text, field, value)                       \
    {                                                  \
        text, offsetof(struct load_args, field), value \
    }

static const struct load_flag FLAGS[] = {
    FLAG("--seed", seed, 1),
    FLAG("--deadline-s", deadline_s, 60),
    FLAG("--connections", connections, 64),
    FLAG("--requests", requests, 10000),
    FLAG("--rate", rate, 0),
    FLAG("--streams", streams, 64),
    FLAG("--rounds", rounds, 1),
    FLAG("--chunks", chunks, 200),
    FLAG("--interval-us", interval_us, 10000),
    FLAG("--chunk-bytes", chunk_bytes, 200),
    FLAG("--delay-us", delay_us, 0),
    FLAG("--sessions", sessions, 200),
    FLAG("--steps", steps, 25),
    FLAG("--in-flight", in_flight, 32),
    FLAG("--common-bytes", common_bytes, 30000),
    FLAG("--session-header", session_header, 0),
    FLAG("--same-prompt", same_prompt, 0),
    FLAG("--before-any", before_any, 0),
    FLAG("--hold-s", hold_s, 60),
};

#define FLAG_COUNT (sizeof(FLAGS) / sizeof(FLAGS[0]))
#define MODE_COUNT (sizeof(MODES) / sizeof(MODES[0]))

uint64_t load_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717U;
}

void load_head(struct client_conn *conn,
               const struct load_args *args,
               size_t length,
               const char *extra)
{
    int len =
        snprintf(conn->ask_head, sizeof(conn->ask_head),
                 "POST /v1/chat/completions HTTP/1.1\r\n"
                 "Host: gateway.bench\r\n"
                 "Accept: application/json\r\n"
                 "Accept-Encoding: identity\r\n"
                 "User-Agent: bench-load/1\r\n"
                 "Authorization: Bearer bench-key-000000000000\r\n"
                 "Content-Type: application/json\r\n"
                 "Content-Length: %zu\r\n"
                 "x-mock-chunks: %" PRIu64 "\r\n"
                 "x-mock-interval-us: %" PRIu64 "\r\n"
                 "x-mock-chunk-bytes: %" PRIu64 "\r\n"
                 "x-mock-delay-us: %" PRIu64 "\r\n"
                 "%s\r\n",
                 length, args->chunks, args->interval_us, args->chunk_bytes, args->delay_us, extra);

    conn->iov[0] = (struct iovec){.iov_base = conn->ask_head, .iov_len = (size_t)len};
    conn->iov_count = 1;
}

void load_chat(struct client_conn *conn,
               const struct load_args *args,
               bool is_stream,
               uint64_t serial,
               const char *extra)
{
    char prompt[PROMPT_BYTES + 1];
    int len = 0;

    memset(prompt, 'a', PROMPT_BYTES);
    prompt[PROMPT_BYTES] = '\0';
    for (size_t i = 5; i < PROMPT_BYTES; i += 6) {
        prompt[i] = ' ';
    }
    len = snprintf(conn->ask_body, sizeof(conn->ask_body),
                   "{\"model\":\"mock\",\"stream\":%s,\"max_tokens\":256,\"temperature\":0.7,"
                   "\"messages\":[{\"role\":\"user\",\"content\":\"%016" PRIx64 " %s\"}]}",
                   is_stream ? "true" : "false", args->same_prompt != 0 ? 0 : serial, prompt);
    load_head(conn, args, (size_t)len, extra);
    conn->iov[1] = (struct iovec){.iov_base = conn->ask_body, .iov_len = (size_t)len};
    conn->iov_count = 2;
}

static int usage(void)
{
    (void)fputs("usage: bench-load MODE --to HOST:PORT [--mock HOST:PORT] [FLAG N]...\n", stderr);
    for (size_t i = 0; i < MODE_COUNT; i++) {
        (void)fprintf(stderr, "  %-8s %s\n", MODES[i].name, MODES[i].help);
    }
    (void)fputs("flags and their standard values:", stderr);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        (void)fprintf(stderr, " %s %" PRIu64, FLAGS[i].name, FLAGS[i].standard);
    }
    (void)fputc('\n', stderr);
    return 2;
}

static void flag_set(struct load_args *args, const struct load_flag *flag, uint64_t value)
{
    memcpy((char *)args + flag->offset, &value, sizeof(value));
}

static bool args_read(int argc, char **argv, struct load_args *ret_args)
{
    bool has_to = false;

    for (size_t i = 0; i < FLAG_COUNT; i++) {
        flag_set(ret_args, &FLAGS[i], FLAGS[i].standard);
    }
    for (int at = 2; at < argc; at += 2) {
        size_t i = 0;
        char *end = NULL;

        if (at + 1 >= argc) {
            return false;
        }
        if (strcmp(argv[at], "--to") == 0) {
            has_to = wire_addr_parse(argv[at + 1], &ret_args->to);
            continue;
        }
        if (strcmp(argv[at], "--mock") == 0) {
            ret_args->has_mock = wire_addr_parse(argv[at + 1], &ret_args->mock);
            continue;
        }
        while (i < FLAG_COUNT && strcmp(argv[at], FLAGS[i].name) != 0) {
            i++;
        }
        if (i == FLAG_COUNT) {
            return false;
        }
        flag_set(ret_args, &FLAGS[i], strtoull(argv[at + 1], &end, 10));
        if (*end != '\0') {
            return false;
        }
    }
    return has_to && ret_args->seed != 0;
}

int main(int argc, char **argv)
{
    struct load_args args = {0};

    if (argc < 2 || !args_read(argc, argv, &args)) {
        return usage();
    }
    (void)wire_raise_fd_limit();
    if (prctl(PR_SET_TIMERSLACK, 1) != 0) {
        perror("bench-load");
        return 1;
    }
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (strcmp(argv[1], MODES[i].name) == 0) {
            return MODES[i].run(&args);
        }
    }
    return usage();
}
