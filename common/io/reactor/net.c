/* SPDX-License-Identifier: Apache-2.0 */
/* Happy path: text -> sockaddr -> socket, non-blocking and close-on-exec from the start.
 * Failures: every system call's errno ends in an err that names the address. */
#include "common/io/reactor/net.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTEN_BACKLOG = 4096, UNSENT_MAX = 131072 };

static enum status parse_unix(struct str path, struct net_addr *ret, struct err *err)
{
    struct sockaddr_un *sun = (struct sockaddr_un *)&ret->sa;
    if (path.len == 0 || path.len >= sizeof(sun->sun_path)) {
        return err_set(err, ST_INVAL, "unix socket path must have 1 to %zu bytes",
                       sizeof(sun->sun_path) - 1);
    }
    memset(&ret->sa, 0, sizeof(ret->sa));
    sun->sun_family = AF_UNIX;
    memcpy(sun->sun_path, path.p, path.len);
    ret->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.len + 1);
    return ST_OK;
}

/* Splits HOST:PORT; an IPv6 host stands in brackets. */
static enum status
split_port(struct str text, struct str *ret_host, uint16_t *ret_port, struct err *err)
{
    size_t colon = text.len;
    while (colon > 0 && text.p[colon - 1] != ':') {
        colon--;
    }
    if (colon == 0) {
        return err_set(err, ST_INVAL, "\"%.*s\": expected HOST:PORT", (int)text.len, text.p);
    }
    struct str port = {text.p + colon, text.len - colon};
    uint64_t number = 0;
    if (str_to_u64(port, &number) != ST_OK || number > 65535) {
        return err_set(err, ST_INVAL, "\"%.*s\": port must be 0 to 65535", (int)text.len, text.p);
    }
    struct str host = {text.p, colon - 1};
    if (host.len >= 2 && host.p[0] == '[' && host.p[host.len - 1] == ']') {
        host = (struct str){host.p + 1, host.len - 2};
    } else if (memchr(host.p, ':', host.len) != NULL) {
        return err_set(err, ST_INVAL, "\"%.*s\": write IPv6 addresses as [ADDR]:PORT",
                       (int)text.len, text.p);
    }
    *ret_host = host;
    *ret_port = (uint16_t)number;
    return ST_OK;
}

