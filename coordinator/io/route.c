/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/route.h"

#include <llhttp.h>

struct entry {
    const char *path;
    uint8_t method;
    enum route_kind kind;
    enum coord_route step_route;
    const char *allow;
};

static const struct entry entries[] = {
    {"/v1/chat/completions", HTTP_POST, ROUTE_STEP, COORD_ROUTE_CHAT, "POST, OPTIONS"},
    {"/v1/completions", HTTP_POST, ROUTE_STEP, COORD_ROUTE_COMPLETIONS, "POST, OPTIONS"},
    {"/v1/responses", HTTP_POST, ROUTE_STEP, COORD_ROUTE_RESPONSES, "POST, OPTIONS"},
    {"/v1/messages", HTTP_POST, ROUTE_STEP, COORD_ROUTE_MESSAGES, "POST, OPTIONS"},
    {"/v1/messages/count_tokens", HTTP_POST, ROUTE_STEP, COORD_ROUTE_COUNT_TOKENS, "POST, OPTIONS"},
    {"/v1/models", HTTP_GET, ROUTE_MODELS, COORD_ROUTE_CHAT, "GET, HEAD, OPTIONS"},
    {"/health", HTTP_GET, ROUTE_HEALTH, COORD_ROUTE_CHAT, "GET, HEAD, OPTIONS"},
    {"/ready", HTTP_GET, ROUTE_READY, COORD_ROUTE_CHAT, "GET, HEAD, OPTIONS"},
    {"/", HTTP_GET, ROUTE_ROOT, COORD_ROUTE_CHAT, "GET, HEAD, OPTIONS"},
};

static struct str path_of(struct str target)
{
    const char *query = memchr(target.p, '?', target.len);
    return query == NULL ? target : (struct str){target.p, (size_t)(query - target.p)};
}

struct route_match route_find(uint8_t method, struct str target)
{
    struct route_match match = {.kind = ROUTE_UNKNOWN};
    if (target.len == 0 || target.p[0] != '/') {
        match.kind = ROUTE_BAD_TARGET;
        return match;
    }
    struct str path = path_of(target);
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (!str_eq(path, str_of(entries[i].path))) {
            continue;
        }
        bool is_read = entries[i].method == HTTP_GET && method == HTTP_HEAD;
        match.allow = entries[i].allow;
        match.step_route = entries[i].step_route;
        if (method == entries[i].method || is_read) {
            match.kind = entries[i].kind;
        } else {
            match.kind = method == HTTP_OPTIONS ? ROUTE_OPTIONS : ROUTE_BAD_METHOD;
        }
        return match;
    }
    return match;
}

bool route_query_names_model(struct str target)
{
    const char *query = memchr(target.p, '?', target.len);
    if (query == NULL) {
        return false;
    }
    struct str rest = {query + 1, target.len - (size_t)(query + 1 - target.p)};
    struct str part;
    while (str_split(&rest, '&', &part)) {
        if (str_istarts(part, STR("model"))) {
            return true;
        }
    }
    return false;
}

bool route_is_served(enum coord_route route, enum coord_engine_kind kind)
{
    bool is_plain = route == COORD_ROUTE_CHAT || route == COORD_ROUTE_COMPLETIONS;
    bool knows_all =
        kind == COORD_ENGINE_VLLM || kind == COORD_ENGINE_LLAMACPP || kind == COORD_ENGINE_SIM;
    return is_plain || knows_all;
}
