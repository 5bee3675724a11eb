/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. a line of limits makes the core, or tells it new ones; 2. an event's line goes
 * through the core; 3. the effects' lines behind it must be those that came out. Failures: a line
 * that cannot be read ends it with its number; a last line that was cut is left out. */
#include "cli/sim_events.h"

#include "cli/cmd.h"
#include "coordinator/core/core.h"
#include "coordinator/core/record.h"

#include <stdio.h>
#include <string.h>

enum {
    EFFECTS_BYTES = 1 << 24,
    ARENA_STEP = 65536,
    ARENA_BYTES = 1 << 24,
    PIECE_BYTES = 4096,
    LINE_BYTES = 1 << 24,
};

struct replay {
    struct coord_core *core; /* NULL before the first line */
    struct arena arena;      /* of the event at hand */
    struct buf want;         /* effects that came out and have not been met in the file yet */
    size_t met_bytes;        /* of want */
    uint64_t line;
    uint64_t events;
    uint64_t effects;
    uint64_t differences;      /* events whose effects were others */
    uint64_t first_difference; /* line */
    bool is_different;         /* that of the event at hand */
};

static void differ(struct replay *replay)
{
    if (!replay->is_different) {
        replay->is_different = true;
        replay->differences++;
        replay->first_difference =
            replay->first_difference == 0 ? replay->line : replay->first_difference;
    }
}

/* The effects of the event before must all have been there. */
static void close_event(struct replay *replay)
{
    if (replay->met_bytes < replay->want.len) {
        differ(replay);
    }
    replay->want.len = 0;
    replay->met_bytes = 0;
    replay->is_different = false;
}

static void on_effect(struct replay *replay, struct str line)
{
    struct str left = {replay->want.p + replay->met_bytes, replay->want.len - replay->met_bytes};
    replay->effects++;
    if (line.len > left.len || memcmp(line.p, left.p, line.len) != 0) {
        differ(replay);
        replay->met_bytes = replay->want.len;
        return;
    }
    replay->met_bytes += line.len;
}

static enum status on_limits(struct replay *replay, struct str line)
{
    struct coord_limits limits;
    uint64_t seed = 0;
    enum status st = coord_record_read_limits(line, &limits, &seed);
    if (st != ST_OK) {
        return st;
    }
    close_event(replay);
    if (replay->core == NULL) {
        return coord_core_new(&replay->core, mem_heap(), &limits, seed);
    }
    coord_core_set_limits(replay->core, &limits);
    return ST_OK;
}

static enum status on_event(struct replay *replay, struct str line)
{
    struct coord_event ev;
    uint64_t now_us = 0;
    const struct coord_effects *effects = NULL;
    arena_reset(&replay->arena);
    enum status st = coord_record_read(line, &replay->arena, &ev, &now_us);
    if (st == ST_NOTFOUND) {
        on_effect(replay, line);
        return ST_OK;
    }
    close_event(replay);
    if (st == ST_OK && replay->core == NULL) {
        return ST_INVAL; /* the limits come first */
    }
    if (st == ST_OK) {
        st = coord_core_step(replay->core, &ev, now_us, &effects);
    }
    if (st == ST_OK) {
        st = coord_record_effects(effects, &replay->want);
    }
    replay->events++;
    return st;
}

static enum status on_line(struct replay *replay, struct str line)
{
    replay->line++;
    enum status st = on_limits(replay, line);
    return st == ST_NOTFOUND ? on_event(replay, line) : st;
}

static enum status play(struct replay *replay, FILE *file)
{
    char piece[PIECE_BYTES];
    struct buf line;
    enum status st = ST_OK;
    buf_init(&line, mem_heap(), LINE_BYTES);
    while (st == ST_OK && fgets(piece, sizeof(piece), file) != NULL) {
        st = buf_add_str(&line, str_of(piece));
        if (st == ST_OK && line.p[line.len - 1] == '\n') {
            st = on_line(replay, buf_str(&line));
            line.len = 0;
        }
    }
    buf_fini(&line);
    /* Effects that are missing at the very end were cut off with the process. */
    return st == ST_OK && ferror(file) != 0 ? ST_IO : st;
}

static void print_line(const char *name, uint64_t value, bool is_json, bool is_last)
{
    if (is_json) {
        (void)printf("\"%s\":%llu%s", name, (unsigned long long)value, is_last ? "}\n" : ",");
    } else {
        (void)printf("%-22s %llu\n", name, (unsigned long long)value);
    }
}

static void print(const struct replay *replay, bool is_json)
{
    (void)fputs(is_json ? "{" : "", stdout);
    print_line("events", replay->events, is_json, false);
    print_line("effects", replay->effects, is_json, false);
    print_line("steps", coord_core_counters(replay->core)->steps_arrived, is_json, false);
    print_line("sessions", coord_core_session_count(replay->core), is_json, false);
    print_line("differences", replay->differences, is_json, false);
    print_line("first_difference_line", replay->first_difference, is_json, true);
}

int sim_events(const char *path, bool is_json)
{
    struct replay replay = {.core = NULL};
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        (void)fprintf(stderr, "saga sim: %s: %m\n", path);
        return CMD_FAILED;
    }
    arena_init(&replay.arena, mem_heap(), ARENA_STEP, ARENA_BYTES);
    buf_init(&replay.want, mem_heap(), EFFECTS_BYTES);
    enum status st = play(&replay, file);
    (void)fclose(file);
    if (st != ST_OK) {
        (void)fprintf(stderr, "saga sim: %s, line %llu: %s\n", path,
                      (unsigned long long)replay.line,
                      st == ST_INVAL ? "not a line of this version's event log" : status_text(st));
    } else if (replay.core == NULL) {
        (void)fprintf(stderr, "saga sim: %s is empty\n", path);
        st = ST_INVAL;
    } else {
        print(&replay, is_json);
    }
    buf_fini(&replay.want);
    arena_fini(&replay.arena);
    coord_core_free(replay.core);
    return st == ST_OK && replay.differences == 0 ? CMD_OK : CMD_FAILED;
}
