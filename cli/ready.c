/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ready.h"

#include "common/base/str.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static enum status
add_text(struct buf *buf, const char *const *listens, size_t count, const char *admin)
{
    enum status st = buf_add_fmt(buf, "{\"pid\":%ld,\"listen\":[", (long)getpid());
    for (size_t i = 0; st == ST_OK && i < count; i++) {
        st = buf_add_str(buf, i == 0 ? STR("\"") : STR(",\""));
        st = st == ST_OK ? buf_add_json(buf, str_of(listens[i])) : st;
        st = st == ST_OK ? buf_add_str(buf, STR("\"")) : st;
    }
    st = st == ST_OK ? buf_add_str(buf, STR("],\"admin\":")) : st;
    if (st == ST_OK && admin == NULL) {
        return buf_add_str(buf, STR("null}\n"));
    }
    st = st == ST_OK ? buf_add_str(buf, STR("\"")) : st;
    st = st == ST_OK ? buf_add_json(buf, str_of(admin)) : st;
    return st == ST_OK ? buf_add_str(buf, STR("\"}\n")) : st;
}

enum status ready_write(
    const char *path, const char *const *listens, size_t count, const char *admin, struct err *err)
{
    struct buf text;
    struct buf name;
    FILE *file = NULL;
    buf_init(&text, mem_heap(), 1 << 20);
    buf_init(&name, mem_heap(), 1 << 16);
    enum status st = add_text(&text, listens, count, admin);
    st = st == ST_OK ? buf_add_fmt(&name, "%s.tmp.%ld", path, (long)getpid()) : st;
    st = st == ST_OK ? buf_add(&name, "", 1) : st;
    if (st != ST_OK) {
        goto out;
    }
    file = fopen(name.p, "we");
    bool is_written = file != NULL && fwrite(text.p, 1, text.len, file) == text.len;
    is_written = (file == NULL || fclose(file) == 0) && is_written;
    if (!is_written || rename(name.p, path) != 0) {
        st = err_set(err, ST_IO, "ready file %.150s: errno %d", path, errno);
        if (file != NULL) {
            (void)unlink(name.p);
        }
    }
out:
    buf_fini(&text);
    buf_fini(&name);
    return st;
}
