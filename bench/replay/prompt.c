/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/prompt.h"

#include "bench/replay/text.h"
#include "common/base/hash.h"

/* New text of a step is never shorter than this. */
enum { MIN_TEXT_TOKENS = 4 };

void prompt_init(struct prompt *prompt, const struct mem *mem)
{
    *prompt = (struct prompt){.mem = mem};
    buf_init(&prompt->json, mem, PROMPT_BYTES_MAX);
    buf_init(&prompt->flat, mem, PROMPT_BYTES_MAX);
}

void prompt_fini(struct prompt *prompt)
{
    if (prompt == NULL) {
        return;
    }
    buf_fini(&prompt->json);
    buf_fini(&prompt->flat);
    mem_free(prompt->mem, prompt->messages, prompt->cap * sizeof(*prompt->messages));
    prompt->messages = NULL;
    prompt->count = 0;
    prompt->cap = 0;
}

uint32_t prompt_tokens(const struct prompt *prompt)
{
    return (uint32_t)(prompt->flat.len / TEXT_TOKEN_BYTES);
}

static enum status messages_reserve(struct prompt *prompt)
{
    if (prompt->count < prompt->cap) {
        return ST_OK;
    }
    if (prompt->cap >= PROMPT_MESSAGES_MAX) {
        return ST_FULL;
    }
    uint32_t cap = prompt->cap == 0 ? 16 : prompt->cap * 2;
    void *p = mem_resize(prompt->mem, prompt->messages, prompt->cap * sizeof(*prompt->messages),
                         cap * sizeof(*prompt->messages));
    if (p == NULL) {
        return ST_NOMEM;
    }
    prompt->messages = p;
    prompt->cap = cap;
    return ST_OK;
}

/* Appends the JSON of a message whose content is in flat already. */
static enum status add_json(struct prompt *prompt, const struct prompt_message *msg)
{
    struct buf *json = &prompt->json;
    char id[PROMPT_CALL_ID_BYTES];
    prompt_call_id(msg->tool_call, id);
    enum status st = buf_add_fmt(json, "%s{\"role\":\"%s\",", json->len == 0 ? "" : ",",
                                 prompt_role_name(msg->role));
    if (st == ST_OK && msg->role == PROMPT_TOOL) {
        st = buf_add_fmt(json, "\"tool_call_id\":\"%s\",", id);
    }
    if (st == ST_OK) {
        st = buf_add_str(json, STR("\"content\":\""));
    }
    if (st == ST_OK) {
        st = buf_add_json(
            json, (struct str){prompt->flat.p + msg->text_at, msg->text_end - msg->text_at});
    }
    if (st == ST_OK) {
        st = buf_add_str(json, STR("\""));
    }
    if (st == ST_OK && msg->role == PROMPT_ASSISTANT && msg->tool_call != 0) {
        st = buf_add_fmt(json,
                         ",\"tool_calls\":[{\"id\":\"%s\",\"type\":\"function\","
                         "\"function\":{\"name\":\"bash\",\"arguments\":\"{}\"}}]",
                         id);
    }
    return st == ST_OK ? buf_add_str(json, STR("}")) : st;
}

/* Content of a message: given bytes, or synthetic text of a seed. */
struct content {
    const char *p; /* NULL = synthetic */
    size_t len;
    uint64_t seed;
};

static enum status add_message(struct prompt *prompt,
                               enum prompt_role role,
                               const struct content *content,
                               uint64_t tool_call)
{
    enum status st = messages_reserve(prompt);
    if (st != ST_OK) {
        return st;
    }
    struct buf *flat = &prompt->flat;
    struct prompt_message *msg = &prompt->messages[prompt->count];
    *msg = (struct prompt_message){
        .role = role, .json_at = prompt->json.len, .flat_at = flat->len, .tool_call = tool_call};
    st = prompt_render_open(flat, role);
    if (st == ST_OK) {
        st = buf_reserve(flat, content->len);
    }
    if (st != ST_OK) {
        return st;
    }
    msg->text_at = flat->len;
    msg->text_end = flat->len + content->len;
    if (content->p != NULL) {
        st = buf_add(flat, content->p, content->len);
    } else {
        text_fill(flat->p + flat->len, content->len, content->seed);
        flat->len += content->len;
    }
    if (st == ST_OK) {
        st = prompt_render_close(flat, role, tool_call);
    }
    if (st == ST_OK) {
        st = add_json(prompt, msg);
    }
    prompt->count += st == ST_OK;
    return st;
}

/* Removes the last message and adds it again with another end of its content and without its tool
 * call. */
