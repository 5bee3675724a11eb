/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/status.h"

struct status_info {
    const char *name;
    const char *text;
    int http;
    bool is_retryable;
};

static const struct status_info infos[STATUS_COUNT] = {
#define X(name, text, http, retryable) [ST_##name] = {#name, text, http, retryable},
#include "common/base/status.def"
#undef X
};

static const struct status_info *status_info(enum status st)
{
    unsigned idx = (unsigned)st;
    return idx < STATUS_COUNT ? &infos[idx] : &infos[ST_INTERNAL];
}

const char *status_text(enum status st)
{
    return status_info(st)->text;
}

const char *status_name(enum status st)
{
    return status_info(st)->name;
}

int status_http(enum status st)
{
    return status_info(st)->http;
}

bool status_is_retryable(enum status st)
{
    return status_info(st)->is_retryable;
}
