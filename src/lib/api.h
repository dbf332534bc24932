/* What the Fortran side (fortran.c) needs of the public functions' file beside what saikai.h declares. */
#ifndef SK_LIB_API_H
#define SK_LIB_API_H

#include <stddef.h>

/* As saikai_protect, or, with the dimensions of a global array, saikai_protect_global; neighbours in memory lie
 * strides_bytes apart. */
int saikai_api_protect_strided(const char *name, void *data, int type, int ndims, const size_t *dims,
                               const ptrdiff_t *strides_bytes, const size_t *global_dims, const size_t *offset);
/* Fail with SAIKAI_EINVAL and this sentence, whose %s is the name of a variable. */
int saikai_api_failed(const char *format, const char *name);

#endif
