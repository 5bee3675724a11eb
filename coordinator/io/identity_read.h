/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the fields of coordinator/core/identity.def in a request's body and header fields.
 * THREAD: one owner. OWNERSHIP: texts of the body are kept here until the next identity_read_begin;
 * those of header fields are borrowed. */
#ifndef COORDINATOR_IO_IDENTITY_READ_H
#define COORDINATOR_IO_IDENTITY_READ_H

#include "coordinator/core/identity.h"
#include "coordinator/io/body_scratch.h"

enum { IDENTITY_TEXT_BYTES = COORD_SESSION_MAX + 1 /* too long stays too long */ };

struct identity_read {
    struct coord_identity_input input;
    struct scratch scratch; /* of a text that holds JSON */
    yyjson_val *json_of;    /* the value whose text was read last */
    yyjson_val *json;       /* what it held; NULL = no JSON object */
    size_t used_bytes;      /* of texts */
    char texts[COORD_IDENTITY_VALUES * IDENTITY_TEXT_BYTES];
};

void identity_read_init(struct identity_read *reader, const struct mem *mem);
void identity_read_fini(struct identity_read *reader);
void identity_read_begin(struct identity_read *reader);
/* A top-level member of the body. Documents must have been read with YYJSON_READ_NUMBER_AS_RAW. */
void identity_read_member(struct identity_read *reader, struct str name, yyjson_val *val);
/* A header field; extra[extra_count]: more names that hold a session. */
void identity_read_header(struct identity_read *reader,
                          const char *const *extra,
                          size_t extra_count,
                          struct str name,
                          struct str value);

#endif