static enum status recut_last(struct prompt *prompt, size_t text_end)
{
    struct prompt_message *msg = &prompt->messages[prompt->count - 1];
    struct buf *flat = &prompt->flat;
    /* Not inside a character: continuation bytes are 10xxxxxx. */
    while (text_end > msg->text_at && text_end < msg->text_end &&
           ((unsigned char)flat->p[text_end] & 0xC0) == 0x80) {
        text_end--;
    }
    msg->text_end = text_end;
    if (msg->role == PROMPT_ASSISTANT) {
        msg->tool_call = 0;
    }
    flat->len = text_end;
    prompt->json.len = msg->json_at;
    enum status st = prompt_render_close(flat, msg->role, msg->tool_call);
    return st == ST_OK ? add_json(prompt, msg) : st;
}

/* Cuts the prompt to its first bytes of flat text. */
static enum status keep(struct prompt *prompt, size_t bytes)
{
    if (bytes >= prompt->flat.len) {
        return ST_OK;
    }
    while (prompt->count > 0 && prompt->messages[prompt->count - 1].text_at >= bytes) {
        prompt->count--;
        prompt->flat.len = prompt->messages[prompt->count].flat_at;
        prompt->json.len = prompt->messages[prompt->count].json_at;
    }
    if (prompt->count == 0) {
        return ST_OK;
    }
    const struct prompt_message *last = &prompt->messages[prompt->count - 1];
    bool is_open_call = last->role == PROMPT_ASSISTANT && last->tool_call != 0;
    if (bytes < last->text_end) {
        return recut_last(prompt, bytes);
    }
    return is_open_call ? recut_last(prompt, last->text_end) : ST_OK;
}

/* Adds synthetic text so that the prompt becomes in_tokens long, or a little of it when it already
 * is. */
static enum status add_new_text(struct prompt *prompt,
                                const struct prompt_step *step,
                                enum prompt_role role,
                                uint64_t tool_call)
{
    size_t goal = (size_t)step->in_tokens * TEXT_TOKEN_BYTES;
    size_t have = prompt->flat.len + PROMPT_FRAME_BYTES + PROMPT_TAIL_BYTES;
    size_t len = (size_t)MIN_TEXT_TOKENS * TEXT_TOKEN_BYTES;
    if (goal > have + len) {
        len = goal - have;
    }
    struct content content = {.len = len, .seed = hash_mix(step->seed, step->step)};
    return add_message(prompt, role, &content, tool_call);
}

static enum status begin(struct prompt *prompt, const struct prompt_step *step)
{
    uint32_t room = step->in_tokens;
    uint32_t frames =
        (2 * PROMPT_FRAME_BYTES + PROMPT_TAIL_BYTES) / TEXT_TOKEN_BYTES + MIN_TEXT_TOKENS;
    room = room > frames ? room - frames : 0;
    uint32_t tokens = step->sys_tokens < room ? step->sys_tokens : room;
    if (tokens > 0) {
        struct content content = {.len = (size_t)tokens * TEXT_TOKEN_BYTES, .seed = step->sys_seed};
        enum status st = add_message(prompt, PROMPT_SYSTEM, &content, 0);
        if (st != ST_OK) {
            return st;
        }
    }
    return add_new_text(prompt, step, PROMPT_USER, 0);
}

/* All but the token that opens the answer. */
static enum status advance(struct prompt *prompt, const struct prompt_step *step, struct str reply)
{
    if (step->step == 0) {
        return begin(prompt, step);
    }
    if (!step->keeps_all) {
        size_t goal = (size_t)step->in_tokens * TEXT_TOKEN_BYTES;
        enum status st = keep(prompt, (size_t)step->reuse_tokens * TEXT_TOKEN_BYTES);
        bool is_complete = prompt->flat.len + PROMPT_TAIL_BYTES >= goal && prompt->count > 0 &&
                           prompt->messages[prompt->count - 1].role != PROMPT_ASSISTANT &&
                           prompt->messages[prompt->count - 1].role != PROMPT_SYSTEM;
        return st != ST_OK || is_complete ? st : add_new_text(prompt, step, PROMPT_USER, 0);
    }
    uint64_t tool_call = step->is_tool ? (hash_mix(step->seed, ~(uint64_t)step->step) | 1) : 0;
    struct content content = {.p = reply.p == NULL ? "" : reply.p, .len = reply.len};
    enum status st = add_message(prompt, PROMPT_ASSISTANT, &content, tool_call);
    if (st != ST_OK) {
        return st;
    }
    prompt->answer_end = prompt->messages[prompt->count - 1].text_end;
    return add_new_text(prompt, step, step->is_tool ? PROMPT_TOOL : PROMPT_USER, tool_call);
}

enum status prompt_advance(struct prompt *prompt, const struct prompt_step *step, struct str reply)
{
    if (prompt->count > 0) {
        prompt->flat.len -= PROMPT_TAIL_BYTES;
    }
    prompt->answer_end = 0;
    enum status st = advance(prompt, step, reply);
    return st == ST_OK ? prompt_render_tail(&prompt->flat) : st;
}
