/* The variant for any processor, and the choice of the fastest one here. */
#define NAME(x) x##_plain
#include "codec/entropy/plane_kernel_impl.h"

#if defined __x86_64__ && !defined SK_AVX2
#error "the build leaves out the variant for AVX2"
#endif

const struct plane_kernel *sk_plane_kernel(void)
{
#ifdef SK_AVX2
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return &sk_plane_kernel_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &sk_plane_kernel_avx2;
#endif
    return &sk_plane_kernel_plain;
}
