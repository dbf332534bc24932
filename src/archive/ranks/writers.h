/* N ranks → M writers: who writes whose files. */
#ifndef SK_ARCHIVE_RANKS_WRITERS_H
#define SK_ARCHIVE_RANKS_WRITERS_H

#include "group/group.h"

struct sk_collect_options;

struct sk_writers {
    int count;  /* M */
    int writer; /* of this rank: 0 … M-1 */
    struct sk_group *group; /* of those who share it; rank 0 of it writes */
};

/* Who writes: pure. hosts: one string per rank; *writers: how many there are. Out: writer[r] and
 * place[r] of rank r, its writer (0 … M-1) and its place among those who share it; place 0 writes.
 */
int sk_writers_arrange(const char *const *hosts, int ranks, const struct sk_collect_options *o,
                       int *writer, int *place, int *writers, struct saikai_error *err);

/* Collective over g, blocks until all ranks have come. As arranged for o and the ranks' nodes; *out is to be freed, also after a
 * failure. SAIKAI_EINVAL: o has nonsense; SAIKAI_ENOMEM, SAIKAI_EPEER, or what g failed with: one verdict for all ranks. */
int sk_writers_form(struct sk_group *g, const struct sk_collect_options *o, struct sk_writers *out, struct saikai_error *err);

/* As sk_group_free. */
void sk_writers_free(struct sk_writers *w);

#endif
