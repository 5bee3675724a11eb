/* SPDX-License-Identifier: Apache-2.0 */
/* TLS (OpenSSL): contexts, made at start and then shared read-only by all loops, and one connection
 * on a non-blocking descriptor (used by wire only; THREAD: reactor). */
#ifndef COMMON_IO_REACTOR_TLS_H
#define COMMON_IO_REACTOR_TLS_H

#include "common/base/err.h"

#include <sys/types.h>
#include <sys/uio.h>

struct tls_ctx;

/* Server side: PEM chain and key. ST_INVAL with err. */
MUST_CHECK enum status
tls_server_new(struct tls_ctx **ret, const char *cert_file, const char *key_file, struct err *err);
/* Client side; ca_file "" = the system's certificates. */
MUST_CHECK enum status
tls_client_new(struct tls_ctx **ret, const char *ca_file, bool verify, struct err *err);
void tls_free(struct tls_ctx *ctx);

struct tls_conn;

/* host: SNI and certificate name for client contexts; NULL on the server side. */
MUST_CHECK enum status
tls_conn_new(struct tls_conn **ret, struct tls_ctx *ctx, int fd, const char *host);
void tls_conn_free(struct tls_conn *conn);
MUST_CHECK enum status tls_conn_handshake(struct tls_conn *conn, uint32_t *ret_events);
enum { TLS_AGAIN = -1, TLS_ERROR = -2 };

/* Bytes moved, 0 = peer ended (read), TLS_AGAIN, TLS_ERROR. */
ssize_t tls_conn_read(struct tls_conn *conn, char *out, size_t cap);
ssize_t tls_conn_writev(struct tls_conn *conn, const struct iovec *iov, int n);
bool tls_conn_has_pending(const struct tls_conn *conn);
void tls_conn_shut(struct tls_conn *conn);

#endif
