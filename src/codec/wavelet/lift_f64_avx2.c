#define T       double
#define NAME(x) x##_f64_avx2
#include "codec/wavelet/lift_impl.h"
