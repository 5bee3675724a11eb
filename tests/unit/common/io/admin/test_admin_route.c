/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/io/admin/admin_route.h"

static enum admin_verdict never(void *ctx, const struct admin_req *req, struct admin_resp *resp)
{
    (void)ctx;
    (void)req;
    (void)resp;
    return ADMIN_NOW;
}

static const struct admin_route routes[] = {
    {.method = "GET", .path = "/health", .is_open = true, .handler = never},
    {.method = "GET", .path = "/v/engines", .handler = never},
    {.method = "POST", .path = "/v/engines", .handler = never},
    {.method = "DELETE", .path = "/v/engines/", .handler = never},
};

static const struct admin_rules keyless = {.routes = routes, .route_count = 4};
static const struct admin_rules keyed = {.routes = routes, .route_count = 4, .key = {"s3cret", 6}};

struct route_case {
    const char *method;
    const char *path;
    const char *authorization;
    const char *host;
    const char *origin;
    int status; /* 200 = found */
    const char *tail;
};

static void run_case(const struct admin_rules *config, const struct route_case *c)
{
    struct admin_resp resp;
    struct str tail = {NULL, 0};
    struct admin_ask ask = {
        .method = str_of(c->method),
        .path = str_of(c->path),
        .authorization = str_of(c->authorization),
        .host = str_of(c->host),
        .origin = str_of(c->origin),
    };
    admin_resp_init(&resp);
    const struct admin_route *route = admin_route_find(config, &ask, &tail, &resp);
    int status = route == NULL ? resp.status : 200;
    if (status != c->status || (c->tail != NULL && !str_eq(tail, str_of(c->tail)))) {
        fail_msg("%s %s: %d, expected %d", c->method, c->path, status, c->status);
    }
    assert_int_equal(route == NULL, resp.body.len > 0);
    admin_resp_fini(&resp);
}

static void admin_route__no_key__paths_and_methods_decide(void **state)
{
    (void)state;
    static const struct route_case cases[] = {
        {.method = "GET", .path = "/v/engines", .status = 200, .tail = ""},
        {.method = "HEAD", .path = "/v/engines", .status = 200},
        {.method = "POST", .path = "/v/engines", .status = 200},
        {.method = "PUT", .path = "/v/engines", .status = 405},
        {.method = "DELETE", .path = "/v/engines/gpu0", .status = 200, .tail = "gpu0"},
        {.method = "DELETE", .path = "/v/engines/", .status = 404},
        {.method = "HEAD", .path = "/v/engines/x", .status = 405},
        {.method = "GET", .path = "/v/engine", .status = 404},
        {.method = "GET", .path = "/v/enginesx", .status = 404},
        {.method = "GET", .path = "", .status = 404},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_case(&keyless, &cases[i]);
    }
}

static void admin_route__key_set__only_open_paths_go_without(void **state)
{
    (void)state;
    static const struct route_case cases[] = {
        {.method = "GET", .path = "/health", .status = 200},
        {.method = "GET", .path = "/v/engines", .status = 401},
        {.method = "GET", .path = "/nothing", .status = 401},
        {.method = "GET", .path = "/v/engines", .authorization = "Bearer s3cret", .status = 200},
        {.method = "GET", .path = "/v/engines", .authorization = "bearer  s3cret ", .status = 200},
        {.method = "GET", .path = "/v/engines", .authorization = "Bearer s3creT", .status = 401},
        {.method = "GET", .path = "/v/engines", .authorization = "Bearer s3cre", .status = 401},
        {.method = "GET", .path = "/v/engines", .authorization = "Bearer ", .status = 401},
        {.method = "GET", .path = "/v/engines", .authorization = "Basic s3cret", .status = 401},
        {.method = "GET", .path = "/nothing", .authorization = "Bearer s3cret", .status = 404},
        {.method = "GET",
         .path = "/v/engines",
         .authorization = "Bearer s3cret",
         .host = "saga.example",
         .origin = "https://other.example",
         .status = 200},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_case(&keyed, &cases[i]);
    }
}

static void admin_route__no_key__web_pages_are_kept_out(void **state)
{
    (void)state;
    static const struct route_case cases[] = {
        {.method = "POST", .path = "/v/engines", .host = "127.0.0.1:8081", .status = 200},
        {.method = "POST", .path = "/v/engines", .host = "localhost:8081", .status = 200},
        {.method = "POST", .path = "/v/engines", .host = "[::1]:8081", .status = 200},
        {.method = "POST",
         .path = "/v/engines",
         .host = "127.0.0.1:8081",
         .origin = "http://127.0.0.1:8081",
         .status = 200},
        {.method = "POST",
         .path = "/v/engines",
         .host = "127.0.0.1:8081",
         .origin = "http://evil.example",
         .status = 403},
        {.method = "POST",
         .path = "/v/engines",
         .host = "127.0.0.1:8081",
         .origin = "null",
         .status = 403},
        {.method = "GET", .path = "/v/engines", .host = "evil.example:8081", .status = 403},
        {.method = "GET", .path = "/v/engines", .host = "127.0.0.1.evil.example", .status = 403},
        {.method = "GET", .path = "/health", .host = "pod.example", .status = 200},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_case(&keyless, &cases[i]);
    }
}

static void admin_route__two_lengths__is_refused(void **state)
{
    (void)state;
    struct admin_resp resp;
    struct str tail;
    struct admin_ask ask = {
        .method = STR("GET"), .path = STR("/health"), .is_framing_doubtful = true};
    admin_resp_init(&resp);
    assert_null(admin_route_find(&keyless, &ask, &tail, &resp));
    assert_int_equal(resp.status, 400);
    admin_resp_fini(&resp);
}

static void admin_resp_error__foreign_text__stays_json(void **state)
{
    (void)state;
    struct admin_resp resp;
    admin_resp_init(&resp);
    assert_status(buf_add(&resp.body, "old", 3), ST_OK);
    admin_resp_error(&resp, 400, "x", "no \"%s\"\n", "a");
    assert_true(str_eq(buf_str(&resp.body),
                       STR("{\"error\":{\"message\":\"no \\\"a\\\"\\n\",\"type\":\"x\"}}\n")));
    admin_resp_fini(&resp);
    admin_resp_fini(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admin_route__no_key__paths_and_methods_decide),
        cmocka_unit_test(admin_route__key_set__only_open_paths_go_without),
        cmocka_unit_test(admin_route__no_key__web_pages_are_kept_out),
        cmocka_unit_test(admin_route__two_lengths__is_refused),
        cmocka_unit_test(admin_resp_error__foreign_text__stays_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
