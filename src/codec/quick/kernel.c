/* Compiles kernel.inc for each instruction set, and chooses the best that this processor has. */
#include "codec/quick/kernel.h"

#include <math.h>
#include <string.h>

#define TARGET
#define NAME(x) x##_plain
#include "codec/quick/kernel.inc"
#undef NAME
#undef TARGET

#ifdef __x86_64__
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_avx2
#include "codec/quick/kernel.inc"
#endif

const struct quick_kernel *sk_quick_kernel_at(int level)
{
#ifdef __x86_64__
    if (level == 1 && __builtin_cpu_supports("avx2"))
        return &kernel_avx2;
#endif
    return level == 0 ? &kernel_plain : NULL;
}

const struct quick_kernel *sk_quick_kernel(void)
{
    const struct quick_kernel *best = sk_quick_kernel_at(1);
    return best ? best : sk_quick_kernel_at(0);
}
