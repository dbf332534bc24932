/* A piece of the codec, while it is made or read. */
#ifndef SK_CODEC_WAVELET_PIECE_H
#define SK_CODEC_WAVELET_PIECE_H

#include "codec/codec.h"
#include "codec/wavelet/kernel/causal.h"
#include "codec/wavelet/kernel/lift.h"
#include "codec/wavelet/mask/mask.h"
#include "codec/wavelet/shape.h"
#include "codec/wavelet/special.h"

/* One byte of form, then
 *   EMPTY      nothing
 *   EXACT      exact.h
 *   CONSTANT   the value
 *   CENTRED    length of the next; centre.h's mean, the rest: pieces of other forms
 *   PREDICTED  flags; shape; bound, exponents, mean or base; factors; fill value, mask; exact
 *              values; filters; codes
 *   EXTENDED   as PREDICTED, with its options (u16) before the flags, and what they need: the
 *              exponent of the scale (i16), the step of the lattice (f64)
 *   SPIKES     length of the next; isolated values (spikes/spikes.h); a piece of another form, over whose values they are written
 *   SERIES     scale (i16); base, step of the lattice (f64); exact values; numbers (series/series.h) */
enum {
    PIECE_EMPTY = 0,
    PIECE_EXACT = 1,
    PIECE_CONSTANT = 2,
    PIECE_PREDICTED = 4,
    PIECE_CENTRED = 5,
    PIECE_EXTENDED = 6,
    PIECE_SERIES = 7,
    PIECE_SPIKES = 8
};
enum { PIECE_HAS_MASK = 1, PIECE_HAS_FILL = 2, PIECE_IS_CAUSAL = 4 };
/* Options: reach beyond LIFT_LEAST_REACH; the values were multiplied by a power of two before all
 * else; the step of a causal piece is given; the codes are those of sparse planes; the
 * mask is one of bilevel.h; filters are those of lift_filter.h; their weights are fine, and the orders of what lies beyond
 * the box stand before those of each level; planes of the mask that are the same as earlier ones are named, and the others alone are coded. */
enum {
    PIECE_REACH = 3,
    PIECE_SCALED = 4,
    PIECE_STEP = 8,
    PIECE_SPARSE = 16,
    PIECE_BILEVEL = 32,
    PIECE_FILTERS = 64,
    PIECE_FINE = 128,
    PIECE_REPEATS = 256,
    PIECE_OPTIONS = 511
};

/* A plan that needs more than so many times the bits of another one is not coded: as adaptive codes what is a little longer may still be
 * the shortest. */
#define PIECE_CLOSE 1.05

/* How much time bytes are worth, by level: little by default (codes are static, one plan is made); some from PIECE_THRIFTY_LEVEL on;
 * from PIECE_BEST_LEVEL on bytes alone count. */
enum piece_effort { PIECE_SWIFT, PIECE_THRIFTY, PIECE_BEST };
enum { PIECE_THRIFTY_LEVEL = 6, PIECE_BEST_LEVEL = 9 };
/* Adaptive codes take up to three times as long to restore as static ones, which are kept where they are longer by no more than this
 * factor, if thrifty. */
#define PIECE_WORTH 1.1

/* How to predict. */
struct plan {
    int causal, hold; /* hold: of causal.h */
    unsigned active;
    double alpha, beta; /* sk_lift_set_bounds */
    int reach;          /* of lift.h */
};

struct piece {
    const struct sk_array *a;
    const void *in; /* encoder */
    size_t n, size;
    const struct sk_codec_options *opt; /* encoder */
    double bound;
    /* what is predicted: the values times 2^scale, within `limit` */
    const void *source; /* encoder */
    void *scaled;       /* encoder: `source` where it is not `in` */
    int scale;
    double low, high, mean, limit;
    double step, base;   /* of a lattice that the values lie on; step 0: none was found */
    int thorough;        /* encoder: many bits are to be saved by a little time */
    int is_part;         /* of a centred piece */
    int is_rest;         /* isolated values are out already */
    int keep_plan;       /* encoder: `plan` is chosen already */
    size_t most;         /* encoder: bytes of the best plan so far, SIZE_MAX: there is none */
    size_t least_static; /* encoder: bytes of the shortest static codes so far, the same */
    double least_bits;   /* encoder: of the plans so far, before they are coded */
    enum piece_effort effort; /* encoder */
    const struct lift_shape *busy; /* encoder: boxes to try plans on in place of those that lie evenly, NULL: none */
    int sparse, packed, fine; /* how codes and filters are coded: see the options */
    enum mask_form mask_form;
    int lowest, highest; /* exponents of most values */
    struct special special;
    struct shape shape;
    struct lift_shape lift_shape;
    size_t *b_offset;
    uint8_t *mask;
    struct plan plan;
    struct lift lift;
    struct causal causal;
};

void sk_piece_free(struct piece *p);

/* Append the form PREDICTED to out; bound, special and shape are set. SAIKAI_ENOMEM. */
int sk_piece_predict(struct piece *p, struct sk_buf *out, struct saikai_error *err);
/* Read a piece of any form into out. SAIKAI_EDAMAGED, SAIKAI_ENOMEM, SAIKAI_ENOTSUP. */
int sk_piece_read(struct piece *p, struct sk_rd *in, void *out, struct saikai_error *err);
/* Encoder, piece_plan.c: the plan that takes the fewest bytes, as far as trials tell; those left in
 * plan[0, n), n at most PIECE_FINALISTS, are to be tried on the whole piece. */
enum { PIECE_FINALISTS = 4 };
struct sk_plane_writer;
int sk_piece_choose(struct piece *p, struct sk_plane_writer *codes, struct plan plan[PIECE_FINALISTS]);
/* Encoder: is the piece so small that all of it is to be predicted with each plan? These plans, at most PIECE_PLANS; and the one that interpolates with the
 * fewest bits of all that do with the longer reach: is that to be tried, too? */
enum { PIECE_PLANS = 3 };
int sk_piece_is_tiny(const struct piece *p);
int sk_piece_plans(const struct piece *p, struct plan plan[PIECE_PLANS]);
int sk_piece_reach_further(const struct piece *p, struct plan *plan, double bits);
/* Encoder: predict in this shape with this plan; what was made is left in lift or causal. trial: as
 * theirs. */
int sk_piece_transform(const struct piece *p, const struct lift_shape *shape, const struct plan *plan,
                    int trial, struct lift *lift, struct causal *causal, struct sk_buf *head,
                    struct sk_plane_writer *codes, struct saikai_error *err);
/* Encoder: a plan that takes more than so many times the bits of another one is not coded. */
double sk_piece_close(const struct piece *p);
/* Step of a causal piece; encoder: with this plan. */
double sk_piece_step(const struct piece *p);
double sk_piece_plan_step(const struct piece *p, const struct plan *plan);
/* The number after key ("alpha=") in the codec's parameter. */
double sk_piece_parameter(const struct piece *p, const char *key, double standard);

#endif
