/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/hash.h"

static void hash_bytes__known_input__has_the_published_value(void **state)
{
    (void)state;
    /* XXH3_64bits of the empty input; xxHash's own test vector. */
    assert_true(hash_bytes("", 0, 0) == UINT64_C(0x2D06800538D394C2));
    assert_true(hash_str(STR("a"), 0) != hash_str(STR("a"), 1));
    assert_true(hash_str(STR("a"), 0) != hash_str(STR("b"), 0));
}

static void hash_mix__order__matters(void **state)
{
    (void)state;
    assert_true(hash_mix(1, 2) != hash_mix(2, 1));
    assert_true(hash_mix(1, 2) == hash_mix(1, 2));
    const unsigned char both[16] = {1, 0, 0, 0, 0, 0, 0, 0, 2};
    assert_true(hash_mix(1, 2) == hash_bytes(both, sizeof(both), 0));
}

static void hash_stream__any_pieces__equal_the_whole(void **state)
{
    (void)state;
    struct kit_mem km;
    kit_mem_init(&km);
    unsigned char data[5000];
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char)(i * 31 + i / 256);
    }
    struct hash_stream *hs = hash_stream_new(&km.mem);
    assert_non_null(hs);
    for (size_t piece = 1; piece <= sizeof(data); piece = piece * 3 + 1) {
        hash_stream_begin(hs, 99);
        for (size_t at = 0; at < sizeof(data); at += piece) {
            size_t left = sizeof(data) - at;
            hash_stream_add(hs, data + at, left < piece ? left : piece);
            hash_stream_add(hs, NULL, 0);
        }
        if (hash_stream_end(hs) != hash_bytes(data, sizeof(data), 99)) {
            fail_msg("pieces of %zu bytes", piece);
        }
    }
    hash_stream_free(hs);
    hash_stream_free(NULL);
    kit_mem_expect_empty(&km);
}

static void hash_stream_new__no_memory__is_null(void **state)
{
    (void)state;
    struct kit_mem km;
    kit_mem_init(&km);
    km.fail_at = 1;
    assert_null(hash_stream_new(&km.mem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_bytes__known_input__has_the_published_value),
        cmocka_unit_test(hash_mix__order__matters),
        cmocka_unit_test(hash_stream__any_pieces__equal_the_whole),
        cmocka_unit_test(hash_stream_new__no_memory__is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
