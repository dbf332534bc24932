/* What is suspected of this rank's files, and what the scrub is to read. With the engine's lock, but for scrub and patience, which
 * stay. */
#ifndef SK_LIB_ENGINE_HEALING_H
#define SK_LIB_ENGINE_HEALING_H

#include "base/file/patience.h"
#include "lib/engine/heal/scrub.h"

/* What somebody suspects, for the committer to look at. */
struct sk_doubt {
    int any, all;                      /* all files of this rank; else … */
    struct sk_gen gen;                 /* … the one of this generation, */
    struct sk_gen parity, parity_told; /* or its parity file: that it is damaged was said already */
    char why[480];
};

struct sk_healing {
    struct sk_doubt doubt;
    struct sk_scrub *scrub;       /* NULL: nothing is scrubbed */
    struct sk_parity_set *set;    /* parity of this rank that protects something, */
    size_t sets;                  /* so many */
    int list_stale;               /* the scrub's list is no longer what there is */
    struct sk_patience *patience; /* the committer's, with the prefix */
};

/* Something cannot be read, whichever it is. */
static inline void sk_doubt_all(struct sk_doubt *d)
{
    d->any = d->all = 1;
}

#endif
