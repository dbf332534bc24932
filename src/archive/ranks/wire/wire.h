/* What ranks tell each other while they make an archive together: lists of files with their
 * variables and chunks, and requests for bytes. Pure. Decoders take hostile bytes. */
#ifndef SK_ARCHIVE_RANKS_WIRE_WIRE_H
#define SK_ARCHIVE_RANKS_WIRE_WIRE_H

#include "archive/plan/listing.h"
#include "archive/plan/plan.h"
#include "base/buf.h"

/* count files as bytes; sk_buf_ok(out) says whether there was memory. */
void sk_wire_put_list(struct sk_buf *out, const struct sk_listed *list, size_t count);
/* Into an array to be freed element by element (sk_listed_free) and as a whole. Extents and chunks that do
 * not lie in their file are an error. Fails with SAIKAI_EDAMAGED, SAIKAI_ENOMEM. */
int sk_wire_get_list(const void *data, size_t n, struct sk_listed **list, size_t *count);

/* Ranges as bytes, their `to` left out, file numbers less `first`. */
void sk_wire_put_ranges(struct sk_buf *out, const struct sk_ska_range *r, size_t count,
                        uint32_t first);
/* Back, with to NULL, and their sum. Ranges outside the files of these sizes, empty ones and a sum
 * beyond SIZE_MAX / 2 are SAIKAI_EDAMAGED; SAIKAI_ENOMEM. */
int sk_wire_get_ranges(const void *data, size_t n, const uint64_t *sizes, size_t files,
                       struct sk_ska_range **r, size_t *count, uint64_t *total);

#endif
