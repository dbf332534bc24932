/* The file a reader looks at (struct sk_view). */
#ifndef SK_READER_VIEW_H
#define SK_READER_VIEW_H

#include "reader/reader.h"

/* n bytes at an offset; NULL when they are not in the file or cannot be read. They stay until the
 * view is closed. Blocks on the file. Not for several threads. */
const uint8_t *sk_view_at(const struct sk_view *v, uint64_t offset, uint64_t n);
/* The part [offset, offset + size) of a view, which must lie in it, under another path; not to be
 * closed. */
struct sk_view sk_view_part(const struct sk_view *v, const char *path, uint64_t offset,
                            uint64_t size);
/* Look at a file (path must outlive the view). Fails with SAIKAI_ENOENT, SAIKAI_EIO,
 * SAIKAI_ENOMEM. */
int sk_view_open(struct sk_view *v, const char *path, struct saikai_error *err);
/* Returns the first failure to read what the file should have had (SAIKAI_EDAMAGED: it was cut
 * short), 0: none. */
int sk_view_close(struct sk_view *v, struct saikai_error *err);

#endif
