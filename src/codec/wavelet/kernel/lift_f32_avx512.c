/* lift_impl.h for float with AVX-512: this file is compiled with wider instructions than the
 * others. */
#define T       float
#define NAME(x) x##_f32_avx512
#include "codec/wavelet/kernel/lift_impl.h"
