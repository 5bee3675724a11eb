/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of core.h for the admin port, as JSON. */
#include "coordinator/core/core.h"
#include "coordinator/core/json_out.h"
#include "coordinator/core/state.h"

static const char *const kind_texts[] = {
    [COORD_ENGINE_UNKNOWN] = "unknown",   [COORD_ENGINE_VLLM] = "vllm",
    [COORD_ENGINE_SGLANG] = "sglang",     [COORD_ENGINE_TRTLLM] = "trtllm",
    [COORD_ENGINE_LLAMACPP] = "llamacpp", [COORD_ENGINE_OPENAI] = "openai",
    [COORD_ENGINE_SIM] = "sim",
};

static void add_models(enum status *st,
                       struct buf *out,
                       const struct coord_core *core,
                       const struct coord_engine *engine)
{
    json_note(st, buf_add_str(out, STR("\"models\":[")));
    for (uint32_t i = 0; i < engine->model_count; i++) {
        json_note(st, buf_add_str(out, i == 0 ? STR("\"") : STR(",\"")));
        json_note(st, buf_add_json(out, coord_models_text(&core->models, engine->models[i])));
        json_note(st, buf_add_str(out, STR("\"")));
    }
    json_note(st, buf_add_str(out, STR("],")));
}

static void add_engine(enum status *st,
                       struct buf *out,
                       const struct coord_core *core,
                       const struct coord_engine *engine,
                       uint64_t now_us)
{
    json_note(st, buf_add_str(out, STR("{")));
    json_add_u64(st, out, "id", engine->id.v);
    json_add_text(st, out, "name", str_of(engine->name));
    json_add_text(st, out, "kind", str_of(kind_texts[engine->kind]));
    json_add_text(st, out, "state", str_of(coord_engine_state_text(engine->state)));
    json_add_u64(st, out, "state_age_ms", (now_us - engine->entered_at_us) / 1000);
    add_models(st, out, core, engine);
    json_add_u64(st, out, "max_running", engine->max_running);
    json_add_u64(st, out, "in_flight", (uint64_t)engine->queued_count + engine->running_count);
    json_add_u64(st, out, "queued", engine->queued_count);
    json_add_u64(st, out, "running", engine->running_count);
    json_add_u64(st, out, "sessions", engine->sessions);
    json_add_u64(st, out, "pending_bytes", engine->pending_bytes);
    json_add_u64(st, out, "served", engine->served);
    json_add_u64(st, out, "failed", engine->failed);
    json_add_u64(st, out, "fail_streak", engine->fail_streak);
    json_note(st, buf_add_fmt(out, "\"fail_ratio\":%.3f,\"step_ms\":%.1f,\"us_per_byte\":%.4f}",
                              engine->fail_ratio, engine->step_us.mean / 1000.0,
                              engine->us_per_byte.mean));
}

enum status
coord_core_write_engines(const struct coord_core *core, uint64_t now_us, struct buf *out)
{
    enum status st = buf_add_str(out, STR("["));
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        json_note(&st, buf_add_str(out, i == 0 ? STR("") : STR(",")));
        add_engine(&st, out, core, core->fleet.engines[i], now_us);
    }
    json_note(&st, buf_add_str(out, STR("]")));
    return st;
}

enum status
coord_core_write_receipt(const struct coord_core *core, struct str request_name, struct buf *out)
{
    const struct coord_receipt *receipt = coord_receipts_find(&core->receipts, request_name);
    return receipt == NULL ? ST_NOTFOUND : coord_receipt_write(receipt, out);
}

/* The first engine that is up and lists this model: the one that reports it, so that each is listed
 * once. */
static bool is_reporter(const struct coord_core *core, uint32_t at, uint32_t model)
{
    for (uint32_t i = 0; i < at; i++) {
        const struct coord_engine *engine = core->fleet.engines[i];
        if (coord_engine_is_open_for(engine, true) && coord_engine_has_model(engine, model)) {
            return false;
        }
    }
    return true;
}

enum status coord_core_write_models(const struct coord_core *core, struct buf *out)
{
    enum status st = buf_add_str(out, STR("{\"object\":\"list\",\"data\":["));
    uint32_t rows = 0;
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        const struct coord_engine *engine = core->fleet.engines[i];
        for (uint32_t k = 0; k < engine->model_count && coord_engine_is_open_for(engine, true);
             k++) {
            if (!is_reporter(core, i, engine->models[k])) {
                continue;
            }
            json_note(&st, buf_add_str(out, rows++ == 0 ? STR("{") : STR(",{")));
            json_add_text(&st, out, "id", coord_models_text(&core->models, engine->models[k]));
            json_note(
                &st,
                buf_add_str(out, STR("\"object\":\"model\",\"created\":0,\"owned_by\":\"saga\"}")));
        }
    }
    json_note(&st, buf_add_str(out, STR("]}")));
    return st;
}
