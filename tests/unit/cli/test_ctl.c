/* SPDX-License-Identifier: Apache-2.0 */
/* saga ctl and its HTTP client against the real admin server with canned handlers. */
#include "tests/kit/kit.h"

#include "cli/cmd.h"
#include "cli/http_ask.h"
#include "common/io/admin/admin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct admin *admin;
static char url[NET_ADDR_TEXT_BYTES + 8];
static char key_file[KIT_PATH_BYTES];

static enum admin_verdict echo(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    status_ignore(buf_add_fmt(&resp->body, "{\"method\":\"%.*s\",\"tail\":\"", (int)req->method.len,
                              req->method.p),
                  "seen by the test");
    status_ignore(buf_add_json(&resp->body, req->tail), "seen by the test");
    status_ignore(buf_add_str(&resp->body, STR("\",\"body\":\"")), "seen by the test");
    status_ignore(buf_add_json(&resp->body, req->body), "seen by the test");
    status_ignore(buf_add_str(&resp->body, STR("\"}")), "seen by the test");
    return ADMIN_NOW;
}

static enum admin_verdict never(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    (void)req;
    (void)resp;
    return ADMIN_LATER;
}

static const struct admin_route routes[] = {
    {.method = "GET", .path = "/saga/v1/engines", .handler = echo},
    {.method = "POST", .path = "/saga/v1/engines", .handler = echo},
    {.method = "DELETE", .path = "/saga/v1/engines/", .handler = echo},
    {.method = "GET", .path = "/saga/v1/receipts/", .handler = echo},
    {.method = "GET", .path = "/saga/v1/status", .handler = never},
};

static int start(void **state)
{
    (void)state;
    struct admin_config config = {.routes = routes, .route_count = 5, .key = STR("k3y")};
    struct err err = {.status = ST_OK};
    char text[NET_ADDR_TEXT_BYTES];
    if (net_addr_parse(STR("127.0.0.1:0"), &config.listen, &err) != ST_OK ||
        admin_start(&config, &admin, &err) != ST_OK) {
        return -1;
    }
    net_addr_text(admin_local_addr(admin), text);
    (void)snprintf(url, sizeof(url), "http://%s", text);
    kit_tmp_file(key_file, "k3y\n", 4);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    admin_stop(admin);
    kit_tmp_remove(key_file);
    return 0;
}

