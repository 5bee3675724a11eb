/* SPDX-License-Identifier: Apache-2.0 */
/* One line per happening, to standard error:
 *
 *   2031-05-04T12:00:00.123Z warn upstream retrying elsewhere req=ab12 node=n3
 *
 * Written whole by one write(), control bytes escaped, cut at LOG_LINE_BYTES. Repeats of one call
 * site are limited (not at debug level): the first LOG_BURST lines of LOG_WINDOW_US are written,
 * the rest is counted and told. Never give it prompt or completion text.
 *
 * THREAD: any. Never allocates, takes no lock. */
#ifndef COMMON_RT_LOG_H
#define COMMON_RT_LOG_H

#include "common/base/config.h"

#include <stdatomic.h>

enum { LOG_LINE_BYTES = 1024, LOG_BURST = 20, LOG_WINDOW_US = 10000000, LOG_QUOTED_BYTES = 160 };

/* One per call site, static and zeroed. */
struct log_site {
    _Atomic uint64_t window_at_us; /* start of the current window, 0 = none yet */
    _Atomic uint32_t line_count;   /* lines asked for in this window */
    _Atomic uint32_t held_count;   /* lines not written since the last one that was */
    _Atomic bool is_listed;        /* reachable from log_flush */
    struct log_site *next;         /* set once, before is_listed */
    const char *comp;              /* for log_flush */
    int level;
};

/* Least severe level that is written; starts as info. */
void log_set_level(enum config_log_level level);
bool log_is_on(enum config_log_level level);

/* Where lines go; starts as standard error. For tests. */
void log_set_fd(int fd);

/* Lines that could not be written (descriptor full or closed). */
uint64_t log_lost_count(void);

/* Tells what was held back by sites whose window is over ("612 more in 10 s"). Call it now and then
 * and before exit (is_final: whatever the window says). */
void log_flush(uint64_t now_us, bool is_final);

/* The macros below are the way in. comp: static string, one word. */
void log_write(struct log_site *site,
               enum config_log_level level,
               const char *comp,
               const char *fmt,
               ...) PRINTF_LIKE(4, 5);

#define LOG_AT(level, comp, ...)                             \
    do {                                                     \
        static struct log_site log_site_;                    \
        if (log_is_on(level)) {                              \
            log_write(&log_site_, level, comp, __VA_ARGS__); \
        }                                                    \
    } while (0)

#define log_error(comp, ...) LOG_AT(LOG_LEVEL_ERROR, comp, __VA_ARGS__)
#define log_warn(comp, ...)  LOG_AT(LOG_LEVEL_WARN, comp, __VA_ARGS__)
#define log_info(comp, ...)  LOG_AT(LOG_LEVEL_INFO, comp, __VA_ARGS__)
#define log_debug(comp, ...) LOG_AT(LOG_LEVEL_DEBUG, comp, __VA_ARGS__)

/* A value somebody else chose, in double quotes, with quotes, backslashes and controls escaped, cut
 * when long: log_warn("front", "no such model model=%s", log_quote(model).text); */
struct log_quoted {
    char text[LOG_QUOTED_BYTES];
};
struct log_quoted log_quote(struct str s);

#endif
