/* Looks at the upper halves of the vector registers by XGETBV, and clears them by VZEROUPPER, where the processor has them. */
#include "base/host/vectors.h"

#if defined __x86_64__ && defined __GNUC__
#include <cpuid.h>

/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 13: XGETBV with ECX = 1 tells which of the components that
 * the system has turned on (ECX = 0) are in use; component 2 is the upper halves of YMM0 to YMM15. */
enum { EXTENDED_STATE_LEAF = 13, IN_USE_IS_TOLD = 1 << 2, IN_USE = 1, UPPER_HALVES = 1 << 2 };

__attribute__((target("avx"))) static void clear(void)
{
    __builtin_ia32_vzeroupper();
}

static unsigned components(unsigned which)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(which));
    return low;
}

void sk_vectors_clear(void)
{
    if (__builtin_cpu_supports("avx"))
        clear();
}

int sk_vectors_are_clear(void)
{
    unsigned a = 0, b, c, d;
    if (!__builtin_cpu_supports("avx") || !__get_cpuid_count(EXTENDED_STATE_LEAF, 1, &a, &b, &c, &d) || !(a & IN_USE_IS_TOLD))
        return -1;
    return !(components(IN_USE) & UPPER_HALVES);
}
#else
void sk_vectors_clear(void) {}
int sk_vectors_are_clear(void)
{
    return -1;
}
#endif
