/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL contexts and connections. Writes larger than one record are cut; what a call leaves is
 * offered again by the caller (moving write buffers are allowed). Errors are drained from OpenSSL's
 * queue after each failing call, so that one connection's failure never shows up in another's. */
#include "common/io/reactor/tls.h"

#include "common/base/str.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { TLS_RECORD_BYTES = 16384 };

struct tls_ctx {
    SSL_CTX *ssl_ctx;
    BIO_METHOD *socket_bio;
    bool is_server;
    bool verifies;
};

struct tls_conn {
    SSL *ssl;
    bool is_server;
};

static void error_text(char *out, size_t cap)
{
    unsigned long code = ERR_get_error();
    if (code == 0) {
        str_copy(out, cap, STR("unknown TLS error"));
    } else {
        ERR_error_string_n(code, out, cap);
    }
    ERR_clear_error();
}

/* OpenSSL's own socket BIO writes without MSG_NOSIGNAL. */
static int socket_write(BIO *bio, const char *data, int len)
{
    ssize_t put = send((int)(intptr_t)BIO_get_data(bio), data, (size_t)len, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_write(bio);
    }
    return (int)put;
}

static int socket_read(BIO *bio, char *out, int cap)
{
    ssize_t got = recv((int)(intptr_t)BIO_get_data(bio), out, (size_t)cap, 0);
    BIO_clear_retry_flags(bio);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        BIO_set_retry_read(bio);
    }
    return (int)got;
}

static long socket_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
    (void)bio;
    (void)num;
    (void)ptr;
    return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *socket_bio_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "saga socket");
    if (method != NULL) {
        BIO_meth_set_write(method, socket_write);
        BIO_meth_set_read(method, socket_read);
        BIO_meth_set_ctrl(method, socket_ctrl);
    }
    return method;
}

