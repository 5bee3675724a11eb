/* SPDX-License-Identifier: Apache-2.0 */
/* The result of an evaluation as JSON and as tables (Markdown, so that docs can quote them).
 * PURE. THREAD: one owner. */
#ifndef BENCH_AEG_REPORT_H
#define BENCH_AEG_REPORT_H

#include "bench/aeg/eval.h"
#include "common/base/str.h"

/* What buf_add can say. */
MUST_CHECK enum status report_eval_json(struct eval *eval, struct buf *out);
MUST_CHECK enum status report_eval_text(struct eval *eval, struct buf *out);

#endif
