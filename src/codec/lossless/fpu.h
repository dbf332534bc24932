/* Floating point as encoder and decoder need it: rounding to nearest, denormals kept. Programs
 * often run with denormals flushed (-ffast-math, vendor compilers); a prediction made so would not
 * be made again by a decoder that is not. */
#ifndef SK_CODEC_LOSSLESS_FPU_H
#define SK_CODEC_LOSSLESS_FPU_H

#if defined(__x86_64__)
#include <xmmintrin.h>

typedef unsigned sk_fpu_state;

static inline sk_fpu_state sk_fpu_enter(void)
{
    sk_fpu_state old = _mm_getcsr();
    _mm_setcsr(
        0x1f80); /* all exceptions masked, nearest, no flushing: the state at a process's start */
    return old;
}

static inline void sk_fpu_leave(sk_fpu_state old)
{
    _mm_setcsr(old);
}
#else
#include <fenv.h>

typedef fenv_t sk_fpu_state;

static inline sk_fpu_state sk_fpu_enter(void)
{
    sk_fpu_state old;
    fegetenv(&old);
    fesetenv(FE_DFL_ENV);
    return old;
}

static inline void sk_fpu_leave(sk_fpu_state old)
{
    fesetenv(&old);
}
#endif

#endif
