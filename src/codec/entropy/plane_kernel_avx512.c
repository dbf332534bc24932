/* plane_kernel_impl.h for AVX-512: this file is compiled with wider instructions than the others. */
#define NAME(x) x##_avx512
#include "codec/entropy/plane_kernel_impl.h"
