/* lift_impl.h for double, on any processor. */
#define T       double
#define NAME(x) x##_f64
#include "codec/wavelet/kernel/lift_impl.h"
