/* The variant for any processor, the choice of the fastest one here, and what all of them share. */
#define NAME(x) x##_plain
#include "codec/entropy/adaptive/sparse_impl.h"

#include <pthread.h>

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

static struct sk_sparse_lookup lookup;

/* 0, 1, 2 … for |q| of 0, 1, 2, 3, then by half octaves. */
static unsigned class_of(unsigned level)
{
    return level < 2 ? 0 : level == 2 ? 1 : level < 9 ? level - 2 : 7;
}

static unsigned sum_context(unsigned sum)
{
    if (sum < 16)
        return sum;
    return sum < 64 ? 16 + (sum - 16) / 4 : 28 + (sum - 64) / 16;
}

static unsigned wide_context(unsigned sum)
{
    static const uint8_t of[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 6, 6, 6, 6};
    return sum < 16 ? of[sum] : sum < 24 ? 7 : sum < 36 ? 8 : sum < 60 ? 9 : sum < 120 ? 10 : 11;
}

static void make_lookup(void)
{
    for (unsigned k = 0; k < LOOKED_UP; k++) {
        lookup.sum[k] = (uint8_t)sum_context(k);
        lookup.wide[k] = (uint8_t)wide_context(k);
    }
    for (unsigned k = 0; k < LEVEL_KINDS; k++) {
        unsigned few = (unsigned)(k > 1) + (k > 3);
        lookup.near_left[k] = (uint16_t)(few * 144);
        lookup.far_left2[k] = (uint8_t)(few * 24);
        lookup.most[k] = (uint8_t)class_of(k);
    }
    for (unsigned k = 0; k < WIDE; k++)
        lookup.mix[k] = k > 6 ? 3 : k > 3 ? 2 : k > 0;
}

int sk_sparse_models_new(struct sk_sparse_walk *w)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sk_sparse_models *m = w->m = sk_scratch_take(sizeof *m);
    if (!m)
        return -1;
    pthread_once(&once, make_lookup);
    w->lookup = &lookup;
    sk_adaptive_slots((sk_adaptive_slot *)m, offsetof(struct sk_sparse_models, mix_zero) / sizeof(sk_adaptive_slot));
    sk_adaptive_mixers(m->mix_zero[0], SK_PLANE_SETS * 8, 4);
    sk_adaptive_mixers(m->mix_quiet, SK_PLANE_SETS, 3);
    sk_adaptive_mixers(m->mix_sign, SK_PLANE_SETS, 2);
    sk_adaptive_mixers(m->mix_size[0], SK_PLANE_SETS * 4, 3);
    sk_adaptive_mixers(&m->mix_rest, 1, 1);
    return 0;
}
