/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/rendezvous.h"

#include "common/base/hash.h"

uint64_t route_rendezvous_weight(uint64_t key, uint64_t engine_key)
{
    return hash_mix(key, engine_key);
}
