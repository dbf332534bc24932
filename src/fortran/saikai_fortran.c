/* What the Fortran module (saikai.f90) calls: arrays and names come as descriptors of ISO_Fortran_binding.h (Fortran 2018). A
 * descriptor tells type, extents and strides; of a derived type it tells the size alone, never the components. The layout of a
 * descriptor is the compiler's affair: this file sees installed headers alone, and is compiled for each Fortran compiler anew. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <ISO_Fortran_binding.h>
#include <limits.h>
#include <saikai/directives.h>
#include <saikai/handle.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

/* type(saikai_handle) of the module. */
struct fortran_handle {
    struct saikai *at;
};

API int saikai_init_fortran(const CFI_cdesc_t *comm, const CFI_cdesc_t *config);
API int saikai_open_fortran(const CFI_cdesc_t *comm, struct fortran_handle *handle, const CFI_cdesc_t *config);
API struct fortran_handle saikai_default_fortran(void);
API int saikai_loop_init_fortran(const CFI_cdesc_t *comm, const CFI_cdesc_t *config);
API int saikai_loop_begin_fortran(struct saikai_loop *loop, const CFI_cdesc_t *which, long every);
API int saikai_loop_bound_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d, const CFI_cdesc_t *bound);
API int saikai_memory_open_fortran(FILE *file, int in, char *path, int n);
API int saikai_memory_close_fortran(FILE *file, int fd, int out);
API int saikai_restart_int_fortran(int *iteration);
API int saikai_h_restart_int_fortran(struct fortran_handle h, int *iteration);
API int saikai_protect_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d);
API int saikai_h_protect_fortran(struct fortran_handle h, const CFI_cdesc_t *name, const CFI_cdesc_t *d);
API int saikai_protect_bytes_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d);
API int saikai_h_protect_bytes_fortran(struct fortran_handle h, const CFI_cdesc_t *name, const CFI_cdesc_t *d);
API int saikai_protect_global_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d, const CFI_cdesc_t *global,
                                      const CFI_cdesc_t *offset);
API int saikai_h_protect_global_fortran(struct fortran_handle h, const CFI_cdesc_t *name, const CFI_cdesc_t *d,
                                        const CFI_cdesc_t *global, const CFI_cdesc_t *offset);

/* A variable as Saikai sees it: C order, and the bytes of an element as one more dimension where it has no type. */
struct shape {
    char name[SAIKAI_MAX_NAME + 2];
    int type, ndims;
    size_t dims[SAIKAI_MAX_DIMS + 1], global[SAIKAI_MAX_DIMS + 1], offset[SAIKAI_MAX_DIMS + 1];
    ptrdiff_t strides[SAIKAI_MAX_DIMS + 1];
};

/* format has a %s for the name of a variable. */
static int refuse(struct saikai *h, const char *format, const char *name)
{
    char text[600];
    snprintf(text, sizeof text, format, name);
    return h ? saikai_h_refuse(h, text) : saikai_refuse(text);
}

/* An integer, or the one that type(MPI_Comm) consists of. */
static int take_comm(const CFI_cdesc_t *comm, MPI_Comm *out)
{
    int64_t wide;
    int32_t narrow = 0;
    int is_mpi_comm = (comm->type == CFI_type_struct || comm->type == CFI_type_other) && comm->elem_len == sizeof narrow;
    if (comm->rank || (!is_mpi_comm && comm->type != CFI_type_int32_t && comm->type != CFI_type_int64_t))
        return refuse(NULL, "saikai_init: what it was given is no communicator%s", "");
    if (comm->elem_len == sizeof wide) {
        memcpy(&wide, comm->base_addr, sizeof wide);
        narrow = (int32_t)wide;
    } else {
        memcpy(&narrow, comm->base_addr, sizeof narrow);
    }
    *out = MPI_Comm_f2c((MPI_Fint)narrow);
    return 0;
}

/* As a text of C's, to be freed; NULL: no memory. */
static char *take_config(const CFI_cdesc_t *config)
{
    size_t n = config ? config->elem_len : 0;
    char *text = malloc(n + 1);
    if (text && n)
        memcpy(text, config->base_addr, n);
    if (text)
        text[n] = 0;
    return text;
}

API int saikai_init_fortran(const CFI_cdesc_t *comm, const CFI_cdesc_t *config)
{
    MPI_Comm c = MPI_COMM_NULL;
    int rc = take_comm(comm, &c);
    char *text = rc ? NULL : take_config(config);
    if (!text)
        return rc ? rc : SAIKAI_ENOMEM;
    rc = saikai_init_checked(c, *text ? text : NULL, "Fortran");
    free(text);
    return rc;
}

