/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* fopen "e" */
#include "common/rt/secret.h"

#include <stdio.h>

enum status secret_read(const char *path, char ret[SECRET_BYTES], struct err *err)
{
    char text[SECRET_BYTES + 1];
    FILE *f = fopen(path, "rbe");
    if (f == NULL) {
        return err_set(err, ST_IO, "%.200s: cannot be opened", path);
    }
    size_t len = fread(text, 1, sizeof(text), f);
    bool is_read = ferror(f) == 0;
    (void)fclose(f);
    if (!is_read) {
        return err_set(err, ST_IO, "%.200s: cannot be read", path);
    }
    const char *end = len == 0 ? NULL : memchr(text, '\n', len);
    struct str line = {text, end == NULL ? len : (size_t)(end - text)};
    if (line.len > 0 && line.p[line.len - 1] == '\r') {
        line.len--;
    }
    line = str_trim(line);
    if (line.len == 0 || line.len >= SECRET_BYTES) {
        return err_set(err, ST_INVAL, "%.200s: the first line must hold a key of 1 to %d bytes",
                       path, SECRET_BYTES - 1);
    }
    for (size_t i = 0; i < line.len; i++) {
        if (line.p[i] <= 0x20 || line.p[i] > 0x7E) {
            return err_set(err, ST_INVAL, "%.200s: the key must be printable ASCII without spaces",
                           path);
        }
    }
    (void)str_copy(ret, SECRET_BYTES, line);
    return ST_OK;
}

bool secret_equal(struct str a, struct str b)
{
    if (a.len != b.len) {
        return false;
    }
    unsigned char diff = 0;
    for (size_t i = 0; i < a.len; i++) {
        diff =
            (unsigned char)(diff | (unsigned char)((unsigned char)a.p[i] ^ (unsigned char)b.p[i]));
    }
    return diff == 0;
}
