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

static int has_avx2(void)
{
#ifdef SK_AVX2
    return __builtin_cpu_supports("avx2");
#else
    return 0;
#endif
}

#ifndef SK_AVX2
#define sk_lift_encode_f32_avx2 sk_lift_encode_f32
#define sk_lift_encode_f64_avx2 sk_lift_encode_f64
#define sk_lift_decode_f32_avx2 sk_lift_decode_f32
#define sk_lift_decode_f64_avx2 sk_lift_decode_f64
#endif

int sk_lift_encode(struct lift *l, const void *in, const uint8_t *mask, struct sk_buf *head,
                struct sk_plane_writer *codes, struct saikai_error *err)
{
    if (l->element_size == sizeof(float))
        return (has_avx2() ? sk_lift_encode_f32_avx2 : sk_lift_encode_f32)(l, in, mask, head, codes, err);
    return (has_avx2() ? sk_lift_encode_f64_avx2 : sk_lift_encode_f64)(l, in, mask, head, codes, err);
}

int sk_lift_decode(struct lift *l, void *out, const uint8_t *mask, struct sk_rd *head,
                struct sk_plane_reader *codes, struct saikai_error *err)
{
    if (l->element_size == sizeof(float))
        return (has_avx2() ? sk_lift_decode_f32_avx2 : sk_lift_decode_f32)(l, out, mask, head, codes,
                                                                     err);
    return (has_avx2() ? sk_lift_decode_f64_avx2 : sk_lift_decode_f64)(l, out, mask, head, codes, err);
}
