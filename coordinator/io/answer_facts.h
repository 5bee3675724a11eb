/* SPDX-License-Identifier: Apache-2.0 */
/* What the gateway learns from an answer that passes through it. OWNERSHIP: holds memory once a
 * tool was called: answer_facts_init, answer_facts_fini. */
#ifndef COORDINATOR_IO_ANSWER_FACTS_H
#define COORDINATOR_IO_ANSWER_FACTS_H

#include "coordinator/core/event.h"
#include "coordinator/io/tool_names.h"

#include <stdbool.h>
#include <stdint.h>

struct answer_facts {
    bool has_usage;         /* the three counts are the engine's final ones */
    uint32_t prompt_tokens; /* all prompt tokens, cached ones included, whatever the API's own
                               convention */
    uint32_t cached_tokens;
    uint32_t output_tokens;
    enum coord_finish finish;
    uint32_t event_count;    /* events with data, [DONE] not counted */
    bool has_done;           /* [DONE], response.completed or message_stop seen */
    bool has_error;          /* an error object or error event was seen */
    bool has_content;        /* an event other than an error or [DONE] was seen */
    uint16_t error_status;   /* status inside such an error, 0 = none */
    struct tool_names tools; /* that it calls, those that the engine's side runs included */
};

static inline void answer_facts_init(struct answer_facts *facts, const struct mem *mem)
{
    *facts = (struct answer_facts){.has_usage = false};
    tool_names_init(&facts->tools, mem);
}

static inline void answer_facts_fini(struct answer_facts *facts)
{
    tool_names_fini(&facts->tools);
}

#endif
