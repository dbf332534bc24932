/* What the Fortran module (saikai.f90) calls: arrays come as descriptors of ISO_Fortran_binding.h (Fortran 2018). */
#include <ISO_Fortran_binding.h>
#include <saikai/saikai.h>
#include <string.h>

#define API __attribute__((visibility("default")))

API int saikai_init_fortran(int comm, const char *config);
API int saikai_protect_fortran(const char *name, const CFI_cdesc_t *d);
API int saikai_protect_global_fortran(const char *name, const CFI_cdesc_t *d, const int64_t *global, const int64_t *offset,
                                      int given);
int saikai_protect_strided(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                           const size_t global_dims[], const size_t offset[], const ptrdiff_t strides_bytes[]);

API int saikai_init_fortran(int comm, const char *config)
{
    return saikai_init_checked(MPI_Comm_f2c((MPI_Fint)comm), *config ? config : NULL, "Fortran");
}

static int type_of(const CFI_cdesc_t *d)
{
    switch (d->type) {
    case CFI_type_float:
        return SAIKAI_F32;
    case CFI_type_double:
        return SAIKAI_F64;
    case CFI_type_float_Complex:
        return SAIKAI_C64;
    case CFI_type_double_Complex:
        return SAIKAI_C128;
    case CFI_type_int8_t:
        return SAIKAI_I8;
    case CFI_type_int16_t:
        return SAIKAI_I16;
    case CFI_type_int32_t:
        return SAIKAI_I32;
    case CFI_type_int64_t:
        return SAIKAI_I64;
    default:
        return SAIKAI_U8; /* logicals, characters, derived types: their bytes */
    }
}

API int saikai_protect_fortran(const char *name, const CFI_cdesc_t *d)
{
    size_t dims[SAIKAI_MAX_DIMS] = {0};
    int type = type_of(d), n = d->rank;
    if (n >= SAIKAI_MAX_DIMS)
        return saikai_protect(name, d->base_addr, (enum saikai_type)type, n + 1, dims); /* says what is wrong */
    if (n && !CFI_is_contiguous(d))
        return saikai_protect(name, NULL, (enum saikai_type)type, 1, (size_t[]){1}); /* a section with gaps */
    for (int i = 0; i < n; i++) /* Fortran's first index varies fastest, Saikai's last */
        dims[i] = (size_t)d->dim[n - 1 - i].extent;
    if (type == SAIKAI_U8 && d->elem_len > 1)
        dims[n++] = d->elem_len;
    return saikai_protect(name, d->base_addr, (enum saikai_type)type, n, dims);
}

/* A section with gaps is as good as an array here: ghost cells are left out of it. given: how many numbers global and
 * offset have. */
API int saikai_protect_global_fortran(const char *name, const CFI_cdesc_t *d, const int64_t *global, const int64_t *offset,
                                      int given)
{
    size_t dims[SAIKAI_MAX_DIMS + 1] = {0}, whole[SAIKAI_MAX_DIMS + 1] = {0}, at[SAIKAI_MAX_DIMS + 1] = {0};
    ptrdiff_t strides[SAIKAI_MAX_DIMS + 1] = {0};
    int type = type_of(d), n = d->rank;
    if (n >= SAIKAI_MAX_DIMS || given != n)
        return saikai_protect_strided(name, d->base_addr, (enum saikai_type)type, 0, dims, whole, at, strides);
    for (int i = 0; i < n; i++) { /* Fortran's first index varies fastest, Saikai's last */
        int from = n - 1 - i;
        dims[i] = (size_t)d->dim[from].extent;
        strides[i] = d->dim[from].sm;
        whole[i] = (size_t)global[from]; /* a negative one is larger than any memory */
        at[i] = (size_t)offset[from];
    }
    if (type == SAIKAI_U8 && d->elem_len > 1) {
        dims[n] = whole[n] = d->elem_len;
        strides[n++] = 1;
    }
    return saikai_protect_strided(name, d->base_addr, (enum saikai_type)type, n, dims, whole, at, strides);
}