API int saikai_open_fortran(const CFI_cdesc_t *comm, struct fortran_handle *handle, const CFI_cdesc_t *config)
{
    MPI_Comm c = MPI_COMM_NULL;
    handle->at = NULL;
    int rc = take_comm(comm, &c);
    char *text = rc ? NULL : take_config(config);
    if (!text)
        return rc ? rc : SAIKAI_ENOMEM;
    rc = saikai_open_checked(c, *text ? text : NULL, &handle->at, "Fortran");
    free(text);
    return rc;
}

API struct fortran_handle saikai_default_fortran(void)
{
    return (struct fortran_handle){saikai_default()};
}

/* A unit cannot be a FILE of C's: it is a file in memory, opened by its path. */
API int saikai_memory_open_fortran(FILE *file, int in, char *path, int n)
{
    char buffer[1 << 16];
    int fd = memfd_create("saikai-stream", MFD_CLOEXEC);
    for (size_t k; fd >= 0 && in && (k = fread(buffer, 1, sizeof buffer, file)) > 0;)
        if (write(fd, buffer, k) != (ssize_t)k) {
            close(fd);
            fd = -1;
        }
    if (fd >= 0)
        snprintf(path, (size_t)n, "/proc/self/fd/%d", fd);
    return fd;
}

API int saikai_memory_close_fortran(FILE *file, int fd, int out)
{
    char buffer[1 << 16];
    int failed = out && lseek(fd, 0, SEEK_SET) != 0;
    for (ssize_t k; out && !failed && (k = read(fd, buffer, sizeof buffer)) != 0;)
        failed = k < 0 || fwrite(buffer, 1, (size_t)k, file) != (size_t)k;
    close(fd);
    return failed;
}

static int take_iteration(struct saikai *h, int rc, long at, int *iteration)
{
    if (rc > 0 && at > INT_MAX)
        return refuse(h, "the restored iteration is larger than the integer that saikai_restart was given: give one of 64 bits%s", "");
    *iteration = (int)at;
    return rc;
}

API int saikai_restart_int_fortran(int *iteration)
{
    long at = *iteration;
    int rc = saikai_restart(&at);
    return take_iteration(NULL, rc, at, iteration);
}

API int saikai_h_restart_int_fortran(struct fortran_handle h, int *iteration)
{
    long at = *iteration;
    int rc = saikai_h_restart(h.at, &at);
    return take_iteration(h.at, rc, at, iteration);
}

/* Text of Fortran as one of C, to be freed; NULL: no memory. */
static char *take_text(const CFI_cdesc_t *d)
{
    size_t n = d && d->base_addr ? d->elem_len : 0;
    char *text = malloc(n + 1);
    if (text) {
        if (n)
            memcpy(text, d->base_addr, n);
        while (n && text[n - 1] == ' ')
            n--;
        text[n] = 0;
    }
    return text;
}

/* Without a communicator all ranks take part; MPI_Init is called when the program has not. */
API int saikai_loop_init_fortran(const CFI_cdesc_t *comm, const CFI_cdesc_t *config)
{
    if (comm)
        return saikai_init_fortran(comm, config);
    char *text = take_text(config);
    int rc = text ? saikai_loop_init(MPI_COMM_WORLD, *text ? text : NULL, "Fortran") : SAIKAI_ENOMEM;
    free(text);
    return rc;
}

API int saikai_loop_begin_fortran(struct saikai_loop *loop, const CFI_cdesc_t *which, long every)
{
    char *text = take_text(which);
    int rc = text ? saikai_loop_begin(loop, text, every) : SAIKAI_ENOMEM;
    free(text);
    return rc;
}

/* A bound is for floating-point numbers; other variables of the list stay exact. */
API int saikai_loop_bound_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d, const CFI_cdesc_t *bound)
{
    char *own = take_text(name), *text = take_text(bound);
    int rc = !own || !text ? SAIKAI_ENOMEM : d->type == CFI_type_float || d->type == CFI_type_double ? saikai_set(own, "bound", text) : 0;
    free(own);
    free(text);
    return rc;
}

/* Without the blanks behind it; one that is too long stays so, for the check that says it. */
static void take_name(const CFI_cdesc_t *name, char out[SAIKAI_MAX_NAME + 2])
{
    const char *text = name->base_addr;
    size_t n = text ? name->elem_len : 0;
    while (n && text[n - 1] == ' ')
        n--;
    n = n > SAIKAI_MAX_NAME + 1 ? SAIKAI_MAX_NAME + 1 : n;
    if (n)
        memcpy(out, text, n);
    out[n] = 0;
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
        return SAIKAI_U8; /* logicals, characters, reals of 16 bytes, derived types: their bytes */
    }
}