/* Runs saga ctl with these arguments (NULL-terminated) and checks its code and what it printed. */
static void expect(const char *const *args, int code, const char *printed, const char *complained)
{
    char *argv[16] = {(char *)(uintptr_t) "ctl", (char *)(uintptr_t) "--admin", url};
    int argc = 3;
    for (; *args != NULL; args++) {
        argv[argc++] = (char *)(uintptr_t)*args;
    }
    char paths[2][KIT_PATH_BYTES];
    int saved[2];
    (void)fflush(stdout);
    for (int i = 0; i < 2; i++) {
        kit_tmp_file(paths[i], "", 0);
        int fd = open(paths[i], O_WRONLY | O_CLOEXEC);
        saved[i] = dup(i + 1);
        assert_true(fd >= 0 && saved[i] >= 0);
        assert_int_equal(dup2(fd, i + 1), i + 1);
        (void)close(fd);
    }
    int rc = cmd_ctl(argc, argv);
    (void)fflush(stdout);
    char *texts[2];
    for (int i = 0; i < 2; i++) {
        (void)dup2(saved[i], i + 1);
        (void)close(saved[i]);
        texts[i] = kit_read_file(paths[i]);
        kit_tmp_remove(paths[i]);
    }
    if (rc != code || strstr(texts[0], printed) == NULL || strstr(texts[1], complained) == NULL) {
        fail_msg("code %d, printed '%s', complained '%s'", rc, texts[0], texts[1]);
    }
    free(texts[0]);
    free(texts[1]);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void ctl__table_and_json__both_show_the_answer(void **state)
{
    (void)state;
    expect(ARGS("--key-file", key_file, "engines"), CMD_OK, "method  GET\n", "");
    expect(ARGS("engines", "--json", "--key-file", key_file), CMD_OK, "{\"method\":\"GET\",", "");
}

static void ctl__arguments__reach_the_server_whole(void **state)
{
    (void)state;
    expect(ARGS("--key-file", key_file, "--json", "remove-engine", "a/b c%?#"), CMD_OK,
           "\"tail\":\"a/b c%?#\"", "");
    expect(ARGS("--key-file", key_file, "--json", "explain", "req-1"), CMD_OK, "\"tail\":\"req-1\"",
           "");
    expect(ARGS("--key-file", key_file, "--json", "add-engine", "http://a:1", "--name", "n\"1"),
           CMD_OK, "\"body\":\"{\\\"url\\\":\\\"http://a:1\\\",\\\"name\\\":\\\"n\\\\\\\"1\\\"}\"",
           "");
}

static void ctl__refusals__are_told_and_fail(void **state)
{
    (void)state;
    expect(ARGS("engines"), CMD_FAILED, "",
           "saga ctl: the admin key is missing or wrong (HTTP 401)");
    expect(ARGS("--key-file", key_file, "sessions"), CMD_FAILED, "",
           "no such path on the admin port (HTTP 404)");
    expect(ARGS("--key-file", "/nonexistent/key", "engines"), CMD_FAILED, "", "cannot be opened");
    expect(ARGS("--key-file", key_file, "--timeout-ms", "20", "status"), CMD_FAILED, "",
           "no answer in time");
    expect(ARGS("--admin", "https://a:1", "engines"), CMD_FAILED, "", "http:// only");
    expect(ARGS("--admin", "127.0.0.1", "engines"), CMD_FAILED, "", "saga ctl: ");
}

static void ctl__wrong_use__is_2_and_help_is_0(void **state)
{
    (void)state;
    expect(ARGS("--help"), CMD_OK, "usage: saga ctl", "");
    expect(ARGS("nonsense"), CMD_USAGE, "", "usage: saga ctl");
    expect(ARGS("explain"), CMD_USAGE, "", "usage: saga ctl");
    expect(ARGS("engines", "x"), CMD_USAGE, "", "usage: saga ctl");
    expect(ARGS("engines", "x", "y"), CMD_USAGE, "", "usage: saga ctl");
    expect(ARGS("--timeout-ms", "0", "engines"), CMD_USAGE, "", "--timeout-ms");
    expect(ARGS("--nonsense"), CMD_USAGE, "", "usage: saga ctl");
}

/* A server that says only this and closes. */
static enum status ask_canned(const char *said, int *ret_status, struct buf *body)
{
    struct net_addr addr;
    struct err err = {.status = ST_OK};
    char text[NET_ADDR_TEXT_BYTES];
    int listen_fd = -1;
    assert_status(net_addr_parse(STR("127.0.0.1:0"), &addr, &err), ST_OK);
    assert_status(net_listen(&addr, false, &listen_fd, &err), ST_OK);
    assert_status(net_local_addr(listen_fd, &addr), ST_OK);
    net_addr_text(&addr, text);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)fcntl(listen_fd, F_SETFL, 0); /* blocking */
        int fd = accept(listen_fd, NULL, NULL);
        char request[4096];
        ssize_t n = recv(fd, request, sizeof(request), 0);
        n = n > 0 ? send(fd, said, strlen(said), MSG_NOSIGNAL) : n;
        _exit(n >= 0 ? 0 : 1);
    }
    (void)close(listen_fd);
    struct http_ask ask = {
        .url = str_of(text), .method = "GET", .path = "/", .timeout_us = 30000000};
    body->len = 0;
    return http_ask(&ask, ret_status, body, &err);
}

static void http_ask__odd_answers__are_told_apart(void **state)
{
    (void)state;
    struct buf body;
    int status = 0;
    buf_init(&body, mem_heap(), HTTP_ASK_BYTES);
    assert_status(ask_canned("HTTP/1.0 201 Fine\r\ncontent-length:  2 \r\n\r\nabc", &status, &body),
                  ST_OK);
    assert_int_equal(status, 201);
    assert_true(str_eq(buf_str(&body), STR("ab")));
    assert_status(ask_canned("HTTP/1.1 200 OK\r\n\r\nto the end", &status, &body), ST_OK);
    assert_true(str_eq(buf_str(&body), STR("to the end")));
    assert_status(ask_canned("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", &status, &body),
                  ST_PROTO);
    assert_status(ask_canned("HTTP/1.1 200 OK\r\nContent-Le", &status, &body), ST_PROTO);
    assert_status(ask_canned("SSH-2.0\r\n\r\n", &status, &body), ST_PROTO);
    assert_status(ask_canned("", &status, &body), ST_PROTO);
    buf_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ctl__table_and_json__both_show_the_answer),
        cmocka_unit_test(ctl__arguments__reach_the_server_whole),
        cmocka_unit_test(ctl__refusals__are_told_and_fail),
        cmocka_unit_test(ctl__wrong_use__is_2_and_help_is_0),
        cmocka_unit_test(http_ask__odd_answers__are_told_apart),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
