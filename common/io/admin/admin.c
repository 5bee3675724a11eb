/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. libmicrohttpd, run by our thread in its epoll mode, hands over headers: a slot is
 * taken, the route found; 2. the body is collected; 3. the handler answers, or the connection is
 * suspended; 4. admin_answer posts to the mailbox, the thread wakes, resumes the connection; 5. the
 * answer is queued and the slot goes back when it is sent. Failures: no route or key, 4xx after the
 * body was passed over; a body too large, 413 at once; no answer in time, 504; a client that leaves
 * while suspended is noticed at step 5. */
#include "common/io/admin/admin.h"

#include "common/rt/clock.h"
#include "common/rt/log.h"
#include "common/rt/mailbox.h"
#include "common/rt/secret.h"
#include "common/rt/thread.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    CALL_TIMEOUT_S = 15,          /* silence on a connection */
    CALL_MEMORY_BYTES = 32 << 10, /* headers of one connection */
    DISCARD_BYTES = 1 << 20,      /* of a body nobody wants, before the connection is cut */
    STOP_US = 1000000,            /* time the last answers get to be sent */
    STOP_STEP_MS = 20,
    IDLE_MS = 5000, /* longest wait, whatever libmicrohttpd says */
};

enum call_state {
    CALL_FREE,
    CALL_READING,
    CALL_WAITING,  /* suspended, its handler said ADMIN_LATER */
    CALL_ANSWERED, /* resp is set, not queued yet */
    CALL_SENDING,
};

/* One request. */
struct call {
    enum call_state state;
    uint32_t generation;
    struct MHD_Connection *conn;
    const struct admin_route *route; /* NULL: resp holds the refusal */
    struct str tail;                 /* in the connection's own memory */
    struct buf body;
    uint64_t passed_bytes;  /* of a body that is not kept */
    uint64_t deadline_us;   /* CALL_WAITING */
    struct admin_resp resp; /* body must live until the call is over: it is not copied */
};

struct answer {
    struct admin_ticket ticket;
    struct admin_resp resp;
};

struct admin {
    struct admin_config config;
    char key[SECRET_BYTES];
    struct net_addr local;
    struct MHD_Daemon *daemon;
    int epoll_fd; /* libmicrohttpd's */
    struct mailbox *answers;
    struct thread thread;
    atomic_bool is_stopping;
    uint32_t waiting_count;
    struct call calls[ADMIN_CONNECTIONS_MAX];
};

static struct str header_of(struct MHD_Connection *conn, const char *name)
{
    return str_of(MHD_lookup_connection_value(conn, MHD_HEADER_KIND, name));
}

static struct call *call_take(struct admin *admin)
{
    for (uint32_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++) {
        if (admin->calls[i].state == CALL_FREE) {
            struct call *call = &admin->calls[i];
            uint32_t generation = call->generation + 1;
            *call = (struct call){.state = CALL_READING, .generation = generation};
            buf_init(&call->body, mem_heap(), ADMIN_BODY_BYTES);
            admin_resp_init(&call->resp);
            return call;
        }
    }
    return NULL;
}

static void call_drop(struct admin *admin, struct call *call)
{
    if (call->state == CALL_WAITING) {
        admin->waiting_count--;
    }
    buf_fini(&call->body);
    admin_resp_fini(&call->resp);
    call->state = CALL_FREE;
}

