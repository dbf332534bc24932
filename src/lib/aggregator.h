/* The aggregator: complete generations go to the prefix as a few archives (archive/collect.h) in
 * place of one file per rank, off the program's path. One generation at a time.
 *
 * The archives of a generation are a set in its directory of the prefix; it counts when the set is
 * whole. A generation that builds on others is archived in full. */
#ifndef SK_LIB_AGGREGATOR_H
#define SK_LIB_AGGREGATOR_H

#include "base/config.h"
#include "lib/engine.h"
#include "store/gen.h"
#include "store/job.h"

struct sk_aggregator;

struct sk_aggregator_setup {
    struct sk_group *g;
    const struct sk_config *config;
    struct sk_engine *engine; /* stays the caller's, must outlive the aggregator */
    const char *local_root, *prefix_root, *host; /* copied */
    struct sk_id store; /* that archives say they are of */
    struct sk_id lease; /* of the prefix (store/lease.h) */
    uint32_t incarnation;
};

/* Collective, blocking. *out NULL without an error: each rank's file is copied, because that is
 * asked for or because MPI was not begun with threads (rank 0 says so). */
int sk_aggregator_new(const struct sk_aggregator_setup *s, struct sk_aggregator **out,
                      struct saikai_error *err);
/* Local; what is under way is given up. NULL is accepted, here and below. */
void sk_aggregator_free(struct sk_aggregator *a);
/* The same, when what is under way hangs on some rank. 1: on this one; it goes on alone, and the engine must stay. */
int sk_aggregator_give_up(struct sk_aggregator *a);

/* Begin to archive a generation that is complete in the local directories; at the same tick on all
 * ranks, when nothing is under way on any of them. Does not block. */
void sk_aggregator_begin(struct sk_aggregator *a, struct sk_gen gen, int64_t seq);
/* Local: the newest that was archived, whether nothing is under way here, how many failed. */
struct sk_aggregator_status {
    int64_t archived_seq;
    int idle, failures;
    struct saikai_error last_error;
};
void sk_aggregator_report(struct sk_aggregator *a, struct sk_aggregator_status *out);
/* Collective, blocking: until what is under way has ended. */
void sk_aggregator_drain(struct sk_aggregator *a);
/* Local: for so long at most; 1: it has ended here. */
int sk_aggregator_wait(struct sk_aggregator *a, double seconds);

/* ---- restart; without an aggregator, too ---- */

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
