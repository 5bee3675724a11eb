/* SPDX-License-Identifier: Apache-2.0 */
/* Mode streams: many SSE streams side by side. Starts are spread out, so that events of different
 * streams do not fall together. Reports the one-way delay of every event (the mock's write to our
 * read), the time to the first event, and how many events a read held: above 1, somebody on the way
 * merges them. */
#include "bench/load/load.h"

#include <stdio.h>

struct streams_run {
    const struct load_args *args;
    uint64_t started_ns;
    uint64_t spread_ns; /* between two starts */
    uint32_t begun;     /* connections that have started */
    uint64_t asked;
    uint64_t ended;
    struct samples event_ms;
    struct samples first_ms;
};

static void streams_ask(struct client *client, struct client_conn *conn, uint64_t now_ns)
{
    struct streams_run *run = client->ctx;

    load_chat(conn, run->args, true, run->asked++ ^ (run->args->seed << 32), "");
    client_ask(client, conn, now_ns);
}

static void streams_wake(struct client *client, uint64_t now_ns)
{
    struct streams_run *run = client->ctx;

    while (run->begun < client->conn_count) {
        uint64_t when_ns = run->started_ns + run->begun * run->spread_ns;

        if (when_ns > now_ns) {
            client->wake_ns = when_ns;
            return;
        }
        streams_ask(client, client->conns[run->begun++], wire_now_ns());
    }
}

static void
streams_event(struct client *client, struct client_conn *conn, uint64_t sent_ns, uint64_t now_ns)
{
    struct streams_run *run = client->ctx;

    if (conn->events == 1) {
        samples_add(&run->first_ms, (double)(now_ns - conn->asked_ns) / 1e6);
    }
    samples_add(&run->event_ms, (double)(now_ns - sent_ns) / 1e6);
}

static void
streams_done(struct client *client, struct client_conn *conn, enum client_end end, uint64_t now_ns)
{
    struct streams_run *run = client->ctx;

    (void)end;
    run->ended++;
    if (run->ended == run->args->streams * run->args->rounds) {
        client->is_stopping = true;
    } else if (++conn->tag < run->args->rounds) {
        streams_ask(client, conn, now_ns);
    }
}

int load_streams(const struct load_args *args)
{
    static const struct client_ops ops = {
        .on_event = streams_event, .on_done = streams_done, .on_wake = streams_wake};
    struct client client;
    struct streams_run run = {.args = args};
    bool is_whole = false;
    double seconds = 0;

    if (!client_init(&client, &args->to, (uint32_t)args->streams, &ops, &run)) {
        return 1;
    }
    run.started_ns = wire_now_ns();
    /* Spread the starts over one interval, but no faster than 10,000 a second. */
    run.spread_ns = args->interval_us * 1000U / args->streams;
    if (run.spread_ns < 100000) {
        run.spread_ns = 100000;
    }
    client.deadline_ns = run.started_ns + args->deadline_s * 1000000000U;
    client.wake_ns = run.started_ns;
    is_whole = client_run(&client);
    seconds = (double)(wire_now_ns() - run.started_ns) / 1e9;
    printf("{\"mode\":\"streams\",\"whole\":%s,\"seconds\":%.6f,\"events_per_s\":%.1f,"
           "\"events_per_read\":%.4f,",
           is_whole ? "true" : "false", seconds, (double)client.event_count / seconds,
           client.read_count == 0 ? 0.0 : (double)client.event_count / (double)client.read_count);
    client_print(&client);
    samples_print(&run.event_ms, "event_ms");
    putchar(',');
    samples_print(&run.first_ms, "first_ms");
    puts("}");
    samples_fini(&run.event_ms);
    samples_fini(&run.first_ms);
    client_fini(&client);
    return is_whole ? 0 : 3;
}
