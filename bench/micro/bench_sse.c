/* SPDX-License-Identifier: Apache-2.0 */
/* Time to read a stream of text events beside the relayed bytes, and to filter it. Prints one JSON
 * line for each. bench_sse [ROUNDS] */
#include "common/base/str.h"
#include "common/rt/clock.h"
#include "coordinator/io/sse.h"

#include <stdio.h>
#include <stdlib.h>

enum { EVENT_COUNT = 1000, ROUNDS = 300 };

static const char event[] =
    "data: "
    "{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\",\"object\":\"chat.completion.chunk\","
    "\"created\":1750000000,\"model\":\"org/"
    "model\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
    "\" token\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";

static double read_once(uint32_t *events)
{
    struct sse_reader reader;
    sse_reader_init(&reader, COORD_ROUTE_CHAT);
    uint64_t from_us = clock_now_us();
    for (int i = 0; i < EVENT_COUNT; i++) {
        sse_reader_feed(&reader, event, sizeof(event) - 1);
    }
    double took_us = (double)(clock_now_us() - from_us);
    *events = reader.facts.event_count;
    sse_reader_fini(&reader);
    return took_us;
}

static double filter_once(struct buf *out)
{
    struct sse_filter filter;
    sse_filter_init(&filter);
    uint64_t from_us = clock_now_us();
    for (int i = 0; i < EVENT_COUNT; i++) {
        out->len = 0;
        if (sse_filter_feed(&filter, event, sizeof(event) - 1, out) != ST_OK) {
            exit(1); /* NOLINT(concurrency-mt-unsafe): one thread */
        }
    }
    double took_us = (double)(clock_now_us() - from_us);
    sse_filter_fini(&filter);
    return took_us;
}

static void report(const char *name, double best_us)
{
    (void)printf(
        "{\"bench\":\"%s\",\"event_bytes\":%zu,\"min_ns_per_event\":%.0f,\"mb_per_s\":%.0f}\n",
        name, sizeof(event) - 1, best_us * 1e3 / EVENT_COUNT,
        (double)(sizeof(event) - 1) * EVENT_COUNT / best_us);
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : ROUNDS;
    double read_us = 1e12;
    double filter_us = 1e12;
    struct buf out;
    buf_init(&out, mem_heap(), 65536);
    for (unsigned long i = 0; i < rounds; i++) {
        uint32_t events = 0;
        double took_us = read_once(&events);
        read_us = took_us < read_us ? took_us : read_us;
        if (events != EVENT_COUNT) {
            return 1;
        }
        took_us = filter_once(&out);
        filter_us = took_us < filter_us ? took_us : filter_us;
    }
    report("sse_read", read_us);
    report("sse_filter", filter_us);
    buf_fini(&out);
    return 0;
}
