/* Sets up the lattice and its rows, and takes the variant of causal_impl.h that suits the
 * processor. */
#define NAME(x) x##_plain
#include "codec/entropy/scratch.h"
#include "codec/wavelet/kernel/causal_impl.h"

int sk_causal_init(struct causal *c, const struct lift_shape *shape, size_t element_size, int masked,
                struct saikai_error *err)
{
    memset(c, 0, sizeof *c);
    c->shape = *shape;
    c->element_size = element_size;
    c->masked = masked;
    c->sy = shape->n[2] + 2 * CAUSAL_PAD;
    c->sz = (shape->n[1] + (shape->n[1] > 1 ? CAUSAL_PAD_ROWS : 0)) * c->sy;
    c->sb = (shape->n[0] + (shape->n[0] > 1 ? CAUSAL_PAD_PLANES : 0)) * c->sz;
    c->origin = (shape->n[0] > 1 ? CAUSAL_PAD_PLANES * c->sz : 0) +
                (shape->n[1] > 1 ? CAUSAL_PAD_ROWS * c->sy : 0) + CAUSAL_PAD;
    c->count = shape->nb * c->sb;
    c->n = sk_scratch_take((c->count + 64) * sizeof *c->n); /* columns and rows beside the box are filled before a prediction looks at them */
    c->q = sk_scratch_take((c->count + 64) * sizeof *c->q);
    c->level = sk_scratch_take_zeros(c->count + 128);
    c->mask = masked ? sk_scratch_take_zeros(c->count + 64) : NULL;
    if (c->n && c->q && c->level && (c->mask || !masked))
        return 0;
    sk_causal_free(c);
    return sk_fail(err, SAIKAI_ENOMEM, "out of memory for the wavelet codec");
}

void sk_causal_free(struct causal *c)
{
    sk_scratch_give(c->n);
    sk_scratch_give(c->q);
    sk_scratch_give(c->level);
    sk_scratch_give(c->mask);
    free(c->exception);
    memset(c, 0, sizeof *c);
}

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
#define sk_causal_encode_avx2 sk_causal_encode_plain
#define sk_causal_decode_avx2 sk_causal_decode_plain
#endif

int sk_causal_encode(struct causal *c, const void *in, const uint8_t *mask, struct sk_buf *head,
                  struct sk_plane_writer *codes, struct saikai_error *err)
{
    return (has_avx2() ? sk_causal_encode_avx2 : sk_causal_encode_plain)(c, in, mask, head, codes, err);
}

int sk_causal_decode(struct causal *c, void *out, const uint8_t *mask, struct sk_rd *head,
                  struct sk_plane_reader *codes, struct saikai_error *err)
{
    return (has_avx2() ? sk_causal_decode_avx2 : sk_causal_decode_plain)(c, out, mask, head, codes, err);
}
