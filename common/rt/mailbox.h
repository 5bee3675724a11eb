/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded queue of fixed-size messages from many threads to one, with a descriptor to wait on. The
 * mutex inside is a leaf: nothing is called while it is held.
 *
 * THREAD: post any; drain the one reader.
 * OWNERSHIP: messages are copied in and out.
 * LIMITS: cap messages. */
#ifndef COMMON_RT_MAILBOX_H
#define COMMON_RT_MAILBOX_H

#include "common/base/mem.h"

struct mailbox;

/* ST_OK; ST_NOMEM; ST_IO (no descriptor left). msg_bytes >= 1, cap >= 1. */
MUST_CHECK enum status
mailbox_new(const struct mem *mem, size_t msg_bytes, uint32_t cap, struct mailbox **ret);

/* No other thread may still post. NULL is fine. Unread messages are dropped. */
void mailbox_free(struct mailbox *mb);

/* Copies msg_bytes from msg. ST_OK; ST_FULL, counted. */
MUST_CHECK enum status mailbox_post(struct mailbox *mb, const void *msg);

/* Copies up to max messages, oldest first, to out [max * msg_bytes] and returns how many. When more
 * is waiting the descriptor stays readable. */
uint32_t mailbox_drain(struct mailbox *mb, void *out, uint32_t max);

/* Readable (level-triggered) while messages wait. For epoll; never read it yourself. */
int mailbox_fd(const struct mailbox *mb);

/* How often mailbox_post said ST_FULL. */
uint64_t mailbox_full_count(struct mailbox *mb);

#endif
