/* The variant for any processor, the choice of the fastest one here, and what all of them share. */
#define NAME(x) x##_plain
#include "codec/entropy/adaptive/sparse_impl.h"

#if defined __x86_64__ && !defined SK_AVX2
#error "the build leaves out the variant for AVX2"
#endif

const struct sk_sparse_kernel *sk_sparse_kernel(void)
{
#ifdef SK_AVX2
    if (__builtin_cpu_supports("avx2"))
        return &sk_sparse_kernel_avx2;
#endif
    return &sk_sparse_kernel_plain;
}

int sk_sparse_models_new(struct sk_sparse_walk *w)
{
    struct sk_sparse_models *m = w->m = sk_scratch_take(sizeof *m);
    if (!m)
        return -1;
    sk_adaptive_slots((sk_adaptive_slot *)m, offsetof(struct sk_sparse_models, mix_zero) / sizeof(sk_adaptive_slot));
    sk_adaptive_mixers(m->mix_zero[0], SK_PLANE_SETS * 8, 4);
    sk_adaptive_mixers(m->mix_quiet, SK_PLANE_SETS, 3);
    sk_adaptive_mixers(m->mix_sign, SK_PLANE_SETS, 2);
    sk_adaptive_mixers(m->mix_size[0], SK_PLANE_SETS * 4, 3);
    sk_adaptive_mixers(&m->mix_rest, 1, 1);
    return 0;
}
