/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/prompt_render.h"

#include "bench/replay/text.h"

#include <stdio.h>

const char *prompt_role_name(enum prompt_role role)
{
    switch (role) {
    case PROMPT_SYSTEM:
        return "system";
    case PROMPT_USER:
        return "user";
    case PROMPT_ASSISTANT:
        return "assistant";
    case PROMPT_TOOL:
        return "tool";
    }
    return "user";
}

void prompt_call_id(uint64_t tool_call, char out[PROMPT_CALL_ID_BYTES])
{
    (void)snprintf(out, PROMPT_CALL_ID_BYTES, "call_%llx", (unsigned long long)tool_call);
}

/* One token that no text makes: 0xFF starts no UTF-8 text. */
static enum status add_mark(struct buf *flat, char kind, char detail)
{
    const char mark[TEXT_TOKEN_BYTES] = {'\xFF', kind, detail, 0};
    return buf_add(flat, mark, sizeof(mark));
}

enum status prompt_render_open(struct buf *flat, enum prompt_role role)
{
    return add_mark(flat, 'T', prompt_role_name(role)[0]);
}

/* Fills the last token of a text. */
static enum status pad(struct buf *flat)
{
    static const char zeros[TEXT_TOKEN_BYTES] = {0};
    size_t over = flat->len % TEXT_TOKEN_BYTES;
    return over == 0 ? ST_OK : buf_add(flat, zeros, TEXT_TOKEN_BYTES - over);
}

enum status prompt_render_close(struct buf *flat, enum prompt_role role, uint64_t tool_call)
{
    enum status st = pad(flat);
    if (st == ST_OK && role == PROMPT_ASSISTANT && tool_call != 0) {
        /* A call's mark stands for the tool's name; its arguments are "{}". */
        st = add_mark(flat, 'C', 'b');
        if (st == ST_OK) {
            st = buf_add(flat, "{}\0\0", TEXT_TOKEN_BYTES);
        }
    }
    return st == ST_OK ? add_mark(flat, 'E', 0) : st;
}

enum status prompt_render_tail(struct buf *flat)
{
    return prompt_render_open(flat, PROMPT_ASSISTANT);
}
