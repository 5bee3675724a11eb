/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/json.h"

#include <math.h>

bool json_get_str(yyjson_val *obj, const char *key, struct str *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (!yyjson_is_str(val)) {
        return false;
    }
    *ret = json_str(val);
    return true;
}

bool json_get_u64(yyjson_val *obj, const char *key, uint64_t *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (yyjson_is_uint(val)) {
        *ret = yyjson_get_uint(val);
        return true;
    }
    if (!yyjson_is_real(val)) {
        return false;
    }
    double real = yyjson_get_real(val);
    if (!(real >= 0.0 && real < 0x1.0p64) || floor(real) != real) {
        return false;
    }
    *ret = (uint64_t)real;
    return true;
}

bool json_get_bool(yyjson_val *obj, const char *key, bool *ret)
{
    yyjson_val *val = yyjson_obj_get(obj, key);
    if (!yyjson_is_bool(val)) {
        return false;
    }
    *ret = yyjson_get_bool(val);
    return true;
}

struct str json_str(yyjson_val *val)
{
    if (!yyjson_is_str(val)) {
        return (struct str){NULL, 0};
    }
    return (struct str){yyjson_get_str(val), yyjson_get_len(val)};
}
