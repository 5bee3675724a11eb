/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/err.h"

#include <stdarg.h>
#include <stdio.h>

enum status err_set(struct err *err, enum status st, const char *fmt, ...)
{
    if (err == NULL) {
        return st;
    }
    err->status = st;
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(err->text, sizeof(err->text), fmt, args);
    va_end(args);
    if (len < 0) {
        err->text[0] = '\0';
    }
    return st;
}
