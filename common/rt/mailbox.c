/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct mailbox {
    const struct mem *mem;
    size_t msg_bytes;
    uint32_t cap;
    int fd;             /* eventfd, non-blocking */
    pthread_mutex_t mu; /* guards all below */
    uint32_t head;      /* slot of the oldest message */
    uint32_t count;
    uint64_t full_count;
    unsigned char *slots; /* [cap * msg_bytes] */
};

enum status mailbox_new(const struct mem *mem, size_t msg_bytes, uint32_t cap, struct mailbox **ret)
{
    ASSERT(msg_bytes >= 1 && cap >= 1 && msg_bytes <= SIZE_MAX / cap);
    struct mailbox *mb = mem_calloc(mem, 1, sizeof(*mb));
    if (mb == NULL) {
        return ST_NOMEM;
    }
    mb->mem = mem;
    mb->msg_bytes = msg_bytes;
    mb->cap = cap;
    mb->slots = mem_alloc(mem, msg_bytes * cap);
    if (mb->slots == NULL) {
        mem_free(mem, mb, sizeof(*mb));
        return ST_NOMEM;
    }
    mb->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (mb->fd < 0 || pthread_mutex_init(&mb->mu, NULL) != 0) {
        if (mb->fd >= 0) {
            (void)close(mb->fd);
        }
        mem_free(mem, mb->slots, msg_bytes * cap);
        mem_free(mem, mb, sizeof(*mb));
        return ST_IO;
    }
    *ret = mb;
    return ST_OK;
}

void mailbox_free(struct mailbox *mb)
{
    if (mb == NULL) {
        return;
    }
    (void)close(mb->fd);
    (void)pthread_mutex_destroy(&mb->mu);
    mem_free(mb->mem, mb->slots, mb->msg_bytes * mb->cap);
    mem_free(mb->mem, mb, sizeof(*mb));
}

static void mailbox_lock(struct mailbox *mb)
{
    int rc = pthread_mutex_lock(&mb->mu);
    ASSERT(rc == 0);
}

static void mailbox_unlock(struct mailbox *mb)
{
    int rc = pthread_mutex_unlock(&mb->mu);
    ASSERT(rc == 0);
}

static void mailbox_ring(struct mailbox *mb)
{
    uint64_t one = 1;
    ssize_t n;
    do {
        n = write(mb->fd, &one, sizeof(one));
    } while (n < 0 && errno == EINTR);
    /* EAGAIN: the counter is at its top, so the reader is being woken already. */
    ASSERT(n == (ssize_t)sizeof(one) || errno == EAGAIN);
}

enum status mailbox_post(struct mailbox *mb, const void *msg)
{
    mailbox_lock(mb);
    uint32_t count = mb->count;
    if (count == mb->cap) {
        mb->full_count++;
        mailbox_unlock(mb);
        return ST_FULL;
    }
    size_t slot = ((size_t)mb->head + count) % mb->cap;
    memcpy(mb->slots + slot * mb->msg_bytes, msg, mb->msg_bytes);
    mb->count = count + 1;
    mailbox_unlock(mb);
    /* Only the first one rings: the reader takes all that is there or rings itself for the rest. */
    if (count == 0) {
        mailbox_ring(mb);
    }
    return ST_OK;
}

uint32_t mailbox_drain(struct mailbox *mb, void *out, uint32_t max)
{
    uint64_t rings;
    /* Before the look inside, so that a message that comes after the look rings anew. */
    ssize_t n = read(mb->fd, &rings, sizeof(rings));
    ASSERT(n > 0 || errno == EAGAIN || errno == EINTR);
    mailbox_lock(mb);
    uint32_t taken = mb->count < max ? mb->count : max;
    uint32_t first = mb->cap - mb->head < taken ? mb->cap - mb->head : taken;
    memcpy(out, mb->slots + mb->head * mb->msg_bytes, first * mb->msg_bytes);
    memcpy((unsigned char *)out + first * mb->msg_bytes, mb->slots,
           (taken - first) * mb->msg_bytes);
    mb->head = (uint32_t)(((uint64_t)mb->head + taken) % mb->cap);
    mb->count -= taken;
    bool is_more = mb->count > 0;
    mailbox_unlock(mb);
    if (is_more) {
        mailbox_ring(mb);
    }
    return taken;
}

int mailbox_fd(const struct mailbox *mb)
{
    return mb->fd;
}

uint64_t mailbox_full_count(struct mailbox *mb)
{
    mailbox_lock(mb);
    uint64_t count = mb->full_count;
    mailbox_unlock(mb);
    return count;
}
