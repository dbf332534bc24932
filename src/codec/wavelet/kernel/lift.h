/* Interpolating wavelets in a closed loop: each level splits a box by the parity of its indices,
 * keeps the even points and predicts the others from points already *reconstructed*, so every
 * residual is quantised once and no error adds up.
 *
 * The predict step of lifting after W. Sweldens, "The lifting scheme" (SIAM J. Math. Anal. 29,
 * 1998), with interpolation after G. Deslauriers and S. Dubuc, "Symmetric iterative interpolation
 * processes" (Constr. Approx. 5, 1989); the classes of points with several odd indices are
 * predicted along all of them. The weights are those of Deslauriers and Dubuc, or are fitted to the
 * data by least squares and stored.
 *
 * All local; nothing blocks. */
#ifndef SK_CODEC_WAVELET_LIFT_H
#define SK_CODEC_WAVELET_LIFT_H

#include "base/buf.h"
#include "base/error.h"
#include "codec/entropy/plane.h"
#include "codec/wavelet/fit.h"

#include <stddef.h>
#include <stdint.h>

enum {
    LIFT_AXES = 3,
    LIFT_LEVELS = 24,
    LIFT_LEAST_REACH = 2,
    LIFT_MOST_REACH = 4,
    LIFT_CLASSES = 8,
    LIFT_GROUPS = 16,
    LIFT_CHUNK = 256,
    LIFT_MOST_ORDER = 3,
    LIFT_ORDER_BITS = 2,
    LIFT_WEIGHT_BITS = 12,
    LIFT_FINE_BITS = 24,
    LIFT_CANDIDATES = 4,
};

/* How the array is seen: nb separate boxes of n[0] x n[1] x n[2] points; the point (b, z, y, x) is
 * element b_offset[b] + z stride[0] + y stride[1] + x stride[2]. Axes not in `active` are never
 * predicted along. */
struct lift_shape {
    size_t nb, n[LIFT_AXES], stride[LIFT_AXES];
    const size_t *b_offset;
    unsigned active; /* bit a: axis a */
};

/* Neighbours that share one weight: elements of array `source` at index + offset. */
struct lift_group {
    int source, n;
    ptrdiff_t offset[8];
};

/* How one class of one level is predicted. */
struct lift_filter {
    int n, axes,
        reach; /* groups; the first `axes` are near, the next `axes` far, … `reach` times */
    struct lift_group group[LIFT_GROUPS];
    int32_t stored[LIFT_GROUPS + 1]; /* weights in 2^-LIFT_WEIGHT_BITS (or _FINE_BITS) of all groups but the first; last:
                                        of the mean */
    enum lift_weights { LIFT_STANDARD = 0, LIFT_FITTED, LIFT_AS_BEFORE /* as the coarser level */ } fitted;
    int coarse; /* fitted weights are multiples of a unit: lift_filter.h */
};

struct lift_level {
    unsigned active;
    size_t n[LIFT_AXES];     /* of the box before the split */
    size_t h[LIFT_AXES];     /* of the even points */
    size_t scale[LIFT_AXES]; /* points of the whole box per point of this one */
    size_t pad[LIFT_AXES];
    int order[LIFT_AXES]; /* of the polynomials that continue the box along each axis, from 1 to LIFT_MOST_ORDER */
    size_t sy, sz, sb, origin, count;
    void *data[LIFT_CLASSES];
    uint8_t *level[LIFT_CLASSES];
    uint8_t *mask[LIFT_CLASSES];
    struct lift_filter filter[LIFT_CLASSES];
    double bound, step; /* a value is a prediction plus a whole number of steps */
};

struct lift {
    struct lift_shape shape;
    int n_levels; /* the last has nothing to split: it is the base */
    struct lift_level *level; /* by themselves: they are large, and of the LIFT_LEVELS few are used */
    size_t element_size;
    int32_t *q;
    void *memory, *levels; /* of the values, of levels and masks */
    double mean;
    int reach;    /* neighbours on each side along an axis */
    int fit;      /* encoder: 1 fits weights */
    int thorough; /* encoder: 1 looks at more of the data when it fits */
    int fine;     /* 1: weights have LIFT_FINE_BITS, fits tell edges from the inside, orders are chosen and stored */
    int bytes;    /* decoder: 1 where filters are bytes, as still older versions wrote them */
    int is_encoder;
    int trial; /* encoder: 1 codes the inside of the two finest levels only, to see what they take
                */
    double most_bits;  /* encoder: where the codes of all levels but the finest take more, nobody wants that one, and it is left out; 0:
                          never */
    double trial_bits; /* what that says about a large box, per value */
    size_t *exception; /* encoder: elements whose bound is not kept */
    size_t n_exceptions, cap_exceptions;
    int failed;
};

/* Lay out the levels. masked: places for a mask are made; reach: neighbours on each side along an
 * axis, from LIFT_LEAST_REACH to LIFT_MOST_REACH. SAIKAI_ENOMEM. */
