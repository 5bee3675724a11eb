/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/log.h"

#include "common/rt/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int log_level = LOG_LEVEL_INFO;
static _Atomic int log_fd = STDERR_FILENO;
static _Atomic uint64_t log_lost;
static struct log_site *_Atomic log_sites; /* those that ever held a line back */

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARN] = "warn",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

void log_set_level(enum config_log_level level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

bool log_is_on(enum config_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void log_set_fd(int fd)
{
    atomic_store_explicit(&log_fd, fd, memory_order_relaxed);
}

uint64_t log_lost_count(void)
{
    return atomic_load_explicit(&log_lost, memory_order_relaxed);
}

/* Appends src to dst with control bytes written as \n or \xHH; returns the new length, never above
 * cap. A piece that does not fit whole is left out. */
static size_t put_escaped(char *dst, size_t len, size_t cap, struct str src, bool is_quoting)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < src.len; i++) {
        unsigned char c = (unsigned char)src.p[i];
        char piece[4] = {'\\', 'x', hex[c >> 4], hex[c & 15]};
        size_t piece_len = 4;
        if (c == '\n') {
            piece[1] = 'n';
            piece_len = 2;
        } else if (is_quoting && (c == '"' || c == '\\')) {
            piece[1] = (char)c;
            piece_len = 2;
        } else if (c >= 0x20 && c != 0x7F) {
            piece[0] = (char)c;
            piece_len = 1;
        }
        if (cap - len < piece_len) {
            return len;
        }
        memcpy(dst + len, piece, piece_len);
        len += piece_len;
    }
    return len;
}

struct log_quoted log_quote(struct str s)
{
    struct log_quoted q;
    size_t cap = sizeof(q.text) - 2; /* closing quote and NUL */
    q.text[0] = '"';
    size_t len = put_escaped(q.text, 1, cap, s, true);
    q.text[len] = '"';
    q.text[len + 1] = '\0';
    return q;
}

static void
write_line(enum config_log_level level, const char *comp, const char *msg, uint32_t held)
{
    char stamp[CLOCK_STAMP_BYTES];
    (void)clock_stamp(clock_wall_us(), stamp);
    char line[LOG_LINE_BYTES];
    char tail[48] = "";
    if (held > 0) {
        (void)snprintf(tail, sizeof(tail), " (%u more in 10 s)", held);
    }
    size_t cap = sizeof(line) - strlen(tail) - 1;
    int head = snprintf(line, sizeof(line), "%s %s %s ", stamp, level_names[level], comp);
    size_t len = head < 0 ? 0 : (size_t)head < cap ? (size_t)head : cap;
    len = put_escaped(line, len, cap, str_of(msg), false);
    memcpy(line + len, tail, strlen(tail));
    len += strlen(tail);
    line[len++] = '\n';
    ssize_t n;
    do {
        n = write(atomic_load_explicit(&log_fd, memory_order_relaxed), line, len);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        atomic_fetch_add_explicit(&log_lost, 1, memory_order_relaxed);
    }
}

/* Makes a site that held something back known to log_flush. */
static void list_site(struct log_site *site, enum config_log_level level, const char *comp)
{
    if (atomic_exchange(&site->is_listed, true)) {
        return;
    }
    site->comp = comp;
    site->level = (int)level;
    site->next = atomic_load(&log_sites);
    while (!atomic_compare_exchange_weak(&log_sites, &site->next, site)) {
    }
}

/* False: hold this line back. *ret_held: lines held before, to be told with it. */
static bool site_admits(struct log_site *site, uint64_t now_us, uint32_t *ret_held)
{
    uint64_t at_us = atomic_load_explicit(&site->window_at_us, memory_order_relaxed);
    if (at_us == 0 || (now_us > at_us && now_us - at_us >= LOG_WINDOW_US)) {
        if (atomic_compare_exchange_strong(&site->window_at_us, &at_us, now_us)) {
            atomic_store_explicit(&site->line_count, 0, memory_order_relaxed);
        }
    }
    if (atomic_fetch_add_explicit(&site->line_count, 1, memory_order_relaxed) >= LOG_BURST) {
        atomic_fetch_add_explicit(&site->held_count, 1, memory_order_relaxed);
        return false;
    }
    *ret_held = atomic_exchange_explicit(&site->held_count, 0, memory_order_relaxed);
    return true;
}

void log_write(
    struct log_site *site, enum config_log_level level, const char *comp, const char *fmt, ...)
{
    uint32_t held = 0;
    if (level != LOG_LEVEL_DEBUG && !site_admits(site, clock_now_us(), &held)) {
        list_site(site, level, comp);
        return;
    }
    char msg[LOG_LINE_BYTES];
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(msg, sizeof(msg), fmt, args);
    va_end(args);
    write_line(level, comp, len < 0 ? "?" : msg, held);
}

void log_flush(uint64_t now_us, bool is_final)
{
    for (struct log_site *site = atomic_load(&log_sites); site != NULL; site = site->next) {
        uint64_t at_us = atomic_load_explicit(&site->window_at_us, memory_order_relaxed);
        if (!is_final && (now_us < at_us || now_us - at_us < LOG_WINDOW_US)) {
            continue;
        }
        uint32_t held = atomic_exchange_explicit(&site->held_count, 0, memory_order_relaxed);
        if (held > 0) {
            write_line((enum config_log_level)site->level, site->comp, "repeated", held);
        }
    }
}
