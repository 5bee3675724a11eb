/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the prompt chain: the canonical form of messages, their parts and any JSON in them.
 * PURE. THREAD: one owner. */
#ifndef COORDINATOR_IO_CHAIN_PART_H
#define COORDINATOR_IO_CHAIN_PART_H

#include "coordinator/io/chain_state.h"

#include <yyjson.h>

/* Where a message's content comes among the members that are hashed in order. */
#define CHAIN_FLOW_CONTENT 4

/* Hash of a member and all below it, whatever the order of members there. Counts its bytes. */
uint64_t chain_member_hash(struct chain *chain, struct str key, yyjson_val *val, unsigned depth);
/* Any JSON, as one value. */
void chain_put_value(struct chain *chain, yyjson_val *val);
/* A string (text), an object (message, input item or part; one that is only a text is that text) or
 * any other value. */
void chain_put_part(struct chain *chain, yyjson_val *val, unsigned depth);
/* A string, or a list of parts: a string equals a list of one text part. */
void chain_put_content(struct chain *chain, yyjson_val *val, unsigned depth);

static inline struct str chain_text_of(yyjson_val *val)
{
    return (struct str){unsafe_yyjson_get_str(val), unsafe_yyjson_get_len(val)};
}

#endif
