/* Blocks: the parts that are encoded together become bytes, and back. */
#ifndef SK_ARCHIVE_CODING_BLOCK_H
#define SK_ARCHIVE_CODING_BLOCK_H

#include "archive/coding/part.h"

/* Encode a block: appends to out. recipes[i] belongs to parts[i]. The parts' bytes may come back in
 * native order. A part that its recipe would not shrink is stored. Local. Fails with SAIKAI_ENOMEM.
 */
int sk_block_encode(struct sk_coder *c, struct sk_part *parts, int count,
                    const struct sk_recipe *recipes, struct sk_buf *out, struct saikai_error *err);
/* One of them: part i, which may be predicted from those before it. */
int sk_block_encode_part(struct sk_coder *c, struct sk_part *parts, int i, const struct sk_recipe *r,
                         struct sk_buf *out, struct saikai_error *err);
/* Decode a block's stored bytes into parts[].raw (sized by the caller from the index), in file byte
 * order, each part as soon as its bytes are there. Reads up to SK_BITS_SLACK bytes behind `stored`,
 * which must be readable. Hostile input. Fails with SAIKAI_EDAMAGED, SAIKAI_ENOMEM, SAIKAI_ENOTSUP
 * (a codec that this build lacks). */
int sk_block_decode(struct sk_coder *c, const uint8_t *stored, size_t n, struct sk_part *parts,
                    int count, struct saikai_error *err);

#endif
