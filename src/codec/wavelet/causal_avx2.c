#define NAME(x) x##_avx2
#include "codec/wavelet/causal_impl.h"
