/* The archive that another one builds on: blocks of it are decoded again, so that what both sides
 * know comes before the bytes of the newer one. */
#ifndef SK_ARCHIVE_EARLIER_H
#define SK_ARCHIVE_EARLIER_H

#include "archive/part.h"
#include "archive/ska.h"

/* One thread's view of it. */
struct sk_earlier;
void sk_earlier_free(struct sk_earlier *e);

/* Open the archive that `a`, which is or will be at `path`, builds on: by its name in the same
 * directory and the hash of its index. What that one builds on is opened when it is needed. Fails
 * with SAIKAI_ENOENT (it is gone: the text says what to put back where), SAIKAI_EDAMAGED (another
 * one has its name), SAIKAI_EIO, SAIKAI_ENOMEM. */
int sk_earlier_open(struct sk_earlier **e, const char *path, const struct sk_ska *a,
                    struct saikai_error *err);

/* For block i of a, which builds on a block of it: per part of the block the part of the same class
 * there, NULL where there is none. Belongs to e, until the next call. Decodes the block unless it
 * is the one it did last. Fails as sk_unpack_block. */
int sk_earlier_parts(struct sk_earlier *e, const struct sk_ska *a, size_t i,
                     const struct sk_part *const **parts, struct saikai_error *err);

/* For an archive that is made: blocks of bytes of one class build on those of the same class, the
 * first on the first. */
void sk_earlier_match(struct sk_ska *a, const struct sk_ska *earlier);

#endif
