/* Planes (plane.h) of which nearly all values are zero, coded bit by bit with probabilities that
 * adapt (adaptive.h): no tables, a few bytes of its own. The same planes take fewer bytes than
 * with static tables when there is little of them, and far more time for each value that is not
 * zero or near to one.
 *
 * A row is coded in blocks of 16 columns. When all that is known around a block is zero, one flag
 * says whether it is, too; else each value says whether it is zero, then its sign and magnitude.
 * All local; nothing blocks. */
#ifndef SK_CODEC_ENTROPY_SPARSE_H
#define SK_CODEC_ENTROPY_SPARSE_H

#include "codec/entropy/plane.h"

/* What a writer keeps of planes until it is known whether they are to be coded so. */
struct sk_sparse {
    struct sk_plane *plane;
    const uint8_t **level; /* of each plane: stays where it is until all are coded */
    size_t n_planes, cap_planes;
    int32_t *value; /* those that are not zero, by plane and row */
    size_t n_values, cap_values, most;
    int given_up;
};

/* Keep planes from now on, as long as no more than `most` values are not zero. */
void sk_sparse_start(struct sk_sparse *s, size_t most);
void sk_sparse_free(struct sk_sparse *s);
void sk_sparse_add(struct sk_sparse *s, const struct sk_plane *p, const int32_t *q,
                   const uint8_t *level);
/* Append the codes of all planes kept. -1: they are not to be coded so, take more than `most` bytes, or memory is out. */
int sk_sparse_put(const struct sk_sparse *s, size_t most, struct sk_buf *out);

struct sk_sparse_reader;
/* As the functions of plane.h. NULL: memory is out. */
struct sk_sparse_reader *sk_sparse_reader_new(const void *in, size_t n);
void sk_sparse_reader_free(struct sk_sparse_reader *r);
/* -1: memory is out. */
int sk_sparse_read(struct sk_sparse_reader *r, const struct sk_plane *p, int32_t *q,
                   uint8_t *level);
/* Did the codes end as they must? */
int sk_sparse_reader_ended(const struct sk_sparse_reader *r);

#endif
