/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: 1. the first two bytes say whether it is gzip; 2. raw bytes come from the file or the
 * memory;
 * 3. gzip is inflated into out[], plain bytes are copied there; 4. lines are cut off out[].
 * Failures: read error, broken or cut gzip, a line or a total over its limit: the reader says which
 * and stops. */
#include "bench/replay/lines.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

enum { RAW_BYTES = 32768, OUT_BYTES = 2 * LINES_LINE_MAX, ERROR_BYTES = 64 };

struct lines {
    FILE *file;      /* NULL: memory */
    struct str rest; /* memory not read yet */
    z_stream z;
    uint64_t number; /* lines returned */
    uint64_t total;  /* bytes that went through out */
    size_t begin;    /* unread part of out: [begin, end) */
    size_t end;
    bool is_gzip;
    bool is_inside; /* inside a gzip member */
    bool has_started;
    bool is_raw_done; /* no more raw bytes */
    unsigned char raw[RAW_BYTES];
    char out[OUT_BYTES];
};

static const char *error_text(int number, char text[ERROR_BYTES])
{
    return strerror_r(number, text, ERROR_BYTES);
}

static enum status lines_new(struct lines **ret, struct err *err)
{
    struct lines *lines = mem_calloc(mem_heap(), 1, sizeof(*lines));
    if (lines == NULL) {
        return err_set(err, ST_NOMEM, "no memory to read the trace");
    }
    *ret = lines;
    return ST_OK;
}

enum status lines_open(struct lines **ret, const char *path, struct err *err)
{
    char text[ERROR_BYTES];
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return err_set(err, ST_IO, "cannot open %s: %s", path, error_text(errno, text));
    }
    enum status st = lines_new(ret, err);
    if (st != ST_OK) {
        (void)fclose(file);
        return st;
    }
    (*ret)->file = file;
    return ST_OK;
}

enum status lines_open_mem(struct lines **ret, struct str data, struct err *err)
{
    enum status st = lines_new(ret, err);
    if (st == ST_OK) {
        (*ret)->rest = data;
    }
    return st;
}

void lines_close(struct lines *lines)
{
    if (lines == NULL) {
        return;
    }
    if (lines->is_gzip) {
        (void)inflateEnd(&lines->z);
    }
    if (lines->file != NULL) {
        (void)fclose(lines->file);
    }
    mem_free(mem_heap(), lines, sizeof(*lines));
}

/* More raw bytes into z.next_in, behind what is there (which is nothing, or one byte at the start).
 */
static enum status fetch(struct lines *lines, struct err *err)
{
    char text[ERROR_BYTES];
    size_t kept = lines->z.avail_in;
    size_t n = 0;
    memmove(lines->raw, lines->z.next_in == NULL ? lines->raw : lines->z.next_in, kept);
    if (lines->file != NULL) {
        n = fread(lines->raw + kept, 1, RAW_BYTES - kept, lines->file);
        if (n == 0 && ferror(lines->file) != 0) {
            return err_set(err, ST_IO, "cannot read the trace: %s", error_text(errno, text));
        }
    } else if (lines->rest.len > 0) {
        n = lines->rest.len < RAW_BYTES - kept ? lines->rest.len : RAW_BYTES - kept;
        memcpy(lines->raw + kept, lines->rest.p, n);
        lines->rest.p += n;
        lines->rest.len -= n;
    }
    lines->is_raw_done = n == 0;
    lines->z.next_in = lines->raw;
    lines->z.avail_in = (uInt)(kept + n);
    return ST_OK;
}

static enum status start(struct lines *lines, struct err *err)
{
    lines->has_started = true;
    while (lines->z.avail_in < 2 && !lines->is_raw_done) {
        enum status st = fetch(lines, err);
        if (st != ST_OK) {
            return st;
        }
    }
    if (lines->z.avail_in >= 2 && lines->raw[0] == 0x1f && lines->raw[1] == 0x8b) {
        if (inflateInit2(&lines->z, 15 + 16) != Z_OK) {
            return err_set(err, ST_NOMEM, "no memory to inflate the trace");
        }
        lines->is_gzip = true;
        lines->is_inside = true;
    }
    return ST_OK;
}

