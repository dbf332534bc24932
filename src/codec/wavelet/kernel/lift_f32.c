/* lift_impl.h for float, on any processor. */
#define T       float
#define NAME(x) x##_f32
#include "codec/wavelet/kernel/lift_impl.h"
