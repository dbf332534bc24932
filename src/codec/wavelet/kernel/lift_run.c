/* Coding a piece by interpolation with the loops that this processor has. */
#include "codec/wavelet/kernel/lift.h"

#include "codec/entropy/scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- variants for the processor at hand; all give the same bits ---- */

#if defined __x86_64__ && !defined SK_AVX2
#error "the build leaves out the variants for AVX2"
#endif


/* The widest variant that the processor has: 0 for any, then AVX2, AVX-512. */
static int variant(void)
{
#ifdef SK_AVX2
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return 2;
    return __builtin_cpu_supports("avx2") ? 1 : 0;
#else
    return 0;
#endif
}

#ifndef SK_AVX2
#define sk_lift_encode_f32_avx2   sk_lift_encode_f32
#define sk_lift_encode_f64_avx2   sk_lift_encode_f64
#define sk_lift_decode_f32_avx2   sk_lift_decode_f32
#define sk_lift_decode_f64_avx2   sk_lift_decode_f64
#define sk_lift_encode_f32_avx512 sk_lift_encode_f32
#define sk_lift_encode_f64_avx512 sk_lift_encode_f64
#define sk_lift_decode_f32_avx512 sk_lift_decode_f32
#define sk_lift_decode_f64_avx512 sk_lift_decode_f64
#endif

int sk_lift_encode(struct lift *l, const void *in, const uint8_t *mask, struct sk_buf *head,
                struct sk_plane_writer *codes, struct saikai_error *err)
{
    int k = variant();
    if (l->element_size == sizeof(float))
        return (k == 2 ? sk_lift_encode_f32_avx512 : k ? sk_lift_encode_f32_avx2 : sk_lift_encode_f32)(l, in, mask, head, codes, err);
    return (k == 2 ? sk_lift_encode_f64_avx512 : k ? sk_lift_encode_f64_avx2 : sk_lift_encode_f64)(l, in, mask, head, codes, err);
}

int sk_lift_decode(struct lift *l, void *out, const uint8_t *mask, struct sk_rd *head,
                struct sk_plane_reader *codes, struct saikai_error *err)
{
    int k = variant();
    if (l->element_size == sizeof(float))
        return (k == 2 ? sk_lift_decode_f32_avx512 : k ? sk_lift_decode_f32_avx2 : sk_lift_decode_f32)(l, out, mask, head, codes, err);
    return (k == 2 ? sk_lift_decode_f64_avx512 : k ? sk_lift_decode_f64_avx2 : sk_lift_decode_f64)(l, out, mask, head, codes, err);
}
