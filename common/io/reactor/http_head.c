/* SPDX-License-Identifier: Apache-2.0 */
#include "common/io/reactor/http_head.h"

#include <stdlib.h>

void http_head_init(struct http_head *head)
{
    memset(head, 0, sizeof(*head));
    buf_init(&head->text, mem_heap(), SIZE_MAX / 2);
}

void http_head_fini(struct http_head *head)
{
    if (head == NULL) {
        return;
    }
    buf_fini(&head->text);
    free(head->fields);
    head->fields = NULL;
    head->count = 0;
    head->cap = 0;
}

struct str http_head_target(const struct http_head *head)
{
    return (struct str){head->text.p, head->target_len};
}

struct str http_head_name(const struct http_head *head, uint32_t idx)
{
    return (struct str){head->text.p + head->fields[idx].name_at, head->fields[idx].name_len};
}

struct str http_head_value(const struct http_head *head, uint32_t idx)
{
    return (struct str){head->text.p + head->fields[idx].value_at, head->fields[idx].value_len};
}

bool http_head_get(const struct http_head *head, struct str name, struct str *ret)
{
    for (uint32_t i = 0; i < head->count; i++) {
        if (head->fields[i].name_len == name.len && str_ieq(http_head_name(head, i), name)) {
            *ret = http_head_value(head, i);
            return true;
        }
    }
    return false;
}

uint32_t http_head_count(const struct http_head *head, struct str name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < head->count; i++) {
        if (head->fields[i].name_len == name.len && str_ieq(http_head_name(head, i), name)) {
            count++;
        }
    }
    return count;
}

bool http_head_has_token(const struct http_head *head, struct str name, struct str token)
{
    for (uint32_t i = 0; i < head->count; i++) {
        if (head->fields[i].name_len != name.len || !str_ieq(http_head_name(head, i), name)) {
            continue;
        }
        struct str rest = http_head_value(head, i);
        struct str part;
        while (str_split(&rest, ',', &part)) {
            if (str_ieq(str_trim(part), token)) {
                return true;
            }
        }
    }
    return false;
}

bool http_head_is_hop_by_hop(const struct http_head *head, uint32_t idx)
{
    static const struct {
        const char *name;
        size_t len;
    } hop_names[] = {{"connection", 10},
                     {"keep-alive", 10},
                     {"proxy-connection", 16},
                     {"te", 2},
                     {"trailer", 7},
                     {"transfer-encoding", 17},
                     {"upgrade", 7},
                     {"proxy-authorization", 19},
                     {"proxy-authenticate", 18}};
    struct str name = http_head_name(head, idx);
    for (size_t i = 0; i < sizeof(hop_names) / sizeof(hop_names[0]); i++) {
        if (name.len == hop_names[i].len &&
            str_ieq(name, (struct str){hop_names[i].name, hop_names[i].len})) {
            return true;
        }
    }
    return http_head_has_token(head, STR("connection"), name);
}
