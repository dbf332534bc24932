#define T       double
#define NAME(x) x##_f64
#include "codec/wavelet/lift_impl.h"
