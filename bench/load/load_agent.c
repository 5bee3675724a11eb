/* SPDX-License-Identifier: Apache-2.0 */
/* Mode agent: what coding agents do to a gateway. Each session's prompt grows: 14 messages and 308
 * KB at its first step, two more messages (an assistant turn with a tool call, the tool's answer; 8
 * KB) each step, 62 messages and 500 KB at step 25. All sessions share one system prompt
 * (--common-bytes); the first part of the sessions' own text shrinks when the shared part grows, so
 * that sizes stay. Order: all sessions' first steps, then all second steps, and so on, --in-flight
 * at a time. Affinity is read from the answers: did the replica that served a step also serve the
 * session's step before it? */
#include "bench/load/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES    308000U /* a request at step 1 */
#define STEP_BYTES     8000U   /* what each step adds */
#define FIRST_MESSAGES 13U     /* beside the system prompt, at step 1 */
#define REPLICA_MAX    100U
#define WORD_COUNT     1024U

struct agent_session {
    char *text;         /* this session's messages as JSON, each led by a comma */
    size_t *step_bytes; /* [steps] length of text at each step */
    bool is_busy;
    int replica; /* that served its last step; -1 = none */
    bool has_moved;
};

struct agent_run {
    const struct load_args *args;
    char words[WORD_COUNT][12];
    char *system; /* start of every body, up to the session's text */
    size_t system_bytes;
    struct agent_session *sessions;
    struct client_conn **idle; /* [idle_count] */
    uint64_t idle_count;
    uint64_t asked;
    uint64_t ended;
    uint64_t followed; /* steps after a session's first that were answered */
    uint64_t stayed;   /* of these, on the same replica */
    uint64_t sent_bytes;
    uint64_t served[REPLICA_MAX];
    struct samples first_ms;
};

/* Text in the manner of program listings: words, line ends and quotes, escaped for JSON. Returns
 * its length. */
static size_t text_fill(const struct agent_run *run, char *ret_text, size_t bytes, uint64_t *rng)
{
    size_t at = 0;
    unsigned word = 0;

    while (at + 16 < bytes) {
        uint64_t bits = load_random(rng) >> 20;
        const char *text = run->words[bits % WORD_COUNT];
        size_t len = strlen(text);

        memcpy(ret_text + at, text, len);
        at += len;
        word++;
        if (word % 9 == 0) {
            memcpy(ret_text + at, "\\n    ", 6);
            at += 6;
        } else if (word % 31 == 0) {
            memcpy(ret_text + at, "\\\"", 2);
            at += 2;
        } else {
            ret_text[at++] = ' ';
        }
    }
    while (at < bytes) {
        ret_text[at++] = '.';
    }
    return at;
}

static size_t message_add(
    const struct agent_run *run, char *ret_text, size_t bytes, unsigned index, uint64_t *rng)
{
    char start[64];
    char end[192] = "\"}";
    int start_len = 0;
    size_t end_len = 0;
    size_t body = 0;

    if (index == 0) {
        start_len = snprintf(start, sizeof(start), ",{\"role\":\"user\",\"content\":\"");
    } else if (index % 2 == 1) {
        start_len = snprintf(start, sizeof(start), ",{\"role\":\"assistant\",\"content\":\"");
        (void)snprintf(
            end, sizeof(end),
            "\",\"tool_calls\":[{\"id\":\"call_%u\",\"type\":\"function\",\"function\":"
            "{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"make test\\\"}\"}}]}",
            index);
    } else {
        start_len =
            snprintf(start, sizeof(start),
                     ",{\"role\":\"tool\",\"tool_call_id\":\"call_%u\",\"content\":\"", index - 1);
    }
    memcpy(ret_text, start, (size_t)start_len);
    end_len = strlen(end);
    body = bytes > (size_t)start_len + end_len ? bytes - (size_t)start_len - end_len : 0;
    body = text_fill(run, ret_text + start_len, body, rng);
    memcpy(ret_text + (size_t)start_len + body, end, end_len);
    return (size_t)start_len + body + end_len;
}

static void session_build(struct agent_run *run, struct agent_session *session, uint64_t seed)
{
    uint64_t steps = run->args->steps;
    uint64_t rng = seed;
    size_t own = run->args->common_bytes + 20000U < FIRST_BYTES
                     ? FIRST_BYTES - run->args->common_bytes
                     : 20000U;
    unsigned index = 0;
    size_t at = 0;

    session->replica = -1;
    session->text = wire_alloc(1, own + steps * STEP_BYTES + 65536U);
    session->step_bytes = wire_alloc(steps, sizeof(size_t));
    for (; index < FIRST_MESSAGES; index++) {
        at += message_add(run, session->text + at, own / FIRST_MESSAGES, index, &rng);
    }
    session->step_bytes[0] = at;
    for (uint64_t step = 1; step < steps; step++) {
        at += message_add(run, session->text + at, STEP_BYTES / 4, index++, &rng);
        at += message_add(run, session->text + at, STEP_BYTES - STEP_BYTES / 4, index++, &rng);
        session->step_bytes[step] = at;
    }
}

