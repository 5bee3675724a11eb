/* SPDX-License-Identifier: Apache-2.0 */
/* Request bodies of the simulated engine: the first byte chooses the API and whether a tool is
 * called, the rest is the body. What is read must be answered with valid JSON whose tokens add up.
 */
#include "simulator/worker/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(struct sim_ask *ask, bool calls_tool)
{
    struct sim_reply reply;
    struct sim_out out;
    struct sim_reply_pos pos = {0};
    struct sim_piece piece;
    const struct sim_dialect *dialect = sim_dialect_of(ask->api);
    uint32_t prompt_tokens = (uint32_t)ask->chain.token_count;
    struct sim_reply_opts opts = {
        .seed = 1, .mean_tokens = 8, .room_tokens = 256, .calls_tool = calls_tool};
    if (dialect == NULL || sim_reply_make(&reply, ask, &opts) != ST_OK) {
        return;
    }
    struct sim_render render = {.api = ask->api,
                                .wants_usage = ask->wants_usage,
                                .wants_usage_each = ask->wants_usage_each,
                                .id = STR("i"),
                                .model = STR("m"),
                                .max_tokens = ask->max_tokens,
                                .prompt_tokens = prompt_tokens,
                                .reply = &reply};
    sim_out_init(&out, mem_heap());
    if (dialect->open != NULL) {
        dialect->open(&render, &out);
    }
    while (sim_reply_next(&reply, &pos, &piece)) {
        render.output_tokens = pos.token_idx;
        if (pos.token_idx == 1 && dialect->first != NULL) {
            dialect->first(&render, &out);
        }
        dialect->piece(&render, &piece, &out);
    }
    dialect->close(&render, &out);
    ASSERT(out.st == ST_OK && pos.text_at == reply.text.buf.len);
    sim_out_clear(&out);
    dialect->whole(&render, &out);
    yyjson_doc *doc = yyjson_read(out.buf.p, out.buf.len, 0);
    ASSERT(doc != NULL);
    yyjson_doc_free(doc);
    sim_out_fini(&out);
    sim_reply_fini(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sim_ask ask;
    struct sim_refusal refusal;
    if (size == 0) {
        return 0;
    }
    yyjson_doc *doc = yyjson_read((const char *)data + 1, size - 1, 0);
    if (doc == NULL) {
        return 0;
    }
    enum sim_api api = (enum sim_api)(data[0] % 6);
    if (sim_ask_read(&ask, api, yyjson_doc_get_root(doc), STR("m"), mem_heap(), &refusal)) {
        answer(&ask, (data[0] & 0x80) == 0);
        sim_ask_fini(&ask);
    }
    yyjson_doc_free(doc);
    return 0;
}
