/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/models.h"

#include "tests/kit/kit.h"

static void take__twice__one_text_two_references(void **state)
{
    (void)state;
    struct kit_mem km;
    struct coord_models models;
    uint32_t a = 0;
    uint32_t b = 0;
    kit_mem_init(&km);
    coord_models_init(&models, &km.mem);
    assert_status(coord_models_take(&models, STR("llama"), &a), ST_OK);
    assert_status(coord_models_take(&models, STR("llama"), &b), ST_OK);
    assert_int_equal(a, b);
    coord_models_unref(&models, a);
    assert_int_equal(coord_models_find(&models, STR("llama")), a);
    coord_models_unref(&models, a);
    assert_int_equal(coord_models_find(&models, STR("llama")), COORD_MODEL_NONE);
    coord_models_fini(&models);
    kit_mem_expect_empty(&km);
}

static void take__more_than_the_cap__full(void **state)
{
    (void)state;
    struct kit_mem km;
    struct coord_models models;
    uint32_t idx = 0;
    kit_mem_init(&km);
    coord_models_init(&models, &km.mem);
    for (uint32_t i = 0; i < COORD_MODELS_CAP; i++) {
        assert_status(coord_models_take(&models, (struct str){(const char *)&i, sizeof(i)}, &idx),
                      ST_OK);
    }
    assert_status(coord_models_take(&models, STR("one more"), &idx), ST_FULL);
    coord_models_fini(&models);
    kit_mem_expect_empty(&km);
}

static void find__prefix_of_a_known_text__none(void **state)
{
    (void)state;
    struct coord_models models;
    uint32_t idx = 0;
    coord_models_init(&models, mem_heap());
    assert_status(coord_models_take(&models, STR("qwen-72b"), &idx), ST_OK);
    assert_int_equal(coord_models_find(&models, STR("qwen")), COORD_MODEL_NONE);
    assert_true(str_eq(coord_models_text(&models, idx), STR("qwen-72b")));
    coord_models_fini(&models);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__twice__one_text_two_references),
        cmocka_unit_test(take__more_than_the_cap__full),
        cmocka_unit_test(find__prefix_of_a_known_text__none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
