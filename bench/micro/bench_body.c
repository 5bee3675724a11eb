/* SPDX-License-Identifier: Apache-2.0 */
/* Time to parse a request body and hash its prompt chain: an agent's prompt of 60 messages. Prints
 * one JSON line. bench_body [BYTES [ROUNDS]] */
#include "common/base/rng.h"
#include "common/base/str.h"
#include "common/rt/clock.h"
#include "coordinator/io/body.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE_COUNT = 60, TOOL_COUNT = 20, BODY_BYTES = 400000, ROUNDS = 2000, SEED = 7 };

static void must(enum status st)
{
    if (st != ST_OK) {
        (void)fprintf(stderr, "bench_body: %s\n", status_text(st));
        exit(1); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
}

/* Words and line ends, as source code and logs have them: about one escape in 40 bytes. */
static void add_text(struct buf *body, struct rng *rng, size_t bytes)
{
    for (size_t end = body->len + bytes; body->len < end;) {
        char word[16];
        size_t len = 3 + rng_below(rng, 9);
        for (size_t i = 0; i < len; i++) {
            word[i] = (char)('a' + rng_below(rng, 26));
        }
        must(buf_add(body, word, len));
        must(buf_add_str(body, rng_below(rng, 5) == 0 ? STR("\\n") : STR(" ")));
    }
}

static void make_body(struct buf *body, size_t bytes)
{
    struct rng rng;
    rng_init(&rng, SEED);
    must(buf_add_str(body, STR("{\"model\":\"m\",\"stream\":true,\"tools\":[")));
    for (int i = 0; i < TOOL_COUNT; i++) {
        must(buf_add_fmt(body,
                         "%s{\"type\":\"function\",\"function\":{\"name\":\"t%d\",\"parameters\":{"
                         "\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
                         "\"string\",\"description\":\"",
                         i == 0 ? "" : ",", i));
        add_text(body, &rng, 400);
        must(buf_add_str(body, STR("\"}}}}}")));
    }
    must(buf_add_str(body, STR("],\"messages\":[{\"role\":\"system\",\"content\":\"s\"}")));
    size_t each = (bytes - body->len) / MESSAGE_COUNT;
    for (int i = 1; i < MESSAGE_COUNT; i++) {
        if (i % 2 == 1) {
            must(buf_add_fmt(body,
                             ",{\"role\":\"tool\",\"tool_call_id\":\"call_%d\",\"content\":\"", i));
            add_text(body, &rng, each + each / 2);
        } else {
            must(buf_add_fmt(body,
                             ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":"
                             "\"call_%d\",\"type\":\"function\",\"function\":{\"name\":\"t1\","
                             "\"arguments\":\"{\\\"a\\\":1}\"}}],\"reasoning_content\":\"",
                             i));
            add_text(body, &rng, each / 2);
        }
        must(buf_add_str(body, STR("\"}")));
    }
    must(buf_add_str(body, STR("]}")));
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : BODY_BYTES;
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : ROUNDS;
    struct buf body;
    struct body_parser *parser = NULL;
    struct body_view view = {.chain_count = 0};
    struct err err = {.status = ST_OK};
    if (bytes < 20000 || rounds == 0) {
        (void)fprintf(stderr, "usage: bench_body [BYTES >= 20000 [ROUNDS >= 1]]\n");
        return 2;
    }
    double *took_us = calloc(rounds, sizeof(*took_us));
    buf_init(&body, mem_heap(), SIZE_MAX / 2);
    make_body(&body, bytes);
    must(body_parser_new(&parser));
    for (size_t i = 0; i < rounds && took_us != NULL; i++) {
        uint64_t from_us = clock_now_us();
        must(body_parse(parser, COORD_ROUTE_CHAT, body.p, body.len, &view, &err));
        took_us[i] = (double)(clock_now_us() - from_us);
    }
    if (took_us != NULL) {
        qsort(took_us, rounds, sizeof(*took_us), compare);
        (void)printf("{\"bench\":\"body_parse\",\"bytes\":%zu,\"messages\":%d,\"boundaries\":%u,"
                     "\"rounds\":%zu,\"min_us\":%.0f,\"p50_us\":%.0f,\"p99_us\":%.0f}\n",
                     body.len, MESSAGE_COUNT, view.chain_count, rounds, took_us[0],
                     took_us[rounds / 2], took_us[rounds * 99 / 100]);
    }
    body_parser_free(parser);
    buf_fini(&body);
    free(took_us);
    return 0;
}