static enum status inflate_some(struct lines *lines, struct err *err)
{
    if (!lines->is_inside) {
        /* Another member follows. */
        (void)inflateReset(&lines->z);
        lines->is_inside = true;
    }
    lines->z.next_out = (unsigned char *)lines->out + lines->end;
    lines->z.avail_out = (uInt)(OUT_BYTES - lines->end);
    int rc = inflate(&lines->z, Z_NO_FLUSH);
    lines->end = OUT_BYTES - lines->z.avail_out;
    if (rc == Z_STREAM_END) {
        lines->is_inside = false;
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
        return err_set(err, ST_PROTO, "broken gzip data behind line %llu",
                       (unsigned long long)lines->number);
    }
    return ST_OK;
}

static enum status copy_some(struct lines *lines)
{
    size_t n = lines->z.avail_in;
    if (n > OUT_BYTES - lines->end) {
        n = OUT_BYTES - lines->end;
    }
    memcpy(lines->out + lines->end, lines->z.next_in, n);
    lines->end += n;
    lines->z.next_in += n;
    lines->z.avail_in -= (uInt)n;
    return ST_OK;
}

/* Adds bytes to out, which has room. *ret_done: there will be no more. */
static enum status fill(struct lines *lines, bool *ret_done, struct err *err)
{
    enum status st = lines->has_started ? ST_OK : start(lines, err);
    if (st == ST_OK && lines->z.avail_in == 0 && !lines->is_raw_done) {
        st = fetch(lines, err);
    }
    if (st != ST_OK) {
        return st;
    }
    size_t before = lines->end;
    if (lines->z.avail_in > 0 || lines->is_inside) {
        st = lines->is_gzip ? inflate_some(lines, err) : copy_some(lines);
    }
    lines->total += lines->end - before;
    if (st == ST_OK && lines->total > LINES_TOTAL_MAX) {
        return err_set(err, ST_TOOBIG, "the trace is larger than %llu bytes",
                       (unsigned long long)LINES_TOTAL_MAX);
    }
    *ret_done = lines->end == before && lines->z.avail_in == 0 && lines->is_raw_done;
    if (st == ST_OK && *ret_done && lines->is_inside) {
        return err_set(err, ST_PROTO, "the gzip data is cut behind line %llu",
                       (unsigned long long)lines->number);
    }
    return st;
}

static void take_line(struct lines *lines, size_t len, size_t skip, struct str *ret)
{
    *ret = (struct str){lines->out + lines->begin, len};
    if (len > 0 && ret->p[len - 1] == '\r') {
        ret->len--;
    }
    lines->begin += len + skip;
    lines->number++;
}

enum status lines_next(struct lines *lines, struct str *ret, struct err *err)
{
    size_t seen = 0; /* bytes behind begin without a line end */
    for (;;) {
        size_t len = lines->end - lines->begin;
        const char *at = lines->out + lines->begin;
        const char *nl = len > seen ? memchr(at + seen, '\n', len - seen) : NULL;
        size_t line_len = nl != NULL ? (size_t)(nl - at) : len;
        if (line_len > LINES_LINE_MAX) {
            return err_set(err, ST_TOOBIG, "line %llu is longer than %d bytes",
                           (unsigned long long)lines->number + 1, LINES_LINE_MAX);
        }
        if (nl != NULL) {
            take_line(lines, line_len, 1, ret);
            return ST_OK;
        }
        seen = len;
        if (lines->begin > 0) {
            memmove(lines->out, at, len);
            lines->begin = 0;
            lines->end = len;
        }
        bool is_done = false;
        enum status st = fill(lines, &is_done, err);
        if (st != ST_OK) {
            return st;
        }
        if (is_done && len == 0) {
            return ST_CLOSED;
        }
        if (is_done) {
            take_line(lines, len, 0, ret);
            return ST_OK;
        }
    }
}

uint64_t lines_number(const struct lines *lines)
{
    return lines->number;
}
