/* What is known of the files that an archive is made of. */
#ifndef SK_ARCHIVE_PLAN_LISTING_H
#define SK_ARCHIVE_PLAN_LISTING_H

#include "archive/plan/chunks.h"
#include "reader/reader.h"

#include <sys/stat.h>

/* What is known of a file before it is read: from stat, and from its reader. */
struct sk_listed {
    char *name;
    uint64_t size_bytes;
    uint32_t mode, origin; /* origin: rank + 1 that gave it, 0: nobody */
    int64_t mtime_ns;
    struct sk_scan scan;
    struct sk_chunks chunks; /* none: nobody has cut it yet */
};
/* Look into one input; seen: as the feed saw it; look 0: its variables do not matter. */
int sk_list_input(const struct sk_archive_input *in, const struct stat *seen, int look,
                  struct sk_listed *out, struct saikai_error *err);
void sk_listed_free(struct sk_listed *l);

#endif
