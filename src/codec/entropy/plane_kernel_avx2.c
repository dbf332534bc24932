/* plane_kernel_impl.h for AVX2: this file is compiled with wider instructions than the others. */
#define NAME(x) x##_avx2
#include "codec/entropy/plane_kernel_impl.h"
