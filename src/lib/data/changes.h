/* What changed since the last checkpoint, as a session sees it: which variables are tracked, of which only the changes are
 * saved, and writing these. Local; used by the program's thread.
 *
 * A rank's checkpoint is a delta on the one it captured before when that saves enough of it (capture.max_changed), and each rank decides
 * for itself: a generation counts when every rank has its file of it, whatever that file builds on. Tracked is a variable
 * that lies in memory in one piece (no stream, no halo), is not coded and has 64 KiB or more. One that mostly changes between two checkpoints is
 * left alone for a while, which is longer each time (4, 8, … 64 checkpoints), since tracking costs the program a fault for
 * each page and gains nothing. */
#ifndef SK_LIB_CHANGES_H
#define SK_LIB_CHANGES_H

#include "base/config/config.h"
#include "lib/data/coding.h"
#include "lib/data/vars.h"
#include "store/gen.h"

struct sk_changes;

/* By the keys of [capture]. SAIKAI_ENOTSUP: the tracker that was asked for does not work here. */
int sk_changes_open(const struct sk_config *c, struct sk_changes **out, struct saikai_error *err);
void sk_changes_close(struct sk_changes *ch); /* NULL is accepted */

/* Look for changes before generation g is captured. p: the pieces, those of vars first; wishes as made for them (NULL:
 * none); breaks: as the engine tells. Where only changes are to be saved, p[i].changes_only is set, *extra is the piece that
 * is to hold them (its data is NULL) and *base the generation to build on: base->incarnation 0 when the generation is to be
 * full. Ends with sk_changes_done; a failure is only told to the log: then all is to be saved. */
void sk_changes_look(struct sk_changes *ch, const struct sk_vars *vars, const struct sk_wish *wishes, int breaks,
                     struct sk_gen g, struct sk_piece *p, size_t count, struct sk_piece *extra, struct sk_gen *base);
/* Write the changes to out[cap], cap being the size of the extra piece. */
int sk_changes_write(struct sk_changes *ch, void *out, size_t cap, struct saikai_error *err);
/* g was captured (saved 1), or was not: then its changes are reported again. */
void sk_changes_done(struct sk_changes *ch, const struct sk_vars *vars, const struct sk_piece *p, struct sk_gen g,
                     int saved);

#endif
