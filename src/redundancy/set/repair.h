/* Repair of one group: which stripes need what, and the carrier's view of it. The second half of a
 * rebuild. */
#ifndef SK_REDUNDANCY_REPAIR_H
#define SK_REDUNDANCY_REPAIR_H

#include "redundancy/transfer/carrier.h"
#include "redundancy/set/survey.h"

struct sk_repair;

/* Local, pure: 0 when every lost piece that is claimed can be computed from the others;
 * SAIKAI_ELOST with a sentence that names the generation, the group and all losses. The same on all
 * ranks. */
int sk_repair_possible(const struct sk_survey_group *v, struct saikai_error *err);

/* A member's pieces that are lost and claimed: to be made. */
int sk_repair_wants_data(const struct sk_survey_group *v, int member);
int sk_repair_wants_parity(const struct sk_survey_group *v, int member);

/* Local. After the moves: pieces lie where they are claimed; v->stream and v->file of lost and
 * claimed pieces of this rank are created files. form NULL: pipeline. v stays the caller's. */
int sk_repair_new(struct sk_group *g, struct sk_survey_group *v, const char *form, int window,
                  struct sk_repair **out, struct saikai_error *err);
/* Collective over the ranks that have or want pieces of the group: compute what is lost. Blocks. */
int sk_repair_run(struct sk_repair *r, struct saikai_error *err);
/* Pieces that were only trusted (survey.h): those that this rank is the holder of are checked as
 * they are read; this checks what is left of them. 1: some are damaged, and what was made of them
 * must not be used. Local. */
int sk_repair_found_damage(struct sk_repair *r);
/* First failure to read a piece on this rank: what was computed from it must not be used. Local. */
int sk_repair_status(const struct sk_repair *r, struct saikai_error *err);
/* Bytes written on this rank. */
uint64_t sk_repair_written(const struct sk_repair *r);
void sk_repair_free(struct sk_repair *r);

#endif