static void run_build(struct agent_run *run)
{
    static const char start[] =
        "{\"model\":\"mock\",\"stream\":true,\"max_tokens\":4096,"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"bash\","
        "\"description\":\"Run a command\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{\"command\":{\"type\":\"string\"}}}}}],"
        "\"messages\":[{\"role\":\"system\",\"content\":\"";
    const struct load_args *args = run->args;
    uint64_t rng = args->seed * 2654435761U + 1U;

    for (size_t i = 0; i < WORD_COUNT; i++) {
        uint64_t bits = load_random(&rng) >> 8;
        size_t len = 3 + bits % 7;

        for (size_t c = 0; c < len; c++) {
            run->words[i][c] = (char)('a' + (bits >> (5 * c + 5)) % 26);
        }
    }
    run->system = wire_alloc(1, sizeof(start) + args->common_bytes + 16);
    memcpy(run->system, start, sizeof(start) - 1);
    run->system_bytes = sizeof(start) - 1;
    run->system_bytes += text_fill(run, run->system + run->system_bytes, args->common_bytes, &rng);
    memcpy(run->system + run->system_bytes, "\"}", 2);
    run->system_bytes += 2;
    run->sessions = wire_alloc(args->sessions, sizeof(*run->sessions));
    for (uint64_t i = 0; i < args->sessions; i++) {
        session_build(run, &run->sessions[i], (args->seed << 20) + i + 7U);
    }
}

static void agent_ask(struct client *client, struct client_conn *conn)
{
    static char tail[] = "]}";
    struct agent_run *run = client->ctx;
    uint64_t step = run->asked / run->args->sessions;
    uint64_t index = run->asked % run->args->sessions;
    struct agent_session *session = &run->sessions[index];
    size_t own = session->step_bytes[step];
    char extra[64] = "";

    if (run->args->session_header != 0) {
        (void)snprintf(extra, sizeof(extra), "x-session-id: bench-%" PRIu64 "-%" PRIu64 "\r\n",
                       run->args->seed, index);
    }
    run->asked++;
    session->is_busy = true;
    conn->tag = index;
    load_head(conn, run->args, run->system_bytes + own + 2, extra);
    conn->iov[1] = (struct iovec){.iov_base = run->system, .iov_len = run->system_bytes};
    conn->iov[2] = (struct iovec){.iov_base = session->text, .iov_len = own};
    conn->iov[3] = (struct iovec){.iov_base = tail, .iov_len = 2};
    conn->iov_count = 4;
    run->sent_bytes += run->system_bytes + own + 2;
    client_ask(client, conn, wire_now_ns());
}

/* A session's next step waits for its last one; then everything behind it waits, to keep the order.
 */
static void agent_ask_more(struct client *client)
{
    struct agent_run *run = client->ctx;

    while (run->idle_count > 0 && run->asked < run->args->sessions * run->args->steps &&
           !run->sessions[run->asked % run->args->sessions].is_busy) {
        agent_ask(client, run->idle[--run->idle_count]);
    }
}

static void
agent_done(struct client *client, struct client_conn *conn, enum client_end end, uint64_t now_ns)
{
    struct agent_run *run = client->ctx;
    struct agent_session *session = &run->sessions[conn->tag];

    (void)now_ns;
    session->is_busy = false;
    if (end == CLIENT_OK && conn->replica >= 0) {
        samples_add(&run->first_ms, (double)(conn->first_ns - conn->asked_ns) / 1e6);
        run->served[(unsigned)conn->replica % REPLICA_MAX]++;
        if (session->replica >= 0) {
            run->followed++;
            run->stayed += session->replica == conn->replica ? 1 : 0;
            session->has_moved = session->has_moved || session->replica != conn->replica;
        }
        session->replica = conn->replica;
    }
    run->ended++;
    run->idle[run->idle_count++] = conn;
    if (run->ended == run->args->sessions * run->args->steps) {
        client->is_stopping = true;
        return;
    }
    agent_ask_more(client);
}

static void
agent_print(struct agent_run *run, const struct client *client, bool is_whole, double seconds)
{
    uint64_t unmoved = 0;

    for (uint64_t i = 0; i < run->args->sessions; i++) {
        unmoved += run->sessions[i].has_moved ? 0 : 1;
    }
    printf(
        "{\"mode\":\"agent\",\"whole\":%s,\"seconds\":%.6f,\"per_s\":%.1f,\"sent_bytes\":%" PRIu64
        ",\"followed\":%" PRIu64 ",\"stayed\":%" PRIu64 ",\"sessions\":%" PRIu64
        ",\"sessions_unmoved\":%" PRIu64 ",\"served\":[",
        is_whole ? "true" : "false", seconds, (double)run->ended / seconds, run->sent_bytes,
        run->followed, run->stayed, run->args->sessions, unmoved);
    for (unsigned i = 0; i < 16; i++) {
        printf("%s%" PRIu64, i == 0 ? "" : ",", run->served[i]);
    }
    printf("],");
    client_print(client);
    samples_print(&run->first_ms, "first_ms");
    puts("}");
}

int load_agent(const struct load_args *args)
{
    static const struct client_ops ops = {.on_done = agent_done};
    static struct agent_run run;
    struct client client;
    bool is_whole = false;
    uint64_t started_ns = 0;

    run.args = args;
    run_build(&run);
    if (!client_init(&client, &args->to, (uint32_t)args->in_flight, &ops, &run)) {
        return 1;
    }
    run.idle = wire_alloc(args->in_flight, sizeof(struct client_conn *));
    for (uint32_t i = client.conn_count; i-- > 0;) {
        run.idle[run.idle_count++] = client.conns[i];
    }
    started_ns = wire_now_ns();
    client.deadline_ns = started_ns + args->deadline_s * 1000000000U;
    agent_ask_more(&client);
    is_whole = client_run(&client);
    agent_print(&run, &client, is_whole, (double)(wire_now_ns() - started_ns) / 1e9);
    for (uint64_t i = 0; i < args->sessions; i++) {
        free(run.sessions[i].text);
        free(run.sessions[i].step_bytes);
    }
    samples_fini(&run.first_ms);
    client_fini(&client);
    free(run.sessions);
    free(run.system);
    free(run.idle);
    return is_whole ? 0 : 3;
}
