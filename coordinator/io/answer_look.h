/* SPDX-License-Identifier: Apache-2.0 */
/* Tells by its bytes whether an event can matter, so that ordinary pieces of text are never parsed.
 * PURE. THREAD: any. */
#ifndef COORDINATOR_IO_ANSWER_LOOK_H
#define COORDINATOR_IO_ANSWER_LOOK_H

#include "common/base/str.h"
#include "coordinator/core/event.h"

/* Walks over the members of all objects in a JSON text without parsing it: a colon after a quote.
 * Inside a string a quote has a backslash before it, so that what looks like a key there never has
 * the name of one. *rest is data at first and begins with the value afterwards; *ret_before ends
 * with the key's closing quote. */
bool answer_next_member(struct str data, struct str *rest, struct str *ret_before);
/* Is there a member of this name (given with its quotes) that is neither null nor []? Inside a JSON
 * string a quote has a backslash before it, so a text that speaks of usage never matches. What is
 * unclear counts as yes. */
bool answer_has_member(struct str data, struct str quoted);
/* What kind of event it is: its event line, else the type its data begins with, else "". Borrowed.
 */
struct str answer_event_type(struct str name, struct str data);
/* True when it is a piece of text, of arguments or the like, which no facts are read from. type:
 * from answer_event_type. */
bool answer_is_plain(enum coord_route route, struct str type, struct str data);

#endif
