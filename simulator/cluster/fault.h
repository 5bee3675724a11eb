/* SPDX-License-Identifier: Apache-2.0 */
/* Faults, carried out: what they do to the engines and to the steps there. The cores hear of them
 * only by what they hear in production: failed attempts, broken answers, probes, engines taken out
 * and put back.
 * PURE. */
#ifndef SIMULATOR_CLUSTER_FAULT_H
#define SIMULATOR_CLUSTER_FAULT_H

#include "simulator/cluster/net.h"

/* Delivers the letter that is due. */
void lab_fault_deliver(struct lab *lab);

#endif