static bool set_socket(SSL *ssl, const struct tls_ctx *ctx, int fd)
{
    BIO *bio = BIO_new(ctx->socket_bio);
    if (bio == NULL) {
        return false;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    return true;
}

static enum status ctx_new(struct tls_ctx **ret, bool is_server, struct err *err)
{
    struct tls_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL) {
        return err_set(err, ST_NOMEM, "TLS context");
    }
    ctx->is_server = is_server;
    ctx->ssl_ctx = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    ctx->socket_bio = socket_bio_new();
    if (ctx->ssl_ctx == NULL || ctx->socket_bio == NULL) {
        tls_free(ctx);
        return err_set(err, ST_NOMEM, "TLS context");
    }
    SSL_CTX_set_min_proto_version(ctx->ssl_ctx, TLS1_2_VERSION);
    SSL_CTX_set_mode(ctx->ssl_ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                       SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(ctx->ssl_ctx, SSL_OP_NO_RENEGOTIATION);
    *ret = ctx;
    return ST_OK;
}

enum status
tls_server_new(struct tls_ctx **ret, const char *cert_file, const char *key_file, struct err *err)
{
    struct tls_ctx *ctx = NULL;
    enum status st = ctx_new(&ctx, true, err);
    if (st != ST_OK || ctx == NULL) {
        return st;
    }
    char text[160];
    if (SSL_CTX_use_certificate_chain_file(ctx->ssl_ctx, cert_file) != 1) {
        error_text(text, sizeof(text));
        st = err_set(err, ST_INVAL, "tls.cert_file %s: %s", cert_file, text);
    } else if (SSL_CTX_use_PrivateKey_file(ctx->ssl_ctx, key_file, SSL_FILETYPE_PEM) != 1 ||
               SSL_CTX_check_private_key(ctx->ssl_ctx) != 1) {
        error_text(text, sizeof(text));
        st = err_set(err, ST_INVAL, "tls.key_file %s: %s", key_file, text);
    }
    if (st != ST_OK) {
        tls_free(ctx);
        return st;
    }
    *ret = ctx;
    return ST_OK;
}

enum status tls_client_new(struct tls_ctx **ret, const char *ca_file, bool verify, struct err *err)
{
    struct tls_ctx *ctx = NULL;
    enum status st = ctx_new(&ctx, false, err);
    if (st != ST_OK || ctx == NULL) {
        return st;
    }
    ctx->verifies = verify;
    SSL_CTX_set_verify(ctx->ssl_ctx, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    int rc = ca_file[0] == '\0' ? SSL_CTX_set_default_verify_paths(ctx->ssl_ctx)
                                : SSL_CTX_load_verify_locations(ctx->ssl_ctx, ca_file, NULL);
    if (rc != 1 && verify) {
        char text[160];
        error_text(text, sizeof(text));
        tls_free(ctx);
        return err_set(err, ST_INVAL, "tls.upstream_ca_file %s: %s", ca_file, text);
    }
    ERR_clear_error();
    *ret = ctx;
    return ST_OK;
}

void tls_free(struct tls_ctx *ctx)
{
    if (ctx != NULL) {
        SSL_CTX_free(ctx->ssl_ctx);
        BIO_meth_free(ctx->socket_bio);
        free(ctx);
    }
}

static bool set_host(SSL *ssl, const struct tls_ctx *ctx, const char *host)
{
    if (host == NULL || ctx->is_server) {
        return true;
    }
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    bool is_ip = X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    if (is_ip) {
        return true;
    }
    ERR_clear_error();
    return SSL_set_tlsext_host_name(ssl, host) == 1 &&
           (!ctx->verifies || SSL_set1_host(ssl, host) == 1);
}

enum status tls_conn_new(struct tls_conn **ret, struct tls_ctx *ctx, int fd, const char *host)
{
    struct tls_conn *conn = calloc(1, sizeof(*conn));
    if (conn == NULL) {
        return ST_NOMEM;
    }
    conn->is_server = ctx->is_server;
    conn->ssl = SSL_new(ctx->ssl_ctx);
    if (conn->ssl == NULL || !set_socket(conn->ssl, ctx, fd) || !set_host(conn->ssl, ctx, host)) {
        ERR_clear_error();
        tls_conn_free(conn);
        return ST_NOMEM;
    }
    if (ctx->is_server) {
        SSL_set_accept_state(conn->ssl);
    } else {
        SSL_set_connect_state(conn->ssl);
    }
    *ret = conn;
    return ST_OK;
}

void tls_conn_free(struct tls_conn *conn)
{
    if (conn != NULL) {
        SSL_free(conn->ssl);
        free(conn);
    }
}

enum status tls_conn_handshake(struct tls_conn *conn, uint32_t *ret_events)
{
    int rc = SSL_do_handshake(conn->ssl);
    if (rc == 1) {
        return ST_OK;
    }
    int why = SSL_get_error(conn->ssl, rc);
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
        *ret_events = why == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
        return ST_AGAIN;
    }
    return ST_IO;
}

static ssize_t outcome(struct tls_conn *conn, int rc)
{
    int why = SSL_get_error(conn->ssl, rc);
    ERR_clear_error();
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
        return TLS_AGAIN;
    }
    return why == SSL_ERROR_ZERO_RETURN ? 0 : TLS_ERROR;
}

ssize_t tls_conn_read(struct tls_conn *conn, char *out, size_t cap)
{
    size_t got = 0;
    int rc = SSL_read_ex(conn->ssl, out, cap, &got);
    return rc == 1 ? (ssize_t)got : outcome(conn, rc);
}

ssize_t tls_conn_writev(struct tls_conn *conn, const struct iovec *iov, int n)
{
    char record[TLS_RECORD_BYTES];
    size_t len = 0;
    for (int i = 0; i < n && len < sizeof(record); i++) {
        size_t part = iov[i].iov_len < sizeof(record) - len ? iov[i].iov_len : sizeof(record) - len;
        memcpy(record + len, iov[i].iov_base, part);
        len += part;
    }
    if (len == 0) {
        return 0;
    }
    size_t put = 0;
    int rc = SSL_write_ex(conn->ssl, record, len, &put);
    if (rc == 1) {
        return (ssize_t)put;
    }
    ssize_t st = outcome(conn, rc);
    return st == 0 ? TLS_ERROR : st;
}

bool tls_conn_has_pending(const struct tls_conn *conn)
{
    return SSL_pending(conn->ssl) > 0;
}

void tls_conn_shut(struct tls_conn *conn)
{
    SSL_shutdown(conn->ssl);
    ERR_clear_error();
}
