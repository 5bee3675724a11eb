/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine of a run has beside its profile, as options say it: the same keys work for all
 * policies (--KEY VALUE) and for one of them (NAME:KEY=VALUE, entry.h).
 * PURE. THREAD: any. */
#ifndef BENCH_LAB_ENGINE_SPEC_H
#define BENCH_LAB_ENGINE_SPEC_H

#include "bench/lab/read.h"
#include "simulator/model/prefill.h"

/* write-back: a block goes to the tier when memory gives it up. write-through: as soon as it is
 * computed. */
enum lab_tier_mode { LAB_TIER_WRITE_BACK, LAB_TIER_WRITE_THROUGH };
enum { LAB_TIER_MODE_COUNT = LAB_TIER_WRITE_THROUGH + 1 };
extern const char *const lab_tier_mode_names[LAB_TIER_MODE_COUNT];

enum { LAB_ADMISSION_COUNT = SIM_ADMIT_STATES + 1 };
extern const char *const lab_admission_names[LAB_ADMISSION_COUNT]; /* by enum sim_admission */

struct lab_engine_spec {
    const struct sim_evict *evict;
    double kv_scale;          /* of the profile's KV memory */
    double tier_gbps;         /* 1e9 bytes/s each way between an engine and its tier */
    uint64_t tier_tokens;     /* of an engine's host memory, 0 = none */
    double prefill_gbps;      /* of the link between a prefill engine and the others */
    uint64_t store_tokens;    /* of the store that all engines share, 0 = none */
    uint32_t prefill_engines; /* that compute prompts for the others, beside those; 0 = none */
    uint32_t chunk;           /* tokens of an iteration, 0 = the profile's */
    uint32_t block_tokens;
    enum lab_tier_mode tier_mode;
    enum sim_admission admission; /* to the prefix cache; states not with a tier or a store */
};

/* What is not said. */
struct lab_engine_spec lab_engine_spec_default(void);

/* Reads one of admission, block, chunk, evict, kv-scale, tier-tokens, tier-mode, tier-gbps,
 * store-tokens, prefill-engines, prefill-gbps. name: as the user wrote it. ST_NOTFOUND: no such
 * key; ST_INVAL with err. */
MUST_CHECK enum status lab_engine_spec_read(struct lab_engine_spec *spec,
                                            const char *key,
                                            const char *name,
                                            struct str text,
                                            struct err *err);

/* The prefill engines of the spec, for lab_plan. */
struct sim_prefill_opts lab_engine_spec_prefill(const struct lab_engine_spec *spec);

/* The engine that the profile and the spec make. ST_INVAL with err when they do not go together. */
MUST_CHECK enum status lab_engine_spec_apply(const struct lab_engine_spec *spec,
                                             const struct sim_profile *profile,
                                             struct sim_engine_opts *ret,
                                             struct err *err);

#endif