int sk_lift_init(struct lift *l, const struct lift_shape *shape, size_t element_size, int masked,
              int reach, struct saikai_error *err);
void sk_lift_free(struct lift *l);
/* Bounds of the levels: `bound` at the finest, growing finer by the factor alpha per level, at most
 * by beta. Steps are the largest that keep the bound after rounding to the type, for values of
 * exponents [lowest, highest] (as of frexp): between two numbers of one type that are at most
 * `bound` apart lies a whole number of units in the last place. */
void sk_lift_set_bounds(struct lift *l, double bound, double alpha, double beta, int lowest,
                     int highest);
double sk_lift_step(double bound, size_t element_size, int lowest, int highest);
/* Points of class c along axis a. */
size_t sk_lift_points(const struct lift_level *v, unsigned c, int a);
/* Classes in the order in which they are coded: the i-th, 0 past the last. */
unsigned sk_lift_class_at(const struct lift_level *v, int i);
/* Weights of all groups (the first filled in so that all add up to one with the mean's), divided by
 * the group's size. */
void sk_lift_weights(const struct lift *l, const struct lift_filter *f,
                  double weight[LIFT_GROUPS + 1]);
/* Groups of class c and the weights of Deslauriers and Dubuc. */
void sk_lift_filter_init(const struct lift *l, const struct lift_level *v, unsigned c,
                      struct lift_filter *f);
/* The weights of Deslauriers and Dubuc for 2 reach points, and of the mean. */
void sk_lift_standard_weights(const struct lift_filter *f, double *w);
/* The filter of class c at the next coarser level, NULL: that is none of the same kind or has the
 * standard weights. */
const struct lift_filter *sk_lift_filter_before(const struct lift_level *v, unsigned c);
/* Normal equations of a filter's unknowns, the groups but the first and the mean, and the weight of the points behind
 * them. */
struct lift_sums {
    fit_gram gram;
    double sample;
};
/* The weights that sums ask for, as unknowns x[0, f->n); -1: there are none. */
int sk_lift_solve(const struct lift *l, const struct lift_filter *f, struct lift_sums *s, double *x);
/* Filters that class c might have: the standard one, the coarser level's, those of each of the sums. points: of the class.
 * Returns how many. */
int sk_lift_candidates(const struct lift *l, const struct lift_level *v, unsigned c, struct lift_sums *sums, int n_sums, size_t points,
                       struct lift_filter out[LIFT_CANDIDATES]);
/* Bits of a class of so many points with a filter, by the energy that it leaves of the sums, beside what all take. */
double sk_lift_energy_bits(const struct lift *l, const struct lift_level *v, const struct lift_filter *f,
                           struct lift_sums *s, size_t points);
/* Unknowns of a filter. */
void sk_lift_unknowns(const struct lift *l, const struct lift_filter *f, double *x);
/* Bits per value of a large box, from those that the finest level (with the next one: bits[0]) and
 * the next one (bits[1]) took for so many values: all coarser ones are taken to need more and more
 * as these two do. */
double sk_lift_trial_bits(const struct lift_level *finest, const double bits[2],
                       const size_t coded[2]);
/* The geometry of class c for the entropy coder. */
void sk_lift_plane(const struct lift_level *v, unsigned c, int set, int masked, struct sk_plane *p);
void sk_lift_exception(struct lift *l, const struct lift_level *v, unsigned c, size_t index);
/* Element of the array of the point at `index` of class c, (size_t)-1 when it is padding. */
size_t sk_lift_element(const struct lift *l, const struct lift_level *v, unsigned c, size_t index);

/* Encode the array (it is not changed; elements where mask is not 0 are free) into out: filters
 * into `head`, codes into `codes`. l is set up with bounds, mean, fine. Exceptions are left
 * in l. SAIKAI_ENOMEM. */
int sk_lift_encode(struct lift *l, const void *in, const uint8_t *mask, struct sk_buf *head,
                struct sk_plane_writer *codes, struct saikai_error *err);
/* The reverse. SAIKAI_EDAMAGED. */
int sk_lift_decode(struct lift *l, void *out, const uint8_t *mask, struct sk_rd *head,
                struct sk_plane_reader *codes, struct saikai_error *err);

/* The same for one element type and instruction set. */
#define LIFT_VARIANT(T, SUFFIX)                                                                    \
    int sk_lift_encode_##SUFFIX(struct lift *l, const T *in, const uint8_t *mask,                     \
                             struct sk_buf *head, struct sk_plane_writer *codes,                   \
                             struct saikai_error *err);                                            \
    int sk_lift_decode_##SUFFIX(struct lift *l, T *out, const uint8_t *mask, struct sk_rd *head,      \
                             struct sk_plane_reader *codes, struct saikai_error *err);
LIFT_VARIANT(float, f32)
LIFT_VARIANT(double, f64)
LIFT_VARIANT(float, f32_avx2)
LIFT_VARIANT(double, f64_avx2)

#endif
