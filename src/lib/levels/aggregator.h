/* Generations that lie in the prefix as a few archives (archive/ranks/collect.h): what is there, and giving it back at a restart,
 * however this start brings its own there (lib/levels/level.h, the form `aggregate`).
 *
 * The archives of a generation are a set in its directory of the prefix; it counts when the set is whole. A generation that
 * builds on others is archived in full. */
#ifndef SK_LIB_AGGREGATOR_H
#define SK_LIB_AGGREGATOR_H

#include "group/group.h"
#include "store/gen.h"
#include "store/owner/job.h"

/* Local: 1: the generation is archived in this prefix as a whole set. */
int sk_archived(const char *prefix_root, struct sk_gen gen);
/* Local: the archived generations of a prefix; to be freed with sk_gen_list_free. A prefix that
 * does not exist has none. */
int sk_archived_list(const char *prefix_root, struct sk_gen_list *out, struct saikai_error *err);
/* Local: how many ranks an archived generation is of. */
int sk_archived_ranks(const char *prefix_root, struct sk_gen gen, int *ranks,
                      struct saikai_error *err);
/* Collective, blocking: give the files of an archived generation back below to_root (its directory
 * there is made), to each rank its own if it asks for it; with all, those of all ranks of then,
 * whoever restores them. An archive of another store than `of`, or those that it was copied from, is
 * SAIKAI_EDAMAGED. One verdict. SAIKAI_ERANKS: without all, another number of ranks wrote it.
 */
int sk_archived_restore(struct sk_group *g, const char *prefix_root, struct sk_gen gen,
                        const char *to_root, int mine, int all, const struct sk_job *of, uint64_t memory_bytes,
                        struct saikai_error *err);

#endif
