/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of replies and dialects share: a question read from JSON written with ' for ", and
 * its reply. */
#ifndef TESTS_UNIT_SIMULATOR_WORKER_KIT_ASK_H
#define TESTS_UNIT_SIMULATOR_WORKER_KIT_ASK_H

#include "tests/kit/kit.h"

#include "simulator/worker/reply.h"

struct asked {
    struct sim_ask ask;
    struct sim_reply reply;
    uint32_t prompt_tokens;
};

/* ST_NOMEM when mem failed, nothing is held then. */
static inline enum status asked_init(struct asked *a,
                                     enum sim_api api,
                                     const char *text,
                                     const struct sim_reply_opts *opts,
                                     const struct mem *mem)
{
    char json[2048];
    struct sim_refusal refusal = {0};
    size_t len = str_copy(json, sizeof(json), str_of(text));
    for (size_t i = 0; i < len; i++) {
        if (json[i] == '\'') {
            json[i] = '"';
        }
    }
    yyjson_doc *doc = yyjson_read(json, len, 0);
    assert_non_null(doc);
    enum status st = ST_NOMEM;
    if (sim_ask_read(&a->ask, api, yyjson_doc_get_root(doc), STR("m"), mem, &refusal)) {
        a->prompt_tokens = (uint32_t)a->ask.chain.token_count;
        st = sim_reply_make(&a->reply, &a->ask, opts);
        if (st != ST_OK) {
            sim_ask_fini(&a->ask);
        }
    } else {
        assert_int_equal(refusal.status, 503);
    }
    yyjson_doc_free(doc);
    return st;
}

static inline void asked_fini(struct asked *a)
{
    sim_reply_fini(&a->reply);
    sim_ask_fini(&a->ask);
}

#endif
