/* SPDX-License-Identifier: Apache-2.0 */
/* What the three writers of view.h share: a writer that remembers its first failure, untrusted text
 * in three escapings, and facts about lanes. PURE. THREAD: any. */
#ifndef AEG_VIEW_PART_H
#define AEG_VIEW_PART_H

#include "aeg/view.h"

#include <inttypes.h>

struct view_writer {
    struct buf *out;
    size_t old_len;
    enum status st; /* of the first append that failed; later ones are taken back with it */
};

/* Appends as printf does. A macro, because pure code has no vsnprintf of its own. */
#define VIEW_FMT(writer, ...) view_note((writer), buf_add_fmt((writer)->out, __VA_ARGS__))

enum view_escape {
    VIEW_JSON, /* inside a JSON string */
    VIEW_DOT,  /* inside a quoted label of Graphviz */
    VIEW_XML,  /* inside an element or a quoted attribute */
};

void view_begin(struct view_writer *writer, struct buf *out);
/* The outcome; after a failure the buffer is as before view_begin. */
MUST_CHECK enum status view_end(struct view_writer *writer);
/* Keeps st if it is the first failure. */
void view_note(struct view_writer *writer, enum status st);
void view_put(struct view_writer *writer, const char *text);
/* Untrusted text: bytes that are no UTF-8, controls and marks that turn the direction of writing
 * become U+FFFD (in JSON controls are kept, escaped). More than max_chars are cut, with "..". */
void view_text(struct view_writer *writer, enum view_escape how, struct str text, size_t max_chars);
/* Characters that view_text writes for it, at most max_chars + 2. */
size_t view_text_chars(struct str text, size_t max_chars);
/* "850 ms", "12.3 s", "4m05s", "2h10m", "2h10m07s". */
void view_duration(struct view_writer *writer, uint64_t ms);
/* "940", "12.3k", "1.2M". */
void view_count(struct view_writer *writer, uint64_t count);

/* First kept step. */
uint32_t view_first(const struct aeg_graph *graph);
/* The gap before the step: false when it has none (no step before it, that one is folded or open).
 * Overlapping ones are 0 ms apart. ret_from: the step before. */
bool view_gap(const struct aeg_view *view,
              const struct aeg_graph *graph,
              const struct aeg_step_view *step,
              struct aeg_step_view *ret_from,
              uint64_t *ret_ms);
/* The last step when its gap is still open; false when it is not. Elapsed so far. */
bool view_open_gap(const struct aeg_view *view,
                   const struct aeg_lane *lane,
                   struct aeg_step_view *ret_from,
                   uint64_t *ret_ms);
/* End of the step, as the graph's ms; now while it is open. */
uint64_t view_step_end(const struct aeg_view *view,
                       const struct aeg_graph *graph,
                       const struct aeg_step_view *step);
/* Parents above the lane; bounded, whatever parents say. */
uint32_t view_depth(const struct aeg_view *view, uint32_t lane);
/* The lane of the parent, or NULL. */
const struct aeg_lane *view_parent(const struct aeg_view *view, uint32_t lane);
/* Its name, "engine 7" when it has left (never a number that a name could not be), "" for none. */
void view_engine(struct view_writer *writer,
                 enum view_escape how,
                 const struct aeg_view *view,
                 struct engine_id engine);

#endif
