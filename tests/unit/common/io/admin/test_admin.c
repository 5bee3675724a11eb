/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/io/admin/admin.h"
#include "common/rt/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* The server under test, and the question it put off. */
static struct admin *admin;
static struct admin_ticket parked;
static atomic_int parked_count;

static enum admin_verdict
serve_health(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    (void)req;
    resp->content_type = "text/plain";
    status_ignore(buf_add_str(&resp->body, STR("fine")), "the client looks at the body");
    return ADMIN_NOW;
}

static enum admin_verdict
serve_echo(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    status_ignore(buf_add_fmt(&resp->body, "%zu:", req->body.len), "the client looks at the body");
    status_ignore(buf_add_str(&resp->body, req->tail), "the client looks at the body");
    status_ignore(buf_add_str(&resp->body, req->body), "the client looks at the body");
    return ADMIN_NOW;
}

static enum admin_verdict
serve_later(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    (void)resp;
    parked = req->ticket;
    atomic_fetch_add(&parked_count, 1);
    return ADMIN_LATER;
}

static const struct admin_route routes[] = {
    {.method = "GET", .path = "/health", .is_open = true, .handler = serve_health},
    {.method = "POST", .path = "/echo", .handler = serve_echo},
    {.method = "GET", .path = "/echo/", .handler = serve_echo},
    {.method = "GET", .path = "/later", .handler = serve_later},
};

static void start(const char *listen, const char *key, uint64_t answer_us)
{
    struct admin_config config = {
        .key = str_of(key), .routes = routes, .route_count = 4, .answer_us = answer_us};
    struct err err = {.status = ST_OK};
    atomic_store(&parked_count, 0);
    assert_status(net_addr_parse(str_of(listen), &config.listen, &err), ST_OK);
    if (admin_start(&config, &admin, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
}

static int stop(void **state)
{
    (void)state;
    admin_stop(admin);
    admin = NULL;
    return 0;
}

static int dial(void)
{
    const struct net_addr *addr = admin_local_addr(admin);
    int fd = socket(addr->sa.ss_family, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    struct timeval limit = {.tv_sec = 30};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&addr->sa, addr->len), 0);
    return fd;
}

static void put(int fd, const char *text)
{
    size_t len = strlen(text);
    assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Reads until the end of the connection or until `last` has come. */
static void get(int fd, char *ret, size_t cap, const char *last)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(fd, ret + len, cap - 1 - len, 0);
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
        ret[len] = '\0';
        if (last != NULL && strstr(ret, last) != NULL) {
            break;
        }
    }
    ret[len] = '\0';
}

static void ask(const char *request, char ret[4096])
{
    int fd = dial();
    size_t len = strlen(request);
    /* A refused connection may be gone before all is sent; then the answer is empty. */
    (void)send(fd, request, len, MSG_NOSIGNAL);
    get(fd, ret, 4096, NULL);
    (void)close(fd);
}

static void expect(const char *request, const char *status, const char *text)
{
    char got[4096];
    ask(request, got);
    if (strncmp(got, status, strlen(status)) != 0 || strstr(got, text) == NULL) {
        fail_msg("%s\n-> %s", request, got);
    }
}

#define HEAD "Host: 127.0.0.1\r\nConnection: close\r\n"

