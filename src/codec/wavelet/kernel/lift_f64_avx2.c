/* lift_impl.h for double with AVX2: this file is compiled with wider instructions than the
 * others. */
#define T       double
#define NAME(x) x##_f64_avx2
#include "codec/wavelet/kernel/lift_impl.h"
