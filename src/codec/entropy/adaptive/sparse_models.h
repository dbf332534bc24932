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
    LOOKED_UP = 1024, /* weighted levels, and twice what stands far around, are fewer */
    LEVEL_KINDS = 64, /* at least SK_LEVEL_MAX + 1 */
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

/* Parts of contexts by what they are made of. */
struct sk_sparse_lookup {
    uint8_t sum[LOOKED_UP], wide[LOOKED_UP];
    uint16_t near_left[LEVEL_KINDS];
    uint8_t far_left2[LEVEL_KINDS], most[LEVEL_KINDS]; /* most: 0, 1, 2 … for |q| of 0, 1, 2, 3, then by half octaves */
    uint8_t mix[WIDE];
};

#endif
