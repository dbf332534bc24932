/* The functions without a handle: those of the default one. Compiled once for each MPI. */
#include "lib/api/api.h"

#include <mpi.h>
#include <saikai/handle.h>

API int saikai_checkpoint(long iteration)
{
    struct saikai *h = sk_default;
    if (__builtin_expect(h != NULL, 1) && sk_api_passes(h, iteration))
        return 0;
    return saikai_h_checkpoint_at(h, 0, iteration);
}

API int saikai_protect(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[])
{
    return saikai_h_protect(sk_default, name, data, type, ndims, dims);
}

API int saikai_protect_array(const char *name, void **data, size_t *count, size_t width, enum saikai_type type)
{
    return saikai_h_protect_array(sk_default, name, data, count, width, type);
}

API int saikai_protect_resizable(const char *name, int (*look)(void *arg, void **data, size_t *count),
                                 int (*resize)(void *arg, size_t count, void **data), void *arg, size_t width,
                                 enum saikai_type type)
{
    return saikai_h_protect_resizable(sk_default, name, look, resize, arg, width, type);
}

API int saikai_protect_stream(const char *name, int (*write)(FILE *f, void *arg), int (*read)(FILE *f, void *arg),
                              void *arg)
{
    return saikai_h_protect_stream(sk_default, name, write, read, arg);
}

API int saikai_protect_global(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                              const size_t global_dims[], const size_t offset[])
{
    return saikai_h_protect_global(sk_default, name, data, type, ndims, dims, global_dims, offset);
}

API int saikai_protect_global_halo(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                                   const size_t global_dims[], const size_t offset[], const size_t low[],
                                   const size_t high[])
{
    return saikai_h_protect_global_halo(sk_default, name, data, type, ndims, dims, global_dims, offset, low, high);
}

API int saikai_protect_strided(const char *name, void *data, enum saikai_type type, int ndims, const size_t dims[],
                               const ptrdiff_t strides_bytes[], const size_t global_dims[], const size_t offset[])
{
    return saikai_h_protect_strided(sk_default, name, data, type, ndims, dims, strides_bytes, global_dims, offset);
}

API int saikai_replicated(const char *name)
{
    return saikai_h_replicated(sk_default, name);
}

API int saikai_bound(const char *name, enum saikai_bound_kind kind, double value)
{
    return saikai_h_bound(sk_default, name, kind, value);
}

API int saikai_set(const char *name, const char *attribute, const char *value)
{
    return saikai_h_set(sk_default, name, attribute, value);
}

API int saikai_set_sizes(const char *name, const char *attribute, size_t count, const size_t sizes[])
{
    return saikai_h_set_sizes(sk_default, name, attribute, count, sizes);
}

API int saikai_unprotect(const char *name)
{
    return saikai_h_unprotect(sk_default, name);
}

API int saikai_refuse(const char *sentence)
{
    return saikai_h_refuse(sk_default, sentence);
}

API int saikai_restart(long *iteration)
{
    return saikai_h_restart(sk_default, iteration);
}

API int saikai_restart_from(const char *generation, long *iteration)
{
    return saikai_h_restart_from(sk_default, generation, iteration);
}

API int saikai_restored_place(void)
{
    return saikai_h_restored_place(sk_default);
}

API int saikai_checkpoint_at(int place, long iteration)
{
    return saikai_h_checkpoint_at(sk_default, place, iteration);
}

API int saikai_checkpoint_now(long iteration)
{
    return saikai_h_checkpoint_now(sk_default, iteration);
}

API int saikai_should_stop(void)
{
    return saikai_h_should_stop(sk_default);
}

API int saikai_checkpoint_begin(long iteration)
{
    return saikai_h_checkpoint_begin(sk_default, iteration);
}

API int saikai_file_path(const char *name, char *path, size_t size_bytes)
{
    return saikai_h_file_path(sk_default, name, path, size_bytes);
}

API int saikai_checkpoint_end(int ok)
{
    return saikai_h_checkpoint_end(sk_default, ok);
}

API int saikai_restored_file(const char *name, char *path, size_t size_bytes)
{
    return saikai_h_restored_file(sk_default, name, path, size_bytes);
}

API int saikai_get_status(struct saikai_status *out, size_t size_bytes)
{
    return saikai_h_get_status(sk_default, out, size_bytes);
}

API int saikai_wait(void)
{
    return saikai_h_wait(sk_default);
}
