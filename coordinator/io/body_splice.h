/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the bytes of a member's value in the text of a JSON object, for edits that leave every
 * other byte alone. The text must have been parsed before: this only walks it, iteratively, in one
 * pass. PURE. THREAD: any. */
#ifndef COORDINATOR_IO_BODY_SPLICE_H
#define COORDINATOR_IO_BODY_SPLICE_H

#include "common/base/str.h"

/* Offset of the opening brace; false when the text is no object. */
bool splice_find_open(struct str object, size_t *ret_at);
/* Value of the first member whose decoded key is name (ASCII); *ret_at and *ret_len in object.
 * False when there is none or the text is not what it should be. */
bool splice_find_member(struct str object, struct str name, size_t *ret_at, size_t *ret_len);
/* First item of an array, up to where the next one begins (or the item alone when there is none),
 * as offset and length in array. False as above. */
bool splice_find_first_item(struct str array, size_t *ret_at, size_t *ret_len);

#endif
