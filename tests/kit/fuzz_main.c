/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a fuzzer's corpus where libFuzzer is not built in: runs LLVMFuzzerTestOneInput over every
 * file named, and over every file of each folder named (one level). Fails when there was none. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_INPUT_BYTES ((size_t)64 * 1024 * 1024)
#define MAX_PATH_LEN    4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Returns 1 when the file was run, 0 when it could not be read. */
static size_t run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    /* A copy of exactly the file's size, so that ASan sees a read past its end. */
    uint8_t *data = size <= MAX_INPUT_BYTES ? malloc(size > 0 ? size : 1) : NULL;
    size_t done = 0;

    if (file != NULL && data != NULL && fread(data, 1, size, file) == size) {
        (void)LLVMFuzzerTestOneInput(data, size);
        done = 1;
    } else {
        (void)fprintf(stderr, "cannot read %s\n", path);
    }
    free(data);
    if (file != NULL) {
        (void)fclose(file);
    }
    return done;
}

static size_t run_folder(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    struct dirent *entry = NULL;

    if (dir == NULL) {
        (void)fprintf(stderr, "cannot open %s\n", path);
        return 0;
    }
    while ((entry = readdir(dir)) != NULL) {
        char name[MAX_PATH_LEN];
        struct stat st;

        int len = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (len > 0 && (size_t)len < sizeof name && stat(name, &st) == 0 && S_ISREG(st.st_mode)) {
            count += run_file(name, (size_t)st.st_size);
        }
    }
    (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;

    for (int i = 1; i < argc; i++) {
        struct stat st;

        if (stat(argv[i], &st) != 0) {
            (void)fprintf(stderr, "no such input: %s\n", argv[i]);
            return 1;
        }
        count += S_ISDIR(st.st_mode) ? run_folder(argv[i]) : run_file(argv[i], (size_t)st.st_size);
    }
    (void)printf("%zu inputs replayed\n", count);
    return count > 0 ? 0 : 1;
}
