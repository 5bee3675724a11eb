/* SPDX-License-Identifier: Apache-2.0 */
#include "simulator/worker/refusal.h"

#include <stdarg.h>
#include <stdio.h>

struct kind {
    int status;
    const char *openai;
    const char *anthropic;
};

static const struct kind kinds[] = {
    {400, "BadRequestError", "invalid_request_error"},
    {401, "Unauthorized", "authentication_error"},
    {404, "NotFoundError", "not_found_error"},
    {413, "RequestEntityTooLargeError", "request_too_large"},
    {429, "RateLimitError", "rate_limit_error"},
    {500, "InternalServerError", "api_error"},
    {501, "NotImplementedError", "api_error"},
    {503, "ServiceUnavailableError", "overloaded_error"},
};

static const struct kind *kind_of(int status)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].status == status) {
            return &kinds[i];
        }
    }
    return status < 500 ? &kinds[0] : &kinds[5];
}

bool sim_refuse(struct sim_refusal *ret, int status, const char *param, const char *fmt, ...)
{
    ret->status = status;
    ret->param = param;
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(ret->text, sizeof(ret->text), fmt, args);
    va_end(args);
    if (len < 0) {
        ret->text[0] = '\0';
    }
    return false;
}

void sim_refusal_openai(const struct sim_refusal *refusal, struct sim_out *out)
{
    sim_out_str(out, STR("{\"error\":{\"message\":"));
    sim_out_json(out, str_of(refusal->text));
    sim_out_fmt(out, ",\"type\":\"%s\",\"param\":", kind_of(refusal->status)->openai);
    if (refusal->param != NULL) {
        sim_out_json(out, str_of(refusal->param));
    } else {
        sim_out_str(out, STR("null"));
    }
    sim_out_fmt(out, ",\"code\":%d}}", refusal->status);
}

void sim_refusal_anthropic(const struct sim_refusal *refusal, struct sim_out *out)
{
    sim_out_fmt(out, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":",
                kind_of(refusal->status)->anthropic);
    sim_out_json(out, str_of(refusal->text));
    sim_out_str(out, STR("}}"));
}
