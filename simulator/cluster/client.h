/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of a cluster: each plays one session, step after step, and those that it starts.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_CLIENT_H
#define SIMULATOR_CLUSTER_CLIENT_H

#include "simulator/cluster/state.h"

/* A session begins; parent: in the slab, LAB_NONE = a root. */
void lab_client_begin(struct lab *lab, uint32_t session, uint32_t parent, uint64_t at_us);
/* Its next request reaches the gateway. */
void lab_client_request(struct lab *lab, struct lab_live *live);
/* Its engine made the first token of this answer. */
void lab_client_first(struct lab *lab, struct lab_live *live);
/* Its engine has made the answer's last token. */
void lab_client_answered(struct lab *lab, struct lab_live *live, uint32_t cached_tokens);
void lab_client_refused(struct lab *lab, const struct lab_refusal *refusal);

#endif
