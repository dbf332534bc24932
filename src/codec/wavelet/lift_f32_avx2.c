#define T       float
#define NAME(x) x##_f32_avx2
#include "codec/wavelet/lift_impl.h"
