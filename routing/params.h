/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's numbers, as people write them: "name=value;name=value".
 * PURE. THREAD: any. */
#ifndef ROUTING_PARAMS_H
#define ROUTING_PARAMS_H

#include "common/base/err.h"
#include "routing/gate.h"
#include "routing/policy.h"

/* The policy's numbers: those of the text, else its defaults; "" = all defaults. ST_INVAL with err
 * (may be NULL): a name that it does not have, or a value that is none or out of range. */
MUST_CHECK enum status route_params_read(const struct route_policy *policy,
                                         struct str text,
                                         double ret[static GATE_PARAMS_MAX],
                                         struct err *err);

/* One of them. ST_NOTFOUND: it has none of that name; ST_INVAL. With err. */
MUST_CHECK enum status route_params_set(const struct route_policy *policy,
                                        struct str name,
                                        struct str value,
                                        double ret[static GATE_PARAMS_MAX],
                                        struct err *err);

#endif
