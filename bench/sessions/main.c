/* SPDX-License-Identifier: Apache-2.0 */
/* bench_sessions [--trace FILE] [--blocks FILE] [--sessions N] [--rounds N] [--seed N]
 *                [--start-ms N] [--idle-ms N] [--same-per-1000 N] [--near-per-1000 N]
 *                [--again-per-1000 N] [--skip SOURCE] [--json] [--check]
 * Strips the ids off recorded sessions, plays many at once through the coordinator's core
 * and says how well it finds them again. --check: exit 1 when precision or recall is below its
 * goal. */
#include "bench/sessions/play.h"
#include "bench/sessions/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct args {
    const char *trace;
    const char *blocks;
    const char *skip;
    uint64_t rounds;
    uint64_t sessions;
    uint64_t seed;
    uint64_t start_ms;
    uint64_t idle_ms;
    uint64_t same_per_1000;
    uint64_t near_per_1000;
    uint64_t again_per_1000;
    bool is_json;
    bool is_check;
};

static bool read_number(const char *text, uint64_t max, uint64_t *ret)
{
    char *end = NULL;
    unsigned long long val = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || val > max) {
        return false;
    }
    *ret = val;
    return true;
}

static bool read_pair(struct args *args, const char *key, const char *val)
{
    if (strcmp(key, "--trace") == 0) {
        args->trace = val;
        return true;
    }
    if (strcmp(key, "--blocks") == 0) {
        args->blocks = val;
        return true;
    }
    if (strcmp(key, "--skip") == 0) {
        args->skip = val;
        return true;
    }
    if (strcmp(key, "--sessions") == 0) {
        return read_number(val, 10000, &args->sessions) && args->sessions > 0;
    }
    if (strcmp(key, "--rounds") == 0) {
        return read_number(val, 1000, &args->rounds) && args->rounds > 0;
    }
    if (strcmp(key, "--seed") == 0) {
        return read_number(val, UINT32_MAX, &args->seed);
    }
    if (strcmp(key, "--start-ms") == 0) {
        return read_number(val, UINT32_MAX, &args->start_ms) && args->start_ms > 0;
    }
    if (strcmp(key, "--same-per-1000") == 0) {
        return read_number(val, 1000, &args->same_per_1000);
    }
    if (strcmp(key, "--near-per-1000") == 0) {
        return read_number(val, 1000, &args->near_per_1000);
    }
    if (strcmp(key, "--again-per-1000") == 0) {
        return read_number(val, 1000, &args->again_per_1000);
    }
    return strcmp(key, "--idle-ms") == 0 && read_number(val, UINT32_MAX, &args->idle_ms);
}

static bool read_args(struct args *args, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            args->is_json = true;
        } else if (strcmp(argv[i], "--check") == 0) {
            args->is_check = true;
        } else if (i + 1 >= argc || !read_pair(args, argv[i], argv[i + 1])) {
            (void)fprintf(stderr, "bench_sessions: bad argument %s\n", argv[i]);
            return false;
        } else {
            i++;
        }
    }
    return true;
}

static enum status
load(const struct args *args, struct trace *trace, struct blocks *blocks, struct err *err)
{
    if (args->blocks != NULL) {
        enum status st = blocks_load(blocks, mem_heap(), args->blocks, err);
        if (st != ST_OK) {
            return st;
        }
    }
    enum status st = trace_load_named(trace, mem_heap(), args->trace, err);
    for (uint32_t i = 0; st == ST_OK && i < trace->session_count; i++) {
        const struct trace_session *session = &trace->sessions[i];
        if (session->parent == TRACE_NONE &&
            (args->skip == NULL || strcmp(session->source, args->skip) != 0)) {
            return ST_OK;
        }
    }
    return st == ST_OK ? err_set(err, ST_INVAL, "no session is left") : st;
}

static enum status play_all(const struct args *args,
                            const struct trace *trace,
                            const struct blocks *blocks,
                            struct score *score,
                            struct err *err)
{
    enum status st = ST_OK;
    for (uint64_t i = 0; i < args->rounds && st == ST_OK; i++) {
        const struct play_options opts = {.sessions = (uint32_t)args->sessions,
                                          .skip = args->skip,
                                          .seed = args->seed + i,
                                          .start_us = args->start_ms * 1000,
                                          .idle_us = args->idle_ms * 1000,
                                          .same_share = (double)args->same_per_1000 / 1000.0,
                                          .near_share = (double)args->near_per_1000 / 1000.0,
                                          .again_share = (double)args->again_per_1000 / 1000.0,
                                          .retry_share = 0.02,
                                          .aux_share = 0.03};
        st = play_round(trace, blocks, &opts, score, err);
    }
    return st;
}

int main(int argc, char **argv)
{
    struct args args = {.rounds = 10,
                        .sessions = 200,
                        .seed = 1,
                        .start_ms = 10000,
                        .idle_ms = 86400000,
                        .same_per_1000 = 50,
                        .near_per_1000 = 50};
    if (!read_args(&args, argc, argv)) {
        return 2;
    }
    struct trace trace = {0};
    struct blocks blocks = {0};
    struct err err = {0};
    struct score score;
    score_init(&score, mem_heap(), args.idle_ms * 1000);
    enum status st = load(&args, &trace, &blocks, &err);
    st = st == ST_OK ? play_all(&args, &trace, &blocks, &score, &err) : st;
    bool is_good = st == ST_OK && report_is_good(&score);
    if (st != ST_OK) {
        (void)fprintf(stderr, "bench_sessions: %s\n", err.text);
    } else if (args.is_json) {
        report_json(&score);
    } else {
        report_table(&score);
    }
    score_fini(&score);
    blocks_fini(&blocks);
    trace_fini(&trace);
    return st != ST_OK ? 2 : args.is_check && !is_good ? 1 : 0;
}
