/* bilevel_impl.h for AVX2: this file is compiled with wider instructions than the others. */
#define NAME(x) x##_avx2
#include "codec/entropy/adaptive/bilevel_impl.h"
