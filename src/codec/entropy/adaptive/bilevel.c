/* The variant of the walk over bits for any processor, the choice of the fastest one here, and the two ends of a box. */
#define NAME(x) x##_plain
#include "codec/entropy/adaptive/bilevel_impl.h"

#if defined __x86_64__ && !defined SK_AVX2
#error "the build leaves out the variant for AVX2"
#endif

static const struct sk_bilevel_kernel *kernel(void)
{
#ifdef SK_AVX2
    if (__builtin_cpu_supports("avx2"))
        return &sk_bilevel_kernel_avx2;
#endif
    return &sk_bilevel_kernel_plain;
}

int sk_bilevel_put(const struct sk_bilevel *b, struct sk_buf *out)
{
    struct sk_adaptive c;
    sk_adaptive_encoder(&c, out);
    int rc = kernel()->write(&c, b);
    sk_adaptive_flush(&c);
    return rc;
}

int sk_bilevel_get(struct sk_bilevel *b, const void *in, size_t n)
{
    struct sk_adaptive c;
    sk_adaptive_decoder(&c, in, n);
    return kernel()->read(&c, b) || !sk_adaptive_ended(&c) ? -1 : 0;
}
