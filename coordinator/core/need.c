/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/need.h"

static double tokens_per_byte(const struct coord_session *session)
{
    bool is_told = session != NULL && session->story != NULL && session->story->tokens_per_byte > 0;
    return is_told ? (double)session->story->tokens_per_byte : COORD_TOKENS_PER_BYTE;
}

struct gate_need coord_need_of(const struct coord_request *request)
{
    double ratio = tokens_per_byte(request->session);
    return (struct gate_need){
        .session = request->session == NULL ? 0 : request->key,
        .tenant = request->tenant,
        .pool = request->pool,
        .prompt_tokens = (uint32_t)(request->prompt_bytes * ratio + 0.5),
        .kept_tokens = (uint32_t)(request->match_bytes * ratio),
        .is_final = request->is_final,
        .remaining_s = -1.0,
    };
}

struct gate_usage coord_usage_of(const struct coord_core *core,
                                 const struct coord_request *request,
                                 const struct coord_step_done *done,
                                 uint64_t now_us)
{
    struct gate_usage usage = {.is_final = request->is_final};
    if (done == NULL) {
        return usage;
    }
    usage.is_ok = done->outcome == COORD_OUTCOME_OK;
    usage.has_tool = done->tool_count > 0;
    if (done->has_usage) {
        usage.prompt_tokens = done->prompt_tokens;
        usage.cached_tokens =
            done->cached_tokens < done->prompt_tokens ? done->cached_tokens : done->prompt_tokens;
        usage.output_tokens = done->output_tokens;
    } else {
        usage.prompt_tokens = coord_need_of(request).prompt_tokens;
    }
    const struct coord_session *session = request->session;
    if (core->limits.policy->wants_returns && session != NULL && session->story != NULL) {
        struct aeg_forecast forecast;
        aeg_forecast_wait(&core->stories.aeg, &session->story->aeg, now_us, &forecast);
        usage.has_return = true;
        for (uint32_t i = 0; i < GATE_HORIZONS; i++) {
            usage.return_ratio[i] = (float)aeg_forecast_return(&forecast, gate_horizons_us[i]);
        }
    }
    return usage;
}
