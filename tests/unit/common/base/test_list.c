/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/kit.h"

#include "common/base/list.h"

struct item {
    int value;
    struct list link;
};

static int value_of(struct list *link)
{
    return LIST_OWNER(link, struct item, link)->value;
}

static void list__pushes__come_in_order(void **state)
{
    (void)state;
    struct list head;
    struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    list_init(&head);
    assert_true(list_is_empty(&head));
    assert_null(list_first(&head));
    list_push_back(&head, &items[1].link);
    list_push_back(&head, &items[2].link);
    list_push_front(&head, &items[0].link);
    int expected = 1;
    LIST_FOR_EACH(it, &head)
    {
        assert_int_equal(value_of(it), expected);
        expected++;
    }
    assert_int_equal(expected, 4);
}

static void list_remove__middle__leaves_a_zeroed_link(void **state)
{
    (void)state;
    struct list head;
    struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    list_init(&head);
    for (int i = 0; i < 3; i++) {
        assert_false(list_is_linked(&items[i].link));
        list_push_back(&head, &items[i].link);
        assert_true(list_is_linked(&items[i].link));
    }
    list_remove(&items[1].link);
    assert_false(list_is_linked(&items[1].link));
    assert_int_equal(value_of(list_first(&head)), 1);
    list_remove(&items[0].link);
    assert_int_equal(value_of(list_first(&head)), 3);
    list_remove(&items[2].link);
    assert_true(list_is_empty(&head));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__pushes__come_in_order),
        cmocka_unit_test(list_remove__middle__leaves_a_zeroed_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
