/* Planes of integers coded with static rANS tables that are chosen by the magnitudes of the
 * neighbours.
 *
 * A plane is a box of rows inside a padded array; level, mask and number arrays have room for 64
 * elements behind them. Each value is coded as a token (token.h) by one of a few tables; which one
 * follows from a weighted sum of the levels of values already known: to the left, in the row above,
 * in the plane behind, and in other arrays of the same geometry
 * ("sides"). The rows of a plane are dealt to eight lanes that are decoded in step, so that their
 * latencies overlap; a neighbour in another lane is not used. Blocks of 64 columns of all lanes
 * that hold only zeros cost one flag. Raw bits follow each other by block, lane and column.
 *
 * A writer takes any number of planes, then makes the tables and writes everything; the reader
 * gives the planes in the same order. Reader and writer must be told the same geometry. All local;
 * nothing blocks. */
#ifndef SK_CODEC_ENTROPY_PLANE_H
#define SK_CODEC_ENTROPY_PLANE_H

#include "base/buf.h"
#include "base/error.h"
#include "codec/entropy/rans.h"

#include <stddef.h>
#include <stdint.h>

enum { SK_PLANE_SIDES = 6, SK_PLANE_SETS = 3 };

/* Weights of the contexts; their sum (with those of the sides) is at most 16. */
struct sk_plane_weights {
    uint8_t left, left2, up, up_left, up_right, back;
};

struct sk_plane {
    size_t nb, nz, ny, width; /* rows are numbered (b nz + z) ny + y */
    size_t origin;            /* element of row 0, column 0 */
    size_t sb, sz, sy;        /* elements from one b, z, y to the next */
    struct sk_plane_weights weights;
    int n_sides;
    struct {
        const uint8_t *level; /* same geometry */
        ptrdiff_t shift; /* the neighbour is at index + shift: inside the array for every index of
                            the plane */
        uint8_t weight;
    } side[SK_PLANE_SIDES];
    const uint8_t
        *mask; /* NULL, or same geometry: where it is not 0 the value is 0 and costs nothing */
    int set;   /* which family of tables, below SK_PLANE_SETS */
};

struct sk_plane_writer;
/* A writer for about max_values values in all; NULL when memory is out. */
struct sk_plane_writer *sk_plane_writer_new(size_t max_values);
void sk_plane_writer_free(struct sk_plane_writer *w);
/* As new, with the memory it has. */
void sk_plane_writer_reset(struct sk_plane_writer *w);
/* Append a plane: q[i] (|q| < SK_TOKEN_LIMIT) at the plane's geometry. Fills level[] at the same
 * places. */
void sk_plane_write(struct sk_plane_writer *w, const struct sk_plane *p, const int32_t *q,
                    uint8_t *level);
/* About how many bits finish would write, tables left out. */
double sk_plane_writer_bits(struct sk_plane_writer *w);
/* Bits that finish writes at least. */
double sk_plane_writer_least_bits(struct sk_plane_writer *w);
/* Append tables and codes to out. SAIKAI_ENOMEM. */
int sk_plane_writer_finish(struct sk_plane_writer *w, struct sk_buf *out, struct saikai_error *err);

/* From here to the next reset, keep the planes for sk_plane_writer_sparse, too, as long as no more
 * than `most` values are not zero. Their levels must stay where they are. */
void sk_plane_writer_keep(struct sk_plane_writer *w, size_t most);
/* Append what sk_plane_writer_finish does not write: the codes of planes of zeros (sparse.h). -1:
 * there were too many other values, they take more than `most` bytes, or memory is out; out is to be cut back. */
int sk_plane_writer_sparse(const struct sk_plane_writer *w, size_t most, struct sk_buf *out);

struct sk_plane_reader;
/* Start reading in[0, n): *r is to be freed. The input must outlive the reader. SAIKAI_EDAMAGED,
 * SAIKAI_ENOMEM. */
int sk_plane_reader_new(struct sk_plane_reader **r, const void *in, size_t n,
                        struct saikai_error *err);
/* The same for what sk_plane_writer_sparse wrote. SAIKAI_ENOMEM. */
int sk_plane_reader_sparse(struct sk_plane_reader **r, const void *in, size_t n,
                           struct saikai_error *err);
void sk_plane_reader_free(struct sk_plane_reader *r);
/* The next plane into q[] and level[]. Hostile input gives any values, within the geometry; 0 or
 * SAIKAI_EDAMAGED. */
int sk_plane_read(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level,
                  struct saikai_error *err);
/* The same, q[] and level[] holding zeros at the plane's places: blocks of zeros, which may be most, are left as they are. */
int sk_plane_read_onto_zeros(struct sk_plane_reader *r, const struct sk_plane *p, int32_t *q, uint8_t *level,
                             struct saikai_error *err);
/* Which part of the last plane's blocks were not all zeros; 1 where that is not known. */
double sk_plane_reader_busy(const struct sk_plane_reader *r);
/* 0 when everything was read and the codes ended as they must. */
int sk_plane_reader_finish(struct sk_plane_reader *r, struct saikai_error *err);

#endif
