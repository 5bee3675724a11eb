/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of core.h for the admin port, as JSON. */
#include "coordinator/core/core.h"
#include "coordinator/core/state.h"

static const char *const kind_texts[] = {
    [COORD_ENGINE_UNKNOWN] = "unknown",   [COORD_ENGINE_VLLM] = "vllm",
    [COORD_ENGINE_SGLANG] = "sglang",     [COORD_ENGINE_TRTLLM] = "trtllm",
    [COORD_ENGINE_LLAMACPP] = "llamacpp", [COORD_ENGINE_OPENAI] = "openai",
    [COORD_ENGINE_SIM] = "sim",
};

/* Keeps the first error of a row of appends. */
static void note(enum status *st, enum status got)
{
    if (*st == ST_OK) {
        *st = got;
    }
}

static void add_text(enum status *st, struct buf *out, const char *name, struct str text)
{
    note(st, buf_add_fmt(out, "\"%s\":\"", name));
    note(st, buf_add_json(out, text));
    note(st, buf_add_str(out, STR("\",")));
}

static void add_u64(enum status *st, struct buf *out, const char *name, uint64_t value)
{
    note(st, buf_add_fmt(out, "\"%s\":%llu,", name, (unsigned long long)value));
}

static void add_models(enum status *st,
                       struct buf *out,
                       const struct coord_core *core,
                       const struct coord_engine *engine)
{
    note(st, buf_add_str(out, STR("\"models\":[")));
    for (uint32_t i = 0; i < engine->model_count; i++) {
        note(st, buf_add_str(out, i == 0 ? STR("\"") : STR(",\"")));
        note(st, buf_add_json(out, coord_models_text(&core->models, engine->models[i])));
        note(st, buf_add_str(out, STR("\"")));
    }
    note(st, buf_add_str(out, STR("],")));
}

static void add_engine(enum status *st,
                       struct buf *out,
                       const struct coord_core *core,
                       const struct coord_engine *engine,
                       uint64_t now_us)
{
    note(st, buf_add_str(out, STR("{")));
    add_u64(st, out, "id", engine->id.v);
    add_text(st, out, "name", str_of(engine->name));
    add_text(st, out, "kind", str_of(kind_texts[engine->kind]));
    add_text(st, out, "state", str_of(coord_engine_state_text(engine->state)));
    add_u64(st, out, "state_age_ms", (now_us - engine->entered_at_us) / 1000);
    add_models(st, out, core, engine);
    add_u64(st, out, "max_running", engine->max_running);
    add_u64(st, out, "in_flight", (uint64_t)engine->queued_count + engine->running_count);
    add_u64(st, out, "queued", engine->queued_count);
    add_u64(st, out, "running", engine->running_count);
    add_u64(st, out, "sessions", engine->sessions);
    add_u64(st, out, "pending_bytes", engine->pending_bytes);
    add_u64(st, out, "served", engine->served);
    add_u64(st, out, "failed", engine->failed);
    add_u64(st, out, "fail_streak", engine->fail_streak);
    note(st,
         buf_add_fmt(out, "\"fail_ratio\":%.3f,\"step_ms\":%.1f,\"us_per_byte\":%.4f}",
                     engine->fail_ratio, engine->step_us.mean / 1000.0, engine->us_per_byte.mean));
}

enum status
coord_core_write_engines(const struct coord_core *core, uint64_t now_us, struct buf *out)
{
    enum status st = buf_add_str(out, STR("["));
    for (uint32_t i = 0; i < core->fleet.count; i++) {
        note(&st, buf_add_str(out, i == 0 ? STR("") : STR(",")));
        add_engine(&st, out, core, core->fleet.engines[i], now_us);
    }
    note(&st, buf_add_str(out, STR("]")));
    return st;
}

static struct str engine_name(const struct coord_core *core, struct engine_id id)
{
    const struct coord_engine *engine = coord_fleet_find(&core->fleet, id);
    return str_of(engine == NULL ? "" : engine->name);
}

static void add_session(enum status *st,
                        struct buf *out,
                        const struct coord_core *core,
                        const struct coord_session *session,
                        uint64_t now_us)
{
    char label[COORD_LABEL_BYTES];
    coord_session_label(coord_session_id_text(session), session->key, label);
    note(st, buf_add_str(out, STR("{")));
    add_text(st, out, "session", str_of(label));
    if (session->model != COORD_MODEL_NONE) {
        add_text(st, out, "model", coord_models_text(&core->models, session->model));
    }
    add_text(st, out, "by", str_of(session->text == NULL ? "chain" : "id"));
    add_text(st, out, "state", str_of(coord_session_state_text(session->state)));
    add_text(st, out, "home", engine_name(core, session->home));
    add_text(st, out, "alt", engine_name(core, session->alt));
    add_u64(st, out, "steps", session->steps);
    add_u64(st, out, "in_flight", session->in_flight);
    add_u64(st, out, "home_bytes", session->home_bytes);
    add_u64(st, out, "prompt_tokens", session->prompt_tokens);
    add_u64(st, out, "cached_tokens", session->cached_tokens);
    add_u64(st, out, "output_tokens", session->output_tokens);
    add_u64(st, out, "age_ms", (now_us - session->born_at_us) / 1000);
    note(st, buf_add_fmt(out, "\"idle_ms\":%llu}",
                         (unsigned long long)((now_us - session->used_at_us) / 1000)));
}

enum status coord_core_write_sessions(const struct coord_core *core,
                                      uint64_t now_us,
                                      uint32_t max_rows,
                                      struct buf *out)
{
    enum status st = buf_add_str(out, STR("["));
    uint32_t rows = 0;
    for (int state = 0; state < COORD_SESSION_STATES; state++) {
        const struct list *head = &core->sessions.lists[state];
        /* The most recently used one is at the end. */
        for (const struct list *link = head->prev; link != head && rows < max_rows;
             link = link->prev) {
            note(&st, buf_add_str(out, rows == 0 ? STR("") : STR(",")));
            add_session(&st, out, core, LIST_OWNER(link, const struct coord_session, link), now_us);
            rows++;
        }
    }
    note(&st, buf_add_str(out, STR("]")));
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
            note(&st, buf_add_str(out, rows++ == 0 ? STR("{") : STR(",{")));
            add_text(&st, out, "id", coord_models_text(&core->models, engine->models[k]));
            note(&st, buf_add_str(
                          out, STR("\"object\":\"model\",\"created\":0,\"owned_by\":\"saga\"}")));
        }
    }
    note(&st, buf_add_str(out, STR("]}")));
    return st;
}
