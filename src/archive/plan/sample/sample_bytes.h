/* How bytes are compressed, chosen from samples. */
#ifndef SK_ARCHIVE_SAMPLE_BYTES_H
#define SK_ARCHIVE_SAMPLE_BYTES_H

#include "archive/plan/plan.h"

/* Choose the recipe of a class of bytes. */
int sk_sample_bytes(struct sk_ska_plan *p, uint32_t class_index,
                    const struct sk_ska_segment *segments, size_t count, struct sk_recipe *recipe,
                    struct saikai_error *err);
/* Steps that come again far away, which no piece shows: where they leave less than *share of a byte, which is what r is expected to, and than a quick compressor that
 * looks far back, both are set. */
int sk_try_frames(struct sk_ska_plan *p, const struct sk_ska_segment *segments, size_t count, struct sk_recipe *r, double *share, struct saikai_error *err);
/* Encode a sample as bytes through a filter, with *best's compressor; when that
 * leaves less than *least, both are set. */
void sk_try_bytes(struct sk_coder *c, struct sk_part *part, int filter, int level,
                  struct sk_recipe *best, size_t *least);
/* Choose compressor and level for *best's form and filter, never to be worse on the sample than
 * gzip -6, which leaves *gzipped. plain_bytes: what zstd's first level leaves of it as it is, 0: nobody knows; where that is several times more than *least,
 * gzip is not asked, and *gzipped is about what it leaves. */
void sk_try_levels(struct sk_coder *c, struct sk_part *part, struct sk_recipe *best, size_t *least, size_t plain_bytes, size_t *gzipped);

#endif
