/* Element types: size and name of each. */
#ifndef SK_BASE_TYPES_H
#define SK_BASE_TYPES_H

#include <saikai/codes.h>
#include <stddef.h>

/* Bytes of one element, 0 for a number that is no type. */
size_t sk_type_size(int type);
/* "f64" …, "?" for a number that is no type. Static string. */
const char *sk_type_name(int type);
/* The type of a name such as "f64" (also "double", "float", "int32", "byte"); 0: none. */
int sk_type_parse(const char *name);
/* 1 for the types a lossy codec may touch (real and complex floating point). */
int sk_type_is_float(int type);

/* Number of elements of ndims dimensions into *count; -1 when it overflows size_t. ndims 0 is a scalar. */
int sk_dims_count(int ndims, const size_t dims[], size_t *count);
/* Parse "84x34x34" into dims; returns the number of dimensions, or -1. */
int sk_dims_parse(const char *text, size_t dims[SAIKAI_MAX_DIMS]);

#endif
