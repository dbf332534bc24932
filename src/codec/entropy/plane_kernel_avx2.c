#define NAME(x) x##_avx2
#include "codec/entropy/plane_kernel_impl.h"
