/* Recovery of what the nodes of a job hold together: local files that are missing or damaged on the
 * nodes the job has now are computed from the others and from parity, or moved to the ranks that
 * need them. The first half of a restart, before the search for a generation that every rank can
 * read. */
#ifndef SK_LIB_RECOVER_H
#define SK_LIB_RECOVER_H

#include "base/id.h"
#include "group/group.h"
#include "store/holdings.h"

struct sk_recovery;

struct sk_recovery_setup {
    struct sk_group *g;
    const char *root, *host;    /* local directory of this rank; kept, not copied */
    struct sk_id store;         /* that parity must be of */
    uint32_t first_incarnation; /* older generations belong to another run */
    const char *form;           /* as redundancy.form */
    int sync;
};

struct sk_recovery_result {
    int lost_data, lost_parity, moved; /* files of ranks, over all sets that were needed */
    double seconds;
};

/* Collective, blocking: look what is on the nodes. Files stay as they are. */
int sk_recovery_new(const struct sk_recovery_setup *s, struct sk_recovery **out,
                    struct saikai_error *err);
void sk_recovery_free(struct sk_recovery *r); /* NULL is accepted */

/* Collective, blocking: the newest protected generation of a key above `above` and up to `most`
 * that the nodes can give in full is made whole in the local directories of all ranks: data and
 * parity, every byte checked. *key is its key, 0: there is none, or none that can be given. Sets
 * that cannot are told once, by rank 0, with whose loss forced it, and are not tried again, nor are
 * those that were made whole. A negative code, on all ranks: the ranks lost contact. What could be
 * read before can be read after it, also after a failure. */
int sk_recovery_make_whole(struct sk_recovery *r, int64_t above, int64_t most, int64_t *key,
                           struct sk_recovery_result *result, struct saikai_error *err);
/* Local, 0 on all ranks or on none: the first failure to give a set back that was no loss (no
 * space, a disk): a later start may succeed. */
int sk_recovery_trouble(const struct sk_recovery *r, struct saikai_error *err);

#endif
