/* Error codes and element types, shared by applications, plug-ins and the library itself. */
#ifndef SAIKAI_CODES_H
#define SAIKAI_CODES_H

/* Every function of Saikai returns 0 (or a count) or one of these negative numbers. */
enum saikai_code {
    SAIKAI_OK = 0,
#define SAIKAI_ERROR(number, name, text) SAIKAI_##name = -(number),
#include <saikai/errors.def>
#undef SAIKAI_ERROR
};

/* Element types of a protected variable. The numbers are part of the file format: never reused. */
enum saikai_type {
    SAIKAI_U8 = 1, /* bytes without a meaning of their own */
    SAIKAI_I8 = 2,
    SAIKAI_I16 = 3,
    SAIKAI_U16 = 4,
    SAIKAI_I32 = 5,
    SAIKAI_U32 = 6,
    SAIKAI_I64 = 7,
    SAIKAI_U64 = 8,
    SAIKAI_F32 = 9,
    SAIKAI_F64 = 10,
    SAIKAI_C64 = 11,  /* complex of two F32 */
    SAIKAI_C128 = 12, /* complex of two F64 */
};

/* How far a restored value may be from the saved one. */
enum saikai_bound_kind {
    SAIKAI_EXACT = 0, /* not at all: every bit comes back */
    SAIKAI_ABS = 1,   /* |x - x'| <= value */
    SAIKAI_REL = 2,   /* |x - x'| <= value * (largest - smallest value of the rank's array) */
    SAIKAI_PSNR = 3,  /* peak signal-to-noise ratio of at least value decibels */
};

/* Most dimensions a variable may have; dims[0] varies slowest (C order). */
#define SAIKAI_MAX_DIMS 8
/* Longest name of a variable, without the terminating zero. */
#define SAIKAI_MAX_NAME 255

#endif
