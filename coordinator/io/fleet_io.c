/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/io/fleet_io.h"

/* config_engine.def: auto|vllm|sglang|trtllm|llamacpp|openai|sim */
static enum coord_engine_kind kind_of(int configured)
{
    static const enum coord_engine_kind kinds[] = {
        COORD_ENGINE_UNKNOWN,  COORD_ENGINE_VLLM,   COORD_ENGINE_SGLANG, COORD_ENGINE_TRTLLM,
        COORD_ENGINE_LLAMACPP, COORD_ENGINE_OPENAI, COORD_ENGINE_SIM};
    return kinds[configured];
}

void fleet_io_init(struct fleet_io *fleet, struct http_client *client)
{
    memset(fleet, 0, sizeof(*fleet));
    fleet->client = client;
}

static void engine_free(struct fleet_engine *engine)
{
    http_endpoint_release(engine->ep);
    explicit_bzero(engine->key, sizeof(engine->key));
    mem_free(mem_heap(), engine, sizeof(*engine));
}

void fleet_io_fini(struct fleet_io *fleet)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        engine_free(fleet->engines[i]);
    }
    mem_free(mem_heap(), fleet->engines, fleet->cap * sizeof(struct fleet_engine *));
    memset(fleet, 0, sizeof(*fleet));
}

enum status fleet_io_add(struct fleet_io *fleet,
                         struct engine_id id,
                         const struct config_engine *engine,
                         const char *key,
                         struct tls_ctx *tls,
                         struct err *err)
{
    if (fleet->count == fleet->cap) {
        uint32_t cap = fleet->cap == 0 ? 8 : fleet->cap * 2;
        struct fleet_engine **grown =
            mem_resize(mem_heap(), fleet->engines, fleet->cap * sizeof(struct fleet_engine *),
                       cap * sizeof(struct fleet_engine *));
        if (grown == NULL) {
            return err_set(err, ST_NOMEM, "engine table");
        }
        fleet->engines = grown;
        fleet->cap = cap;
    }
    struct fleet_engine *added = mem_calloc(mem_heap(), 1, sizeof(*added));
    if (added == NULL) {
        return err_set(err, ST_NOMEM, "engine");
    }
    added->id = id;
    added->kind = kind_of(engine->kind);
    added->is_kind_fixed = added->kind != COORD_ENGINE_UNKNOWN;
    str_copy(added->name, sizeof(added->name), str_of(engine->name));
    str_copy(added->url, sizeof(added->url), str_of(engine->url));
    str_copy(added->key, sizeof(added->key), str_of(key));
    enum status st = http_endpoint_new(&added->ep, fleet->client, str_of(engine->url), tls, err);
    if (st != ST_OK) {
        mem_free(mem_heap(), added, sizeof(*added));
        return st;
    }
    fleet->engines[fleet->count++] = added;
    return ST_OK;
}

void fleet_io_remove(struct fleet_io *fleet, struct engine_id id)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        if (fleet->engines[i]->id.v == id.v) {
            engine_free(fleet->engines[i]);
            fleet->engines[i] = fleet->engines[--fleet->count];
            return;
        }
    }
}

struct fleet_engine *fleet_io_find(const struct fleet_io *fleet, struct engine_id id)
{
    for (uint32_t i = 0; i < fleet->count; i++) {
        if (fleet->engines[i]->id.v == id.v) {
            return fleet->engines[i];
        }
    }
    return NULL;
}
