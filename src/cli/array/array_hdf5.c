/* Variables of HDF5 files (netCDF-4 files are such files too). */
#include "cli/array/array_input.h"

#include "base/types.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_HDF5
#include "reader/walk_hdf5.h"

/* Our type for a dataset's; *memory is the native type to read it as (a predefined one, not to be
 * closed). */
static int type_of(hid_t t, hid_t *memory)
{
    size_t size = H5Tget_size(t);
    int is_signed = H5Tget_sign(t) != H5T_SGN_NONE;
    if (H5Tget_class(t) == H5T_FLOAT && size == 4)
        return *memory = H5T_NATIVE_FLOAT, SAIKAI_F32;
    if (H5Tget_class(t) == H5T_FLOAT && size == 8)
        return *memory = H5T_NATIVE_DOUBLE, SAIKAI_F64;
    if (H5Tget_class(t) != H5T_INTEGER)
        return 0;
    switch (size) {
    case 1:
        return *memory = is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8,
               is_signed ? SAIKAI_I8 : SAIKAI_U8;
    case 2:
        return *memory = is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16,
               is_signed ? SAIKAI_I16 : SAIKAI_U16;
    case 4:
        return *memory = is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32,
               is_signed ? SAIKAI_I32 : SAIKAI_U32;
    case 8:
        return *memory = is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64,
               is_signed ? SAIKAI_I64 : SAIKAI_U64;
    default:
        return 0;
    }
}

struct listing {
    char *out;
    size_t cap, n;
};

static int list_one(hid_t d, const char *name, void *arg)
{
    struct listing *l = arg;
    (void)d;
    int n = snprintf(l->out + l->n, l->cap - l->n, "%s/%s", l->n ? ", " : "", name);
    if ((size_t)n >= l->cap - l->n) {
        snprintf(l->out + (l->cap > 5 ? l->cap - 5 : 0), 5, " ...");
        return 1;
    }
    l->n += (size_t)n;
    return 0;
}

void cli_hdf5_list(const char *path, char *out, size_t cap)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    struct listing l = {out, cap, 0};
    *out = 0;
    if (f < 0)
        return;
    sk_hdf5_walk(f, H5_ITER_INC, list_one, &l);
    H5Fclose(f);
}

static int not_there(const char *path, const char *name, struct saikai_error *err)
{
    char list[256];
    cli_hdf5_list(path, list, sizeof list);
    return sk_fail(err, SAIKAI_ENOENT, "%s has no dataset '%s'; it has %s", path, name,
                   *list ? list : "none");
}

static int read_dataset(const char *path, const char *name, hid_t d, struct cli_array *out,
                        struct saikai_error *err)
{
    hid_t t = H5Dget_type(d), s = H5Dget_space(d), memory = -1;
    hsize_t dims[H5S_MAX_RANK];
    int rc = 0;
    struct cli_array a = {0};
    a.array.type = type_of(t, &memory);
    a.array.ndims = H5Sget_simple_extent_ndims(s);
    if (!a.array.type) {
        rc = sk_fail(err, SAIKAI_ENOTSUP, "%s:%s is neither integer nor float of 1 to 8 bytes",
                     path, name);
        goto out;
    }
    if (a.array.ndims < 0 || a.array.ndims > SAIKAI_MAX_DIMS) {
        rc = sk_fail(err, SAIKAI_ENOTSUP, "%s:%s has %d dimensions; at most %d are taken", path,
                     name, a.array.ndims, SAIKAI_MAX_DIMS);
        goto out;
    }
    H5Sget_simple_extent_dims(s, dims, NULL);
    for (int i = 0; i < a.array.ndims; i++)
        a.array.dims[i] = (size_t)dims[i];
    if (a.array.ndims == 0) { /* a scalar: one value */
        a.array.ndims = 1;
        a.array.dims[0] = H5Sget_simple_extent_npoints(s) > 0;
    }
    rc = cli_array_alloc(path, &a, err);
    if (rc)
        goto out;
    if (a.size_bytes && H5Dread(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, a.data) < 0) {
        rc = sk_fail(err, SAIKAI_EIO,
                     "cannot read %s:%s (damaged, or its filter is not in HDF5_PLUGIN_PATH)", path,
                     name);
        cli_array_free(&a);
        goto out;
    }
    *out = a;
out:
    H5Tclose(t);
    H5Sclose(s);
    return rc;
}

int cli_hdf5_read(const char *path, const char *name, struct cli_array *out,
                  struct saikai_error *err)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t f = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (f < 0)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: HDF5 cannot open it (damaged or truncated?)",
                       path);
    hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
    int rc = d < 0 ? not_there(path, name, err) : read_dataset(path, name, d, out, err);
    if (d >= 0)
        H5Dclose(d);
    H5Fclose(f);
    return rc;
}

#else

int cli_hdf5_read(const char *path, const char *name, struct cli_array *out,
                  struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "%s: this saikai was built without HDF5: install libhdf5-dev and build again",
                   path);
}

void cli_hdf5_list(const char *path, char *out, size_t cap)
{
    snprintf(out, cap, "variables that only a build with HDF5 can list");
}

#endif