enum status net_addr_parse(struct str text, struct net_addr *ret, struct err *err)
{
    if (text.len > 0 && memchr(text.p, '\0', text.len) != NULL) {
        return err_set(err, ST_INVAL, "an address must not hold a NUL byte");
    }
    if (str_starts(text, STR("unix:"))) {
        return parse_unix((struct str){text.p + 5, text.len - 5}, ret, err);
    }
    struct str host = {0};
    uint16_t port = 0;
    enum status st = split_port(text, &host, &port, err);
    if (st != ST_OK) {
        return st;
    }
    char name[INET6_ADDRSTRLEN + 1];
    if (host.len >= sizeof(name)) {
        return ST_NOTFOUND;
    }
    str_copy(name, sizeof(name), host);
    memset(&ret->sa, 0, sizeof(ret->sa));
    struct sockaddr_in *in4 = (struct sockaddr_in *)&ret->sa;
    if (inet_pton(AF_INET, name, &in4->sin_addr) == 1) {
        in4->sin_family = AF_INET;
        in4->sin_port = htons(port);
        ret->len = sizeof(*in4);
        return ST_OK;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->sa;
    if (inet_pton(AF_INET6, name, &in6->sin6_addr) == 1) {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        ret->len = sizeof(*in6);
        return ST_OK;
    }
    return ST_NOTFOUND;
}

void net_addr_text(const struct net_addr *addr, char out[NET_ADDR_TEXT_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "?";
    int family = addr->len == 0 ? AF_UNSPEC : addr->sa.ss_family;
    if (family == AF_INET) {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&addr->sa;
        inet_ntop(AF_INET, &in4->sin_addr, host, sizeof(host));
        snprintf(out, NET_ADDR_TEXT_BYTES, "%s:%u", host, ntohs(in4->sin_port));
    } else if (family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr->sa;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
        snprintf(out, NET_ADDR_TEXT_BYTES, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else if (family == AF_UNIX) {
        const struct sockaddr_un *sun = (const struct sockaddr_un *)&addr->sa;
        size_t len = addr->len > offsetof(struct sockaddr_un, sun_path)
                         ? strnlen(sun->sun_path, sizeof(sun->sun_path))
                         : 0;
        snprintf(out, NET_ADDR_TEXT_BYTES, "unix:%.*s", (int)len, sun->sun_path);
    } else {
        snprintf(out, NET_ADDR_TEXT_BYTES, "unknown");
    }
}

bool net_addr_is_loopback(const struct net_addr *addr)
{
    if (addr->sa.ss_family == AF_INET) {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&addr->sa;
        return (ntohl(in4->sin_addr.s_addr) >> 24) == 127;
    }
    if (addr->sa.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&addr->sa;
        return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    }
    return addr->sa.ss_family == AF_UNIX;
}

/* Removes a unix socket file that nobody answers on; a live one is left and bind will fail. */
static void unlink_stale(const struct net_addr *addr)
{
    const struct sockaddr_un *sun = (const struct sockaddr_un *)&addr->sa;
    struct stat info;
    if (lstat(sun->sun_path, &info) != 0 || !S_ISSOCK(info.st_mode)) {
        return;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                    0); /* a full backlog must not hold us */
    if (fd < 0) {
        return;
    }
    if (connect(fd, (const struct sockaddr *)&addr->sa, addr->len) != 0 && errno == ECONNREFUSED) {
        unlink(sun->sun_path);
    }
    close(fd);
}

enum status net_listen(const struct net_addr *addr, bool reuse_port, int *ret_fd, struct err *err)
{
    char text[NET_ADDR_TEXT_BYTES];
    net_addr_text(addr, text);
    int family = addr->sa.ss_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return err_set(err, ST_IO, "cannot listen on %s: %s", text, strerrordesc_np(errno));
    }
    int one = 1;
    if (family == AF_UNIX) {
        unlink_stale(addr);
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (reuse_port) {
            setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
        }
        /* Accepted sockets inherit both. Little waits unsent in the kernel, so that a slow reader
         * is seen to take bytes before a large send buffer has emptied by a third. */
        int unsent_bytes = UNSENT_MAX;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof(unsent_bytes));
    }
    if (bind(fd, (const struct sockaddr *)&addr->sa, addr->len) != 0 ||
        listen(fd, LISTEN_BACKLOG) != 0) {
        int reason = errno;
        close(fd);
        return err_set(err, ST_IO, "cannot listen on %s: %s", text, strerrordesc_np(reason));
    }
    *ret_fd = fd;
    return ST_OK;
}

enum status net_local_addr(int fd, struct net_addr *ret)
{
    ret->len = sizeof(ret->sa);
    return getsockname(fd, (struct sockaddr *)&ret->sa, &ret->len) == 0 ? ST_OK : ST_IO;
}

enum status net_connect(const struct net_addr *addr, int *ret_fd, int *ret_errno)
{
    int family = addr->sa.ss_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        *ret_errno = errno;
        return errno == EMFILE || errno == ENFILE ? ST_FULL : ST_IO;
    }
    if (family != AF_UNIX) {
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    if (connect(fd, (const struct sockaddr *)&addr->sa, addr->len) != 0 && errno != EINPROGRESS) {
        *ret_errno = errno;
        close(fd);
        return ST_IO;
    }
    *ret_fd = fd;
    return ST_OK;
}

uint64_t net_raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        rlim_t old = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            limit.rlim_cur = old;
        }
    }
    return (uint64_t)limit.rlim_cur;
}

uint64_t net_fd_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL) {
        return 0;
    }
    uint64_t count = 0;
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count > 3 ? count - 3 : 0; /* ".", ".." and the directory itself */
}
