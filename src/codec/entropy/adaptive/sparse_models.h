/* Contexts of the walk over planes of zeros, for the files of sparse_walk.h. */
#ifndef SK_CODEC_ENTROPY_SPARSE_MODELS_H
#define SK_CODEC_ENTROPY_SPARSE_MODELS_H

#include "codec/entropy/adaptive/sparse_walk.h"

enum {
    PLANES = 256, /* that have contexts of their own */
    SUMS = 88,
    NEAR = 432,
    WIDE = 12,
    FAR = 216,
    EXPONENTS = 30,
    SIZES = 22,
    CLASSES = 8,
    RUNS = 8,
};

struct sk_sparse_models {
    sk_adaptive_slot sum[SK_PLANE_SETS][SUMS], near[SK_PLANE_SETS][NEAR], wide[PLANES][WIDE],
        far[SK_PLANE_SETS][FAR];
    sk_adaptive_slot alone[PLANES][4];
    sk_adaptive_slot quiet[PLANES][3], above[SK_PLANE_SETS][9], run[SK_PLANE_SETS][RUNS][3];
    sk_adaptive_slot sign[SK_PLANE_SETS][27], plane_sign[PLANES][9];
    sk_adaptive_slot size[SK_PLANE_SETS][EXPONENTS][SIZES], plane_size[PLANES][EXPONENTS],
        class_size[CLASSES][EXPONENTS];
    sk_adaptive_slot rest[SK_PLANE_SETS][EXPONENTS][3];
    struct sk_adaptive_mixer mix_zero[SK_PLANE_SETS][8], mix_quiet[SK_PLANE_SETS],
        mix_sign[SK_PLANE_SETS], mix_size[SK_PLANE_SETS][4], mix_rest;
};

#endif
