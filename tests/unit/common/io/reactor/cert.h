/* SPDX-License-Identifier: Apache-2.0 */
/* A self-signed certificate made for one test run.
 * THREAD: one. */
#ifndef TESTS_UNIT_COMMON_IO_REACTOR_CERT_H
#define TESTS_UNIT_COMMON_IO_REACTOR_CERT_H

#include "tests/kit/kit.h"

struct cert {
    char cert_file[KIT_PATH_BYTES];
    char key_file[KIT_PATH_BYTES];
};

/* names: as in a subjectAltName extension, e.g. "DNS:localhost,IP:127.0.0.1". */
void cert_make(struct cert *cert, const char *names);
void cert_remove(struct cert *cert);

#endif