static int describe(struct saikai *h, const CFI_cdesc_t *name, const CFI_cdesc_t *d, int any_bytes, struct shape *s)
{
    *s = (struct shape){.type = type_of(d), .ndims = d->rank};
    take_name(name, s->name);
    if (!any_bytes && (d->type == CFI_type_struct || d->type == CFI_type_other || d->type == CFI_type_cptr ||
                       d->type == CFI_type_cfunptr))
        return refuse(h, "variable '%s' is of a derived type: Saikai cannot see whether it has allocatable or pointer "
                      "components, whose content would not be saved. Protect its components, also those of a whole "
                      "array, as in saikai_protect('x', p%%x); or, when it has none of these, use "
                      "saikai_protect_bytes",
                      s->name);
    if (d->rank > SAIKAI_MAX_DIMS || (d->rank == SAIKAI_MAX_DIMS && s->type == SAIKAI_U8 && d->elem_len > 1))
        return refuse(h, "variable '%s' has too many dimensions: eight are possible, or seven when its elements are no "
                      "numbers",
                      s->name);
    for (int i = 0; i < d->rank; i++) { /* Fortran's first index varies fastest, Saikai's last */
        const CFI_dim_t *from = &d->dim[d->rank - 1 - i];
        if (from->extent < 0)
            return refuse(h, "variable '%s' is of assumed size: say how much of it there is, as in a(1:n)", s->name);
        s->dims[i] = (size_t)from->extent;
        s->strides[i] = from->sm;
    }
    if (s->type == SAIKAI_U8 && d->elem_len > 1) {
        s->dims[s->ndims] = s->global[s->ndims] = d->elem_len;
        s->strides[s->ndims++] = 1;
    }
    return 0;
}

static int protect(struct saikai *h, const CFI_cdesc_t *name, const CFI_cdesc_t *d, int any_bytes)
{
    struct shape s;
    int rc = describe(h, name, d, any_bytes, &s);
    return rc ? rc : saikai_h_protect_strided(h, s.name, d->base_addr, (enum saikai_type)s.type, s.ndims, s.dims, s.strides, NULL,
                                              NULL);
}

API int saikai_protect_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d)
{
    return protect(saikai_default(), name, d, 0);
}

API int saikai_h_protect_fortran(struct fortran_handle h, const CFI_cdesc_t *name, const CFI_cdesc_t *d)
{
    return protect(h.at, name, d, 0);
}

API int saikai_protect_bytes_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d)
{
    return protect(saikai_default(), name, d, 1);
}

API int saikai_h_protect_bytes_fortran(struct fortran_handle h, const CFI_cdesc_t *name, const CFI_cdesc_t *d)
{
    return protect(h.at, name, d, 1);
}

/* Numbers of integers of any kind, reversed; a negative one is larger than any memory. */
static int take_numbers(const CFI_cdesc_t *d, int wanted, size_t *out)
{
    if (d->rank != 1 || d->dim[0].extent != wanted || (d->elem_len != 4 && d->elem_len != 8) ||
        (d->type != CFI_type_int32_t && d->type != CFI_type_int64_t))
        return -1;
    for (int i = 0; i < wanted; i++) {
        const char *at = (const char *)d->base_addr + d->dim[0].sm * (wanted - 1 - i);
        int64_t wide;
        int32_t narrow;
        if (d->elem_len == sizeof wide) {
            memcpy(&wide, at, sizeof wide);
        } else {
            memcpy(&narrow, at, sizeof narrow);
            wide = narrow;
        }
        out[i] = (size_t)wide;
    }
    return 0;
}

/* Ghost cells are left out by a section with gaps. */
API int saikai_h_protect_global_fortran(struct fortran_handle h, const CFI_cdesc_t *name, const CFI_cdesc_t *d,
                                        const CFI_cdesc_t *global, const CFI_cdesc_t *offset)
{
    struct shape s;
    int rc = describe(h.at, name, d, 0, &s);
    if (rc)
        return rc;
    if (take_numbers(global, d->rank, s.global) || take_numbers(offset, d->rank, s.offset))
        return refuse(h.at,
                      "variable '%s': a global array's dimensions and the offsets are as many integers of 32 or 64 bits as the block "
                      "has dimensions",
                      s.name);
    return saikai_h_protect_strided(h.at, s.name, d->base_addr, (enum saikai_type)s.type, s.ndims, s.dims, s.strides, s.global,
                                    s.offset);
}

API int saikai_protect_global_fortran(const CFI_cdesc_t *name, const CFI_cdesc_t *d, const CFI_cdesc_t *global,
                                      const CFI_cdesc_t *offset)
{
    return saikai_h_protect_global_fortran(saikai_default_fortran(), name, d, global, offset);
}
