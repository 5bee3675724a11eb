/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/cert.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { VALID_S = 86400 };

static void add_extension(X509 *x509, int nid, const char *value)
{
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(ext);
    assert_int_equal(X509_add_ext(x509, ext, -1), 1);
    X509_EXTENSION_free(ext);
}

static X509 *sign(EVP_PKEY *key, const char *names)
{
    X509 *x509 = X509_new();
    assert_non_null(x509);
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -VALID_S);
    X509_gmtime_adj(X509_getm_notAfter(x509), VALID_S);
    X509_set_pubkey(x509, key);
    X509_NAME *name = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(x509, name);
    add_extension(x509, NID_subject_alt_name, names);
    add_extension(x509, NID_basic_constraints, "critical,CA:TRUE");
    assert_true(X509_sign(x509, key, EVP_sha256()) > 0);
    return x509;
}

static void to_file(BIO *bio, char path[KIT_PATH_BYTES])
{
    char *text = NULL;
    long len = BIO_get_mem_data(bio, &text);
    assert_true(len > 0);
    kit_tmp_file(path, text, (size_t)len);
    BIO_free(bio);
}

void cert_make(struct cert *cert, const char *names)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    X509 *x509 = sign(key, names);
    BIO *cert_text = BIO_new(BIO_s_mem());
    BIO *key_text = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_X509(cert_text, x509), 1);
    assert_int_equal(PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL), 1);
    to_file(cert_text, cert->cert_file);
    to_file(key_text, cert->key_file);
    X509_free(x509);
    EVP_PKEY_free(key);
}

void cert_remove(struct cert *cert)
{
    kit_tmp_remove(cert->cert_file);
    kit_tmp_remove(cert->key_file);
}
