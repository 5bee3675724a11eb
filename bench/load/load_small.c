/* SPDX-License-Identifier: Apache-2.0 */
/* Mode small: short requests, whole answers.
 * Closed loop: each connection asks again as soon as it is answered: throughput and CPU per
 * request. Open loop (--rate): requests are due at fixed times whatever the gateway does, and
 * delays count from the due time, so that a stall is not hidden by the requests it kept from being
 * sent. */
#include "bench/load/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct small_run {
    const struct load_args *args;
    uint64_t started_ns;
    uint64_t asked;
    uint64_t ended;
    uint64_t late_max_ns; /* the generator's own lateness, open loop */
    struct samples delay_ms;
    struct client_conn **idle; /* [idle_count] */
    uint64_t idle_count;
};

static void small_ask(struct client *client, struct client_conn *conn, uint64_t asked_ns)
{
    struct small_run *run = client->ctx;
    uint64_t serial = run->asked++;

    load_chat(conn, run->args, false, serial ^ (run->args->seed << 32), "");
    client_ask(client, conn, asked_ns);
}

static uint64_t due_ns(const struct small_run *run, uint64_t serial)
{
    return run->started_ns + serial * 1000000000U / run->args->rate;
}

/* Sends what is due while connections are free. */
static void small_send_due(struct client *client, uint64_t now_ns)
{
    struct small_run *run = client->ctx;

    while (run->asked < run->args->requests && run->idle_count > 0) {
        uint64_t when_ns = due_ns(run, run->asked);

        if (when_ns > now_ns) {
            client->wake_ns = when_ns;
            return;
        }
        if (now_ns - when_ns > run->late_max_ns) {
            run->late_max_ns = now_ns - when_ns;
        }
        small_ask(client, run->idle[--run->idle_count], when_ns);
    }
}

static void
small_done(struct client *client, struct client_conn *conn, enum client_end end, uint64_t now_ns)
{
    struct small_run *run = client->ctx;

    if (end == CLIENT_OK) {
        samples_add(&run->delay_ms, (double)(now_ns - conn->asked_ns) / 1e6);
    }
    run->ended++;
    if (run->ended == run->args->requests) {
        client->is_stopping = true;
    } else if (run->args->rate > 0) {
        run->idle[run->idle_count++] = conn;
        small_send_due(client, now_ns);
    } else if (run->asked < run->args->requests) {
        small_ask(client, conn, now_ns);
    }
}

int load_small(const struct load_args *args)
{
    static const struct client_ops ops = {.on_done = small_done, .on_wake = small_send_due};
    struct client client;
    struct small_run run = {.args = args};
    bool is_whole = false;
    double seconds = 0;

    if (!client_init(&client, &args->to, (uint32_t)args->connections, &ops, &run)) {
        return 1;
    }
    run.idle = wire_alloc(args->connections, sizeof(struct client_conn *));
    run.started_ns = wire_now_ns();
    client.deadline_ns = run.started_ns + args->deadline_s * 1000000000U;
    if (args->rate > 0) {
        for (uint32_t i = 0; i < client.conn_count; i++) {
            run.idle[run.idle_count++] = client.conns[i];
        }
        small_send_due(&client, wire_now_ns());
    } else {
        for (uint32_t i = 0; i < client.conn_count && run.asked < args->requests; i++) {
            small_ask(&client, client.conns[i], wire_now_ns());
        }
    }
    is_whole = client_run(&client);
    seconds = (double)(wire_now_ns() - run.started_ns) / 1e9;
    printf("{\"mode\":\"small\",\"whole\":%s,\"seconds\":%.6f,\"per_s\":%.1f,\"late_max_ms\":%.3f,",
           is_whole ? "true" : "false", seconds, (double)run.ended / seconds,
           (double)run.late_max_ns / 1e6);
    client_print(&client);
    samples_print(&run.delay_ms, "delay_ms");
    puts("}");
    samples_fini(&run.delay_ms);
    client_fini(&client);
    free(run.idle);
    return is_whole ? 0 : 3;
}
