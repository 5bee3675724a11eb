/* SPDX-License-Identifier: Apache-2.0 */
/* Modes leave and silent: streams that end or stay without a word.
 *
 * leave: all clients wait until the last one has its first event (or, --before-any 1, until the
 * mock says that all requests reached it), then all leave at once; the mock says when it saw each
 * one go. Both clocks are CLOCK_MONOTONIC of one machine, so the difference is the true delay.
 * silent: streams with one event each, then nothing, held until stdin ends. A line with "held" is
 * printed when all are open. */
#include "bench/load/load.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEFT_TEXT_BYTES ((size_t)4 * 1024 * 1024)

struct leave_run {
    uint32_t started; /* streams that have their first event */
    uint64_t ended;   /* answers that ended: none should */
};

static void
leave_event(struct client *client, struct client_conn *conn, uint64_t sent_ns, uint64_t now_ns)
{
    struct leave_run *run = client->ctx;

    (void)sent_ns;
    (void)now_ns;
    if (conn->events == 1 && ++run->started == client->conn_count) {
        client->is_stopping = true;
    }
}

static void
leave_done(struct client *client, struct client_conn *conn, enum client_end end, uint64_t now_ns)
{
    struct leave_run *run = client->ctx;

    (void)conn;
    (void)end;
    (void)now_ns;
    run->ended++;
    client->is_stopping = true;
}

static void wait_ms(int ms)
{
    struct pollfd nothing = {.fd = -1};

    (void)poll(&nothing, 1, ms);
}

/* Requests in progress in all replicas, as the mock counts them. */
static uint64_t mock_open_count(const struct load_args *args, char *text, size_t cap)
{
    uint64_t open_count = 0;
    const char *at = text;

    if (wire_get(&args->mock, "/mock/stats", text, cap) != 200) {
        return 0;
    }
    while ((at = strstr(at, "\"open\":")) != NULL) {
        at += 7;
        open_count += strtoull(at, NULL, 10);
    }
    return open_count;
}

static void ask_all(struct client *client, const struct load_args *args, unsigned silence)
{
    for (uint32_t i = 0; i < client->conn_count; i++) {
        char extra[96];

        (void)snprintf(extra, sizeof(extra), "x-mock-id: %u\r\nx-mock-silent: %u\r\n", i + 1,
                       silence);
        load_chat(client->conns[i], args, true, i ^ (args->seed << 32), extra);
        client_ask(client, client->conns[i], wire_now_ns());
    }
}

/* Reads the mock's records into delay_ms; returns how many departures it has seen. */
static uint64_t
left_read(char *text, const uint64_t *gone_ns, uint64_t count, struct samples *ret_delay_ms)
{
    uint64_t seen = 0;

    for (char *line = text; *line != '\0' && seen < count;) {
        uint64_t id = strtoull(line, &line, 10);
        uint64_t at_ns = strtoull(line, &line, 10);

        line = strchr(line, '\n');
        if (line == NULL) {
            break;
        }
        line++;
        if (id >= 1 && id <= count) {
            seen++;
            samples_add(ret_delay_ms, ((double)at_ns - (double)gone_ns[id - 1]) / 1e6);
        }
    }
    return seen;
}

static bool leave_ready(struct client *client, const struct load_args *args, char *text)
{
    uint64_t until_ns = wire_now_ns() + 5000000000U;

    client->deadline_ns = until_ns;
    if (args->before_any == 0) {
        return client_run(client);
    }
    while (mock_open_count(args, text, LEFT_TEXT_BYTES) < client->conn_count) {
        client->deadline_ns = wire_now_ns() + 20000000U;
        (void)client_run(client); /* so that a refusal is seen */
        if (wire_now_ns() > until_ns || client->is_stopping) {
            return false;
        }
    }
    return true;
}

int load_leave(const struct load_args *args)
{
    static const struct client_ops ops = {.on_event = leave_event, .on_done = leave_done};
    struct client client;
    struct leave_run run = {0};
    struct samples delay_ms = {0};
    char *text = wire_alloc(1, LEFT_TEXT_BYTES);
    uint64_t *gone_ns = wire_alloc(args->streams, sizeof(*gone_ns));
    uint64_t seen = 0;
    uint64_t until_ns = 0;
    bool is_ready = false;

    if (!args->has_mock || wire_get(&args->mock, "/mock/reset", text, LEFT_TEXT_BYTES) != 200 ||
        !client_init(&client, &args->to, (uint32_t)args->streams, &ops, &run)) {
        (void)fputs("bench-load: leave needs --mock and a gateway\n", stderr);
        return 1;
    }
    ask_all(&client, args, args->before_any != 0 ? 1U : 0U);
    is_ready = leave_ready(&client, args, text);
    for (uint32_t i = 0; i < client.conn_count; i++) {
        gone_ns[i] = wire_now_ns();
        client_leave(client.conns[i]);
    }
    until_ns = wire_now_ns() + args->deadline_s * 1000000000U;
    while (is_ready && seen < args->streams && wire_now_ns() < until_ns) {
        wait_ms(50);
        if (wire_get(&args->mock, "/mock/left", text, LEFT_TEXT_BYTES) == 200) {
            delay_ms.count = 0;
            seen = left_read(text, gone_ns, args->streams, &delay_ms);
        }
    }
    printf("{\"mode\":\"leave\",\"whole\":%s,\"before_any\":%" PRIu64 ",\"streams\":%" PRIu64
           ",\"seen\":%" PRIu64 ",\"still_open\":%" PRIu64 ",",
           is_ready && seen == args->streams ? "true" : "false", args->before_any, args->streams,
           seen, mock_open_count(args, text, LEFT_TEXT_BYTES));
    client_print(&client);
    samples_print(&delay_ms, "delay_ms");
    puts("}");
    samples_fini(&delay_ms);
    client_fini(&client);
    free(gone_ns);
    free(text);
    return is_ready && seen == args->streams ? 0 : 3;
}

int load_silent(const struct load_args *args)
{
    static const struct client_ops ops = {.on_event = leave_event, .on_done = leave_done};
    struct load_args one = *args;
    struct client client;
    struct leave_run run = {0};
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    uint64_t until_ns = 0;
    bool is_held = false;

    one.chunks = 1;
    if (!client_init(&client, &args->to, (uint32_t)args->streams, &ops, &run)) {
        return 1;
    }
    client.deadline_ns = wire_now_ns() + args->deadline_s * 1000000000U;
    ask_all(&client, &one, 3U);
    is_held = client_run(&client) && run.ended == 0;
    printf("{\"mode\":\"silent\",\"held\":%u}\n", run.started);
    (void)fflush(stdout);
    client.is_stopping = false;
    until_ns = wire_now_ns() + args->hold_s * 1000000000U;
    while (is_held && run.ended == 0 && wire_now_ns() < until_ns && poll(&input, 1, 0) == 0) {
        client.deadline_ns = wire_now_ns() + 100000000U;
        (void)client_run(&client);
    }
    printf("{\"mode\":\"silent\",\"whole\":%s,", is_held && run.ended == 0 ? "true" : "false");
    client_print(&client);
    printf("\"streams\":%" PRIu64 "}\n", args->streams);
    client_fini(&client);
    return is_held && run.ended == 0 ? 0 : 3;
}