static enum MHD_Result call_send(struct call *call)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        call->resp.body.len, call->resp.body.p, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        return MHD_NO;
    }
    /* Without a header the answer is still right; memory is all that can lack. */
    (void)MHD_add_response_header(response, "Content-Type", call->resp.content_type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (call->resp.status == 401) {
        (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
    call->state = CALL_SENDING;
    enum MHD_Result result = MHD_queue_response(call->conn, (unsigned)call->resp.status, response);
    MHD_destroy_response(response);
    return result;
}

/* Refuses a request whose declared body is too large before a byte of it is read. */
static bool is_declared_too_large(const struct call *call)
{
    struct str length = header_of(call->conn, "Content-Length");
    uint64_t bytes;
    return length.len > 0 && (str_to_u64(length, &bytes) != ST_OK || bytes > ADMIN_BODY_BYTES);
}

static void refuse_large(struct call *call)
{
    call->route = NULL;
    admin_resp_error(&call->resp, 413, "invalid_request_error",
                     "a body may have at most %d bytes here", ADMIN_BODY_BYTES);
}

static enum MHD_Result call_begin(struct admin *admin,
                                  struct MHD_Connection *conn,
                                  const char *path,
                                  const char *method,
                                  void **slot)
{
    struct call *call = call_take(admin);
    if (call == NULL) {
        return MHD_NO;
    }
    *slot = call;
    call->conn = conn;
    struct admin_ask ask = {
        .method = str_of(method),
        .path = str_of(path),
        .host = header_of(conn, "Host"),
        .origin = header_of(conn, "Origin"),
        .authorization = header_of(conn, "Authorization"),
        .is_framing_doubtful = header_of(conn, "Content-Length").p != NULL &&
                               header_of(conn, "Transfer-Encoding").p != NULL,
    };
    struct admin_rules rules = {
        .routes = admin->config.routes,
        .route_count = admin->config.route_count,
        .key = admin->config.key,
    };
    call->route = admin_route_find(&rules, &ask, &call->tail, &call->resp);
    if (is_declared_too_large(call)) {
        if (call->route != NULL) {
            refuse_large(call);
        }
        return call_send(call);
    }
    return MHD_YES;
}

static enum MHD_Result call_body(struct call *call, const char *data, size_t *len)
{
    if (call->route != NULL) {
        enum status st = buf_add(&call->body, data, *len);
        if (st == ST_FULL) {
            refuse_large(call);
        } else if (st != ST_OK) {
            return MHD_NO;
        }
    }
    if (call->route == NULL) {
        call->passed_bytes += *len;
        if (call->passed_bytes > DISCARD_BYTES) {
            return MHD_NO;
        }
    }
    *len = 0;
    return MHD_YES;
}

static enum MHD_Result
call_run(struct admin *admin, struct call *call, const char *path, const char *method)
{
    if (call->route == NULL) {
        return call_send(call);
    }
    struct admin_req req = {
        .method = str_of(method),
        .path = str_of(path),
        .tail = call->tail,
        .format = str_of(MHD_lookup_connection_value(call->conn, MHD_GET_ARGUMENT_KIND, "format")),
        .body = buf_str(&call->body),
        .ticket = {(uint32_t)(call - admin->calls), call->generation},
    };
    enum admin_verdict verdict = call->route->handler(call->route->ctx, &req, &call->resp);
    if (verdict == ADMIN_NOW) {
        return call_send(call);
    }
    call->state = CALL_WAITING;
    call->deadline_us = clock_now_us() + admin->config.answer_us;
    admin->waiting_count++;
    MHD_suspend_connection(call->conn);
    return MHD_YES;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are libmicrohttpd's */
static enum MHD_Result on_request(void *ctx,
                                  struct MHD_Connection *conn,
                                  const char *path,
                                  const char *method,
                                  const char *version,
                                  const char *data,
                                  size_t *len,
                                  void **slot)
{
    struct admin *admin = ctx;
    struct call *call = *slot;
    (void)version;
    if (call == NULL) {
        return call_begin(admin, conn, path, method, slot);
    }
    if (*len > 0) {
        return call_body(call, data, len);
    }
    switch (call->state) {
    case CALL_READING:
        return call_run(admin, call, path, method);
    case CALL_ANSWERED:
        return call_send(call);
    case CALL_WAITING:
    case CALL_SENDING:
        return MHD_YES;
    case CALL_FREE:
        break;
    }
    return MHD_NO;
}

static void
on_over(void *ctx, struct MHD_Connection *conn, void **slot, enum MHD_RequestTerminationCode why)
{
    (void)conn;
    (void)why;
    if (*slot != NULL) {
        call_drop(ctx, *slot);
        *slot = NULL;
    }
}

/* The answer of a waiting call is in resp: goes on where the handler left off. */
static void call_resume(struct admin *admin, struct call *call)
{
    admin->waiting_count--;
    call->state = CALL_ANSWERED;
    MHD_resume_connection(call->conn);
}

static void take_answers(struct admin *admin)
{
    struct answer answer;
    while (mailbox_drain(admin->answers, &answer, 1) == 1) {
        struct call *call = &admin->calls[answer.ticket.slot % ADMIN_CONNECTIONS_MAX];
        if (call->state != CALL_WAITING || call->generation != answer.ticket.generation) {
            admin_resp_fini(&answer.resp);
            continue;
        }
        admin_resp_fini(&call->resp);
        call->resp = answer.resp;
        call_resume(admin, call);
    }
}

/* Ends the waiting of those whose time is over, or of all. Returns when the next one is due, 0 =
 * none waits. */
static uint64_t expire_calls(struct admin *admin, uint64_t now_us, bool is_all)
{
    uint64_t next_us = 0;
    for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX && admin->waiting_count > 0; i++) {
        struct call *call = &admin->calls[i];
        if (call->state != CALL_WAITING) {
            continue;
        }
        if (is_all) {
            admin_resp_error(&call->resp, 503, "unavailable_error", "shutting down");
            call_resume(admin, call);
        } else if (now_us >= call->deadline_us) {
            admin_resp_error(&call->resp, 504, "timeout_error",
                             "the data loops did not answer in time");
            call_resume(admin, call);
        } else if (next_us == 0 || call->deadline_us < next_us) {
            next_us = call->deadline_us;
        }
    }
    return next_us;
}

static int wait_ms(struct admin *admin, uint64_t now_us, uint64_t next_us)
{
    uint64_t ms = IDLE_MS;
    MHD_UNSIGNED_LONG_LONG own_ms;
    if (MHD_get_timeout(admin->daemon, &own_ms) == MHD_YES && own_ms < ms) {
        ms = own_ms;
    }
    if (next_us != 0) {
        uint64_t left_ms = next_us > now_us ? (next_us - now_us) / 1000 + 1 : 0;
        ms = left_ms < ms ? left_ms : ms;
    }
    return (int)ms;
}

static unsigned count_connections(const struct admin *admin)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(admin->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info == NULL ? 0 : info->num_connections;
}

/* False: run again before waiting. When the connection limit was reached, libmicrohttpd listens
 * again only in the run after the one in which a connection ended. */
static bool run_daemon(struct admin *admin)
{
    unsigned before = count_connections(admin);
    if (MHD_run(admin->daemon) != MHD_YES) {
        log_error("admin", "the admin server cannot run");
    }
    return count_connections(admin) >= before;
}

static bool is_quiet(const struct admin *admin)
{
    for (size_t i = 0; i < ADMIN_CONNECTIONS_MAX; i++) {
        if (admin->calls[i].state != CALL_FREE) {
            return false;
        }
    }
    return true;
}

static void wait_for_work(struct admin *admin, int timeout_ms)
{
    struct pollfd fds[] = {
        {.fd = admin->epoll_fd, .events = POLLIN},
        {.fd = mailbox_fd(admin->answers), .events = POLLIN},
    };
    if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR) {
        log_error("admin", "poll failed errno=%d", errno);
    }
}

static void admin_main(void *arg)
{
    struct admin *admin = arg;
    while (!atomic_load(&admin->is_stopping)) {
        take_answers(admin);
        bool is_idle = run_daemon(admin);
        uint32_t waiting_count = admin->waiting_count;
        uint64_t now_us = clock_now_us();
        uint64_t next_us = expire_calls(admin, now_us, false);
        /* A connection resumed just now needs another run first. */
        is_idle = is_idle && admin->waiting_count == waiting_count;
        wait_for_work(admin, is_idle ? wait_ms(admin, now_us, next_us) : 0);
    }
    /* The socket stays ours to close. */
    MHD_socket listen_fd = MHD_quiesce_daemon(admin->daemon);
    uint64_t end_us = clock_now_us() + STOP_US;
    take_answers(admin);
    do {
        (void)expire_calls(admin, 0, true);
        (void)run_daemon(admin);
        if (is_quiet(admin)) {
            break;
        }
        wait_for_work(admin, STOP_STEP_MS);
    } while (clock_now_us() < end_us);
    /* A request that came in during the last round must not stay suspended. */
    (void)expire_calls(admin, 0, true);
    (void)run_daemon(admin);
    if (listen_fd != MHD_INVALID_SOCKET) {
        (void)close(listen_fd);
    }
}

static enum status start_daemon(struct admin *admin, int listen_fd, struct err *err)
{
    admin->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, admin,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listen_fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)ADMIN_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CALL_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CALL_MEMORY_BYTES, MHD_OPTION_STRICT_FOR_CLIENT,
        1, MHD_OPTION_NOTIFY_COMPLETED, on_over, admin, MHD_OPTION_END);
    if (admin->daemon == NULL) {
        return err_set(err, ST_IO, "the admin server cannot start");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(admin->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL) {
        return err_set(err, ST_IO, "the admin server has no epoll");
    }
    admin->epoll_fd = info->epoll_fd;
    return ST_OK;
}