static void admin__plain_requests__are_answered(void **state)
{
    (void)state;
    start("127.0.0.1:0", NULL, 0);
    expect("GET /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "\r\n\r\nfine");
    expect("HEAD /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "Content-Length: 4\r\n");
    expect("GET /echo/a%20b?q=1 HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "\r\n\r\n0:a b");
    expect("POST /echo HTTP/1.1\r\n" HEAD "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 200",
           "5:hello");
    expect("POST /echo HTTP/1.1\r\n" HEAD
           "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
           "HTTP/1.1 200", "5:hello");
    expect("GET /nope HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 404", "\"not_found_error\"");
    expect("DELETE /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 405", "\"error\"");
    expect("POST /nope HTTP/1.1\r\n" HEAD "Content-Length: 5\r\n\r\nhello", "HTTP/1.1 404",
           "\"error\"");
    expect("POST /echo HTTP/1.1\r\n" HEAD
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "HTTP/1.1 400", "");
    expect("nonsense\r\n\r\n", "", "");
}

static void admin__ipv6__works_where_the_system_has_it(void **state)
{
    (void)state;
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0) {
        skip();
    }
    (void)close(fd);
    start("[::1]:0", NULL, 0);
    expect("GET /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "fine");
}

static void admin__key_set__is_asked_for(void **state)
{
    (void)state;
    start("127.0.0.1:0", "k3y", 0);
    expect("GET /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "fine");
    expect("GET /echo/x HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 401", "WWW-Authenticate: Bearer");
    expect("GET /echo/x HTTP/1.1\r\n" HEAD "Authorization: Bearer k3y\r\n\r\n", "HTTP/1.1 200",
           "0:x");
}

static void admin_start__open_to_others_without_key__is_refused(void **state)
{
    (void)state;
    struct admin_config config = {.routes = routes, .route_count = 4};
    struct err err = {.status = ST_OK};
    assert_status(net_addr_parse(STR("0.0.0.0:0"), &config.listen, &err), ST_OK);
    assert_status(admin_start(&config, &admin, &err), ST_DENIED);
    assert_null(admin);
}

static void admin_start__address_taken__says_so(void **state)
{
    (void)state;
    start("127.0.0.1:0", NULL, 0);
    struct admin_config config = {
        .routes = routes, .route_count = 4, .listen = *admin_local_addr(admin)};
    struct err err = {.status = ST_OK};
    struct admin *second = NULL;
    assert_status(admin_start(&config, &second, &err), ST_IO);
    assert_true(err.text[0] != '\0');
    assert_null(second);
}

static void admin__body_too_large__is_413(void **state)
{
    (void)state;
    start("127.0.0.1:0", NULL, 0);
    /* Said before it comes: not a byte of it is waited for. */
    expect("POST /echo HTTP/1.1\r\n" HEAD "Content-Length: 262145\r\n\r\n", "HTTP/1.1 413",
           "262144");
    /* Not said. */
    enum { CHUNK = 270000 };
    char *request = malloc(CHUNK + 300);
    assert_non_null(request);
    int len =
        snprintf(request, 300,
                 "POST /echo HTTP/1.1\r\n" HEAD "Transfer-Encoding: chunked\r\n\r\n%x\r\n", CHUNK);
    memset(request + len, 'a', CHUNK);
    memcpy(request + len + CHUNK, "\r\n0\r\n\r\n", 8);
    expect(request, "HTTP/1.1 413", "262144");
    free(request);
    /* Just as large as it may be. */
    request = malloc(ADMIN_BODY_BYTES + 300);
    assert_non_null(request);
    len = snprintf(request, 300, "POST /echo HTTP/1.1\r\n" HEAD "Content-Length: %d\r\n\r\n",
                   ADMIN_BODY_BYTES);
    memset(request + len, 'a', ADMIN_BODY_BYTES);
    request[len + ADMIN_BODY_BYTES] = '\0';
    expect(request, "HTTP/1.1 200", "262144:aaa");
    free(request);
}

static void wait_parked(int count)
{
    /* Bounded by the test's timeout. */
    while (atomic_load(&parked_count) < count) {
        expect("GET /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "fine");
    }
}

static void answer_from_here(struct admin_ticket ticket, const char *text)
{
    struct admin_resp resp;
    admin_resp_init(&resp);
    assert_status(buf_add_str(&resp.body, str_of(text)), ST_OK);
    admin_answer(admin, ticket, &resp);
}

static void admin_answer__later_from_another_thread__reaches_the_asker(void **state)
{
    (void)state;
    char got[4096];
    start("127.0.0.1:0", NULL, 0);
    int fd = dial();
    for (int i = 1; i <= 3; i++) { /* one connection, kept alive */
        put(fd, "GET /later HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        wait_parked(i); /* /health answers all the while */
        answer_from_here(parked, "the answer");
        get(fd, got, sizeof(got), "the answer");
        assert_non_null(strstr(got, "HTTP/1.1 200"));
        answer_from_here(parked, "too late"); /* dropped */
    }
    (void)close(fd);
}

static void admin_answer__never__is_504(void **state)
{
    (void)state;
    start("127.0.0.1:0", NULL, 1000);
    expect("GET /later HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 504", "did not answer in time");
}

static void admin_answer__asker_left__is_dropped(void **state)
{
    (void)state;
    start("127.0.0.1:0", NULL, 0);
    int fd = dial();
    put(fd, "GET /later HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    wait_parked(1);
    (void)close(fd);
    answer_from_here(parked, "for nobody");
    expect("GET /health HTTP/1.1\r\n" HEAD "\r\n", "HTTP/1.1 200", "fine");
}

static void stop_it(void *arg)
{
    (void)arg;
    admin_stop(admin);
    admin = NULL;
}

static void admin_stop__somebody_waits__gets_503(void **state)
{
    (void)state;
    char got[4096];
    struct thread stopper;
    start("127.0.0.1:0", NULL, 0);
    int idle = dial();
    int fd = dial();
    put(fd, "GET /later HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    wait_parked(1);
    assert_status(thread_start(&stopper, "stopper", stop_it, NULL, NULL), ST_OK);
    get(fd, got, sizeof(got), "shutting down");
    assert_non_null(strstr(got, "HTTP/1.1 503"));
    thread_join(&stopper);
    (void)close(fd);
    (void)close(idle);
}

static void admin__more_connections_than_allowed__others_go_on(void **state)
{
    (void)state;
    int fds[ADMIN_CONNECTIONS_MAX + 20];
    start("127.0.0.1:0", NULL, 0);
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        fds[i] = dial();
        (void)send(fds[i], "GET /hea", 8, MSG_NOSIGNAL);
    }
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        (void)close(fds[i]);
    }
    char got[4096] = "";
    while (strstr(got, "fine") ==
           NULL) { /* until the closed ones are noticed; bounded by the test's timeout */
        ask("GET /health HTTP/1.1\r\n" HEAD "\r\n", got);
    }
}

#define WITH_ADMIN(f) cmocka_unit_test_teardown(f, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ADMIN(admin__plain_requests__are_answered),
        WITH_ADMIN(admin__ipv6__works_where_the_system_has_it),
        WITH_ADMIN(admin__key_set__is_asked_for),
        WITH_ADMIN(admin_start__open_to_others_without_key__is_refused),
        WITH_ADMIN(admin_start__address_taken__says_so),
        WITH_ADMIN(admin__body_too_large__is_413),
        WITH_ADMIN(admin_answer__later_from_another_thread__reaches_the_asker),
        WITH_ADMIN(admin_answer__never__is_504),
        WITH_ADMIN(admin_answer__asker_left__is_dropped),
        WITH_ADMIN(admin_stop__somebody_waits__gets_503),
        WITH_ADMIN(admin__more_connections_than_allowed__others_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
