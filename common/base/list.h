/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive doubly linked list; the link lives inside the object.
 * PURE. THREAD: one owner. */
#ifndef COMMON_BASE_LIST_H
#define COMMON_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *prev;
    struct list *next;
};

#define LIST_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void list_init(struct list *head)
{
    head->prev = head;
    head->next = head;
}

static inline bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

/* A zeroed link is "in no list"; list_remove leaves it so. */
static inline bool list_is_linked(const struct list *link)
{
    return link->next != NULL;
}

static inline void list_push_back(struct list *head, struct list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void list_push_front(struct list *head, struct list *link)
{
    list_push_back(head->next, link);
}

static inline void list_remove(struct list *link)
{
    /* The analyzer does not see that a list is a ring. */
    link->prev->next = link->next; /* NOLINT(clang-analyzer-core.NullDereference) */
    link->next->prev = link->prev;
    link->prev = NULL;
    link->next = NULL;
}

/* First link, or NULL when empty. */
static inline struct list *list_first(const struct list *head)
{
    /* The analyzer does not see that list_remove() changed head->next. */
    return head->next == head ? NULL : head->next; /* NOLINT(clang-analyzer-unix.Malloc) */
}

#define LIST_FOR_EACH(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)

#endif
