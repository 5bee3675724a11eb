/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/params.h"

enum status route_params_set(const struct route_policy *policy,
                             struct str name,
                             struct str value,
                             double ret[static GATE_PARAMS_MAX],
                             struct err *err)
{
    for (uint32_t i = 0; i < policy->param_count; i++) {
        const struct route_param *param = &policy->params[i];
        double number = 0.0;
        if (!str_eq(name, str_of(param->name))) {
            continue;
        }
        if (str_to_f64(value, &number) != ST_OK ||
            !(number >= param->min && number <= param->max)) {
            return err_set(err, ST_INVAL, "%s of %s: must be a number from %g to %g", param->name,
                           policy->name, param->min, param->max);
        }
        ret[i] = number;
        return ST_OK;
    }
    return err_set(err, ST_NOTFOUND, "policy %s has no parameter \"%.*s\"", policy->name,
                   (int)name.len, name.p);
}

enum status route_params_read(const struct route_policy *policy,
                              struct str text,
                              double ret[static GATE_PARAMS_MAX],
                              struct err *err)
{
    double read[GATE_PARAMS_MAX] = {0};
    for (uint32_t i = 0; i < policy->param_count; i++) {
        read[i] = policy->params[i].def;
    }
    while (text.len > 0) {
        size_t end = 0;
        size_t equals = 0;
        for (; end < text.len && text.p[end] != ';'; end++) {
            equals = equals == 0 && text.p[end] == '=' ? end : equals;
        }
        struct str name = {text.p, equals};
        struct str value = {text.p + equals + 1, equals == 0 ? 0 : end - equals - 1};
        enum status st =
            equals == 0 ? err_set(err, ST_INVAL, "\"%.*s\": must be NAME=VALUE", (int)end, text.p)
                        : route_params_set(policy, name, value, read, err);
        if (st != ST_OK) {
            return ST_INVAL;
        }
        end += end < text.len ? 1 : 0;
        text = (struct str){text.p + end, text.len - end};
    }
    for (uint32_t i = 0; i < GATE_PARAMS_MAX; i++) {
        ret[i] = read[i];
    }
    return ST_OK;
}
