/* lift_impl.h for float with AVX2: this file is compiled with wider instructions than the
 * others. */
#define T       float
#define NAME(x) x##_f32_avx2
#include "codec/wavelet/kernel/lift_impl.h"
