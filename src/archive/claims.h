/* Which rank gives a file that several of them see. */
#ifndef SK_ARCHIVE_CLAIMS_H
#define SK_ARCHIVE_CLAIMS_H

#include "archive/feed.h"
#include "group/group.h"

#include <stdint.h>

/* Collective, blocking: keep[i] of every rank says whether it gives its file i. A file that several
 * ranks name and that is the same one (inode, size and time) is given by the one of them with the
 * fewest bytes so far. One verdict; SAIKAI_EINVAL: different files of one name; SAIKAI_ENOMEM,
 * SAIKAI_EMPI, SAIKAI_EPEER. */
int sk_claims_settle(struct sk_group *g, const struct sk_feed_local *all, uint8_t *keep,
                     struct saikai_error *err);

#endif
