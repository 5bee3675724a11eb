/* SPDX-License-Identifier: Apache-2.0 */
/* One detached thread per name: getaddrinfo may block for long, and names are few (engines). The
 * thread and the owner share a counted struct; whoever leaves last frees it. Failures: the last
 * good addresses stay in use while a later look-up fails. */
#include "common/io/reactor/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REFRESH_S = 30, RETRY_S = 2, HOST_BYTES = 256 };

struct resolve_name {
    pthread_mutex_t mu;
    pthread_cond_t wake;
    char host[HOST_BYTES];
    char port[8];
    struct net_addr addrs[RESOLVE_ADDRS_MAX];
    size_t count;
    bool has_answer; /* the first look-up is over */
    bool is_closed;  /* the owner is gone: the thread frees */
};

static size_t look_up(const struct resolve_name *name, struct net_addr out[RESOLVE_ADDRS_MAX])
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    if (getaddrinfo(name->host, name->port, &hints, &list) != 0) {
        return 0;
    }
    size_t count = 0;
    for (const struct addrinfo *it = list; it != NULL && count < RESOLVE_ADDRS_MAX;
         it = it->ai_next) {
        if (it->ai_addrlen <= sizeof(out[count].sa)) {
            memcpy(&out[count].sa, it->ai_addr, it->ai_addrlen);
            out[count].len = it->ai_addrlen;
            count++;
        }
    }
    freeaddrinfo(list);
    return count;
}

/* Waits under the lock until it is time for the next look-up or the owner left. */
static void wait_turn(struct resolve_name *name, time_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    while (!name->is_closed &&
           pthread_cond_timedwait(&name->wake, &name->mu, &until) != ETIMEDOUT) {
    }
}

static void name_free(struct resolve_name *name)
{
    pthread_mutex_destroy(&name->mu);
    pthread_cond_destroy(&name->wake);
    free(name);
}

static void *resolve_main(void *arg)
{
    struct resolve_name *name = arg;
    bool is_closed = false;
    while (!is_closed) {
        struct net_addr addrs[RESOLVE_ADDRS_MAX];
        size_t count = look_up(name, addrs);
        pthread_mutex_lock(&name->mu);
        if (count > 0) {
            memcpy(name->addrs, addrs, sizeof(addrs));
            name->count = count;
        }
        name->has_answer = true;
        wait_turn(name, count > 0 ? REFRESH_S : RETRY_S);
        is_closed = name->is_closed;
        pthread_mutex_unlock(&name->mu);
    }
    name_free(name);
    return NULL;
}

enum status resolve_open(struct resolve_name **ret, const char *host, uint16_t port)
{
    struct resolve_name *name = calloc(1, sizeof(*name));
    if (name == NULL) {
        return ST_NOMEM;
    }
    str_copy(name->host, sizeof(name->host), str_of(host));
    snprintf(name->port, sizeof(name->port), "%u", port);
    pthread_mutex_init(&name->mu, NULL);
    pthread_cond_init(&name->wake, NULL);
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_t thread;
    int rc = pthread_create(&thread, NULL, resolve_main, name);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        name_free(name);
        return ST_NOMEM;
    }
    pthread_detach(thread);
    *ret = name;
    return ST_OK;
}

void resolve_close(struct resolve_name *name)
{
    if (name == NULL) {
        return;
    }
    pthread_mutex_lock(&name->mu);
    name->is_closed = true;
    pthread_cond_signal(&name->wake);
    pthread_mutex_unlock(&name->mu);
}

enum status
resolve_get(struct resolve_name *name, struct net_addr ret[RESOLVE_ADDRS_MAX], size_t *ret_count)
{
    pthread_mutex_lock(&name->mu);
    size_t count = name->count;
    bool has_answer = name->has_answer;
    memcpy(ret, name->addrs, count * sizeof(ret[0]));
    pthread_mutex_unlock(&name->mu);
    if (count == 0) {
        return has_answer ? ST_NOTFOUND : ST_AGAIN;
    }
    *ret_count = count;
    return ST_OK;
}
