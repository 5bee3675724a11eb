/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: the text is written whole, standard output is flushed.
 * Failures: ST_IO and which file; what was written stays. */
#include "bench/lab/output.h"

#include <stdio.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

static enum status write_file(const char *path, const struct buf *text, struct err *err)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return err_set(err, ST_IO, "cannot write %s", path);
    }
    bool is_fine = fwrite(text->p, 1, text->len, file) == text->len;
    is_fine = fclose(file) == 0 && is_fine;
    return is_fine ? ST_OK : err_set(err, ST_IO, "cannot write %s", path);
}

static enum status to_stdout(const struct buf *text, struct err *err)
{
    bool is_fine = fwrite(text->p, 1, text->len, stdout) == text->len && fflush(stdout) == 0;
    return is_fine ? ST_OK : err_set(err, ST_IO, "cannot write to standard output");
}

enum status
output_into(const char *folder, const char *name, const struct buf *text, struct err *err)
{
    char path[PATH_BYTES];
    (void)mkdir(folder, 0777); /* writing says what is wrong */
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        return err_set(err, ST_TOOBIG, "the path of %s is too long", name);
    }
    return write_file(path, text, err);
}

enum status
output_put(const char *json_to, const struct buf *text, const struct buf *json, struct err *err)
{
    bool is_json_out = json_to != NULL && strcmp(json_to, "-") == 0;
    enum status st = to_stdout(is_json_out ? json : text, err);
    return st == ST_OK && json_to != NULL && !is_json_out ? write_file(json_to, json, err) : st;
}