static void admin_free(struct admin *admin)
{
    if (admin->daemon != NULL) {
        MHD_stop_daemon(admin->daemon);
    }
    if (admin->answers != NULL) {
        struct answer answer;
        while (mailbox_drain(admin->answers, &answer, 1) == 1) {
            admin_resp_fini(&answer.resp);
        }
        mailbox_free(admin->answers);
    }
    mem_free(mem_heap(), admin, sizeof(*admin));
}

enum status admin_start(const struct admin_config *config, struct admin **ret, struct err *err)
{
    ASSERT(config->route_count <= ADMIN_ROUTES_MAX);
    if (config->key.len == 0 && !net_addr_is_loopback(&config->listen)) {
        return err_set(err, ST_DENIED, "an admin port that is not loopback needs a key");
    }
    struct admin *admin = mem_calloc(mem_heap(), 1, sizeof(*admin));
    if (admin == NULL) {
        return err_set(err, ST_NOMEM, "%s", status_text(ST_NOMEM));
    }
    admin->config = *config;
    if (admin->config.answer_us == 0) {
        admin->config.answer_us = ADMIN_ANSWER_US;
    }
    ASSERT(config->key.len < sizeof(admin->key));
    admin->config.key =
        (struct str){admin->key, str_copy(admin->key, sizeof(admin->key), config->key)};
    int listen_fd = -1;
    /* Twice the slots: each waiting call has at most one answer on its way, and so has the one
     * before it. */
    enum status st =
        mailbox_new(mem_heap(), sizeof(struct answer), 2 * ADMIN_CONNECTIONS_MAX, &admin->answers);
    if (st != ST_OK) {
        st = err_set(err, st, "admin mailbox: %s", status_text(st));
        goto out;
    }
    st = net_listen(&config->listen, false, &listen_fd, err);
    if (st != ST_OK) {
        goto out;
    }
    st = net_local_addr(listen_fd, &admin->local);
    if (st != ST_OK) {
        st = err_set(err, st, "admin address: %s", status_text(st));
        goto out;
    }
    st = start_daemon(admin, listen_fd, err);
    if (st == ST_OK) {
        st = thread_start(&admin->thread, "admin", admin_main, admin, err);
    }
out:
    if (st != ST_OK) {
        if (admin->daemon != NULL) {
            listen_fd = -1; /* closed with it */
        }
        admin_free(admin);
        if (listen_fd >= 0) {
            (void)close(listen_fd);
        }
        return st;
    }
    *ret = admin;
    return ST_OK;
}

void admin_stop(struct admin *admin)
{
    if (admin == NULL) {
        return;
    }
    atomic_store(&admin->is_stopping, true);
    /* Any message wakes the thread; a full mailbox has woken it already. */
    struct answer wake = {.ticket = {0, UINT32_MAX}};
    status_ignore(mailbox_post(admin->answers, &wake), "a full mailbox wakes it too");
    thread_join(&admin->thread);
    admin_free(admin);
}

const struct net_addr *admin_local_addr(const struct admin *admin)
{
    return &admin->local;
}

void admin_answer(struct admin *admin, struct admin_ticket ticket, struct admin_resp *resp)
{
    struct answer answer = {ticket, *resp};
    *resp = (struct admin_resp){0};
    if (mailbox_post(admin->answers, &answer) != ST_OK) {
        log_warn("admin", "answer dropped, the mailbox is full");
        admin_resp_fini(&answer.resp);
    }
}
