/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hub_inside.h"

#include "common/base/hash.h"
#include "common/rt/log.h"

enum { MODELS_BYTES = 1 << 20 };

void hub_engine_unref(struct hub_engine *engine)
{
    if (engine != NULL && atomic_fetch_sub(&engine->refs, 1) == 1) {
        explicit_bzero(engine->key, sizeof(engine->key));
        mem_free(mem_heap(), engine, sizeof(*engine));
    }
}

struct hub_text hub_text_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *p = mem_alloc(mem_heap(), bytes);
    if (p == NULL) {
        return (struct hub_text){0};
    }
    memcpy(p, text, bytes);
    return (struct hub_text){p, bytes};
}

void hub_cmd_drop(struct hub_cmd *cmd)
{
    mem_free(mem_heap(), cmd->text.p, cmd->text.bytes);
    mem_free(mem_heap(), cmd->receipt.p, cmd->receipt.bytes);
    hub_engine_unref(cmd->entry);
}

static void add_engine(struct front *front, const struct hub_cmd *cmd)
{
    struct err err = {0};
    if (front_add_engine(front, cmd->engine, &cmd->entry->cfg, cmd->entry->key, cmd->entry->tls,
                         &err) != ST_OK) {
        log_error("hub", "engine cannot be used name=%s why=%s", cmd->entry->name,
                  log_quote(str_of(err.text)).text);
    }
}

void hub_cmd_run(struct front *front, struct hub_cmd *cmd)
{
    switch (cmd->kind) {
    case HUB_CMD_PLACED:
        front_placed(front, cmd->req, cmd->text.p, cmd->receipt.p);
        break;
    case HUB_CMD_START:
        front_start(front, cmd->req, cmd->engine, cmd->attempt);
        break;
    case HUB_CMD_REFUSE:
        front_refuse(front, cmd->req, &cmd->refusal);
        break;
    case HUB_CMD_PROBE:
        front_probe(front, cmd->engine, cmd->flag);
        break;
    case HUB_CMD_KIND:
        front_set_engine_kind(front, cmd->engine, cmd->engine_kind);
        break;
    case HUB_CMD_MODELS:
        front_set_models(front, str_of(cmd->text.p), cmd->flag);
        break;
    case HUB_CMD_ADD_ENGINE:
        add_engine(front, cmd);
        break;
    case HUB_CMD_REMOVE_ENGINE:
        front_remove_engine(front, cmd->engine);
        break;
    case HUB_CMD_RELOAD:
        front_reload(front, cmd->cfg);
        break;
    case HUB_CMD_DRAIN:
        front_drain(front);
        break;
    }
    hub_cmd_drop(cmd);
}

static void queue_inline(struct hub *hub, const struct hub_cmd *cmd)
{
    if (hub->queue_count == hub->queue_cap) {
        uint32_t cap = hub->queue_cap == 0 ? 64 : hub->queue_cap * 2;
        struct hub_cmd *grown = mem_resize(mem_heap(), hub->queue, hub->queue_cap * sizeof(*grown),
                                           cap * sizeof(*grown));
        if (grown == NULL) {
            log_error("hub", "out of memory: a command is lost");
            struct hub_cmd lost = *cmd;
            hub_cmd_drop(&lost);
            return;
        }
        hub->queue = grown;
        hub->queue_cap = cap;
    }
    hub->queue[hub->queue_count++] = *cmd;
    loop_defer(hub->loop, &hub->job);
}

void hub_send(struct hub *hub, uint32_t lane, struct hub_cmd *cmd)
{
    if (hub->is_inline) {
        queue_inline(hub, cmd);
        return;
    }
    if (mailbox_post(hub->lanes[lane].commands, cmd) != ST_OK) {
        log_error("hub", "mailbox of a loop is full: a command is lost loop=%u", lane);
        hub_cmd_drop(cmd);
    }
}

static bool has_news(struct hub *hub, const struct buf *json, bool is_ready)
{
    uint64_t print = hash_bytes(json->p, json->len, is_ready ? 1 : 0);
    bool is_new = print != hub->published_print;
    hub->published_print = print;
    return is_new;
}

void hub_publish(struct hub *hub)
{
    struct buf json;
    bool is_ready = coord_core_is_ready(hub->coord);
    buf_init(&json, mem_heap(), MODELS_BYTES);
    atomic_store(&hub->is_ready, is_ready);
    if (coord_core_write_models(hub->coord, &json) == ST_OK && buf_add(&json, "", 1) == ST_OK &&
        has_news(hub, &json, is_ready)) {
        for (uint32_t i = 0; i < hub->lane_count; i++) {
            struct hub_cmd cmd = {
                .kind = HUB_CMD_MODELS, .flag = is_ready, .text = hub_text_copy(json.p)};
            if (cmd.text.p != NULL) {
                hub_send(hub, i, &cmd);
            }
        }
    }
    buf_fini(&json);
}
