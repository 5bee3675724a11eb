/* SPDX-License-Identifier: Apache-2.0 */
/* A declared workflow from its JSON form (docs/workflow.schema.json): read strictly, so that a
 * misspelt member is not silently ignored.
 * THREAD: any. LIMITS: WORKFLOW_BODY_BYTES, those of aeg/spec.h. */
#ifndef COORDINATOR_IO_WORKFLOW_READ_H
#define COORDINATOR_IO_WORKFLOW_READ_H

#include "common/base/err.h"
#include "coordinator/core/event.h"

enum { WORKFLOW_BODY_BYTES = 262144 };

struct workflow_doc; /* holds what the declaration points to */

/* ST_OK: valid in all, aeg_spec_new will take it. ST_INVAL: err begins with the path of what is
 * wrong, "nodes[3].gap_ms: ..."; ST_TOOBIG, ST_NOMEM. */
MUST_CHECK enum status
workflow_read(struct workflow_doc **ret, const struct mem *mem, struct str text, struct err *err);
void workflow_doc_free(struct workflow_doc *doc);

/* Tenant "": whoever asks knows it. */
const struct coord_workflow_declared *workflow_doc_declared(const struct workflow_doc *doc);

#endif
