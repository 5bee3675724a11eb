/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/rt/secret.h"

#include <string.h>

static enum status read_back(const char *text, size_t len, char ret[SECRET_BYTES])
{
    char path[KIT_PATH_BYTES];
    kit_tmp_file(path, text, len);
    struct err err = {.status = ST_OK};
    enum status st = secret_read(path, ret, &err);
    assert_true(st == ST_OK || strstr(err.text, path) != NULL);
    kit_tmp_remove(path);
    return st;
}

static void secret_read__first_line__comes_without_blanks(void **state)
{
    (void)state;
    char key[SECRET_BYTES];
    assert_status(read_back(" sk-abc \r\nsecond\n", 17, key), ST_OK);
    assert_string_equal(key, "sk-abc");
    assert_status(read_back("x", 1, key), ST_OK);
    assert_string_equal(key, "x");
}

static void secret_read__unusable_files__are_refused(void **state)
{
    (void)state;
    char key[SECRET_BYTES] = "kept";
    char big[SECRET_BYTES + 5];
    memset(big, 'a', sizeof(big));
    assert_status(read_back("", 0, key), ST_INVAL);
    assert_status(read_back(" \n", 2, key), ST_INVAL);
    assert_status(read_back("a b", 3, key), ST_INVAL);
    assert_status(read_back("a\0b", 3, key), ST_INVAL);
    assert_status(read_back("a\xC3\xA4", 3, key), ST_INVAL);
    assert_status(read_back(big, sizeof(big), key), ST_INVAL);
    assert_status(read_back(big, SECRET_BYTES, key), ST_INVAL);
    assert_string_equal(key, "kept");
    assert_status(read_back(big, SECRET_BYTES - 1, key), ST_OK);
    assert_status(secret_read("/nonexistent/key", key, NULL), ST_IO);
    assert_status(secret_read("/", key, NULL), ST_IO);
}

static void secret_equal__whole_value__counts(void **state)
{
    (void)state;
    assert_true(secret_equal(STR("abc"), STR("abc")));
    assert_false(secret_equal(STR("abc"), STR("abd")));
    assert_false(secret_equal(STR("abc"), STR("ab")));
    assert_false(secret_equal(STR("abc"), STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_read__first_line__comes_without_blanks),
        cmocka_unit_test(secret_read__unusable_files__are_refused),
        cmocka_unit_test(secret_equal__whole_value__counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
