/* lift_impl.h for double with AVX-512: this file is compiled with wider instructions than the
 * others. */
#define T       double
#define NAME(x) x##_f64_avx512
#include "codec/wavelet/kernel/lift_impl.h"
