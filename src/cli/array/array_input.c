/* Recognises what a file is and reads an array of it: raw bytes by the caller's hints, a variable
 * of HDF5 or netCDF, or a compressed frame. */
#include "cli/array/array_input.h"

#include "base/file/io.h"
#include "base/text/output.h"
#include "base/types.h"
#include "cli/cli.h"
#include "codec/stream.h"
#include "codec/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum magic { RAW, HDF5, NETCDF, FRAME };

static void dims_text(char *out, size_t cap, const struct sk_array *a)
{
    size_t n = 0;
    snprintf(out, cap, "a single value");
    for (int i = 0; i < a->ndims && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "%s%zu", i ? "x" : "", a->dims[i]);
}

/* The file and the variable of "FILE:/name": a file that has such a name as a whole comes first. */
static int split(const char *spec, char *path, size_t cap, const char **name,
                 struct saikai_error *err)
{
    *name = NULL;
    if (access(spec, F_OK)) {
        const char *colon = strstr(spec, ":/");
        for (const char *p = colon; p; p = strstr(p + 1, ":/"))
            if (sk_io_path(path, cap, NULL, "%.*s", (int)(p - spec), spec) == 0 &&
                !access(path, F_OK))
                colon = p;
        if (colon) {
            *name = colon + 1;
            return sk_io_path(path, cap, err, "%.*s", (int)(colon - spec), spec);
        }
    }
    return sk_io_path(path, cap, err, "%s", spec);
}

static enum magic magic_of(const uint8_t *p, size_t n)
{
    if (n >= 8 && !memcmp(p, "\211HDF\r\n\032\n", 8))
        return HDF5;
    if (n >= 4 && !memcmp(p, "CDF", 3) && (p[3] == 1 || p[3] == 2 || p[3] == 5))
        return NETCDF;
    if (n >= 4 && (!memcmp(p, "SKS1", 4) || !memcmp(p, "SKS2", 4) || !memcmp(p, "SKS3", 4)))
        return FRAME;
    return RAW;
}

static int hint_dims(const struct cli_array_hint *hint, struct sk_array *a,
                     struct saikai_error *err)
{
    a->ndims = sk_dims_parse(hint->dims, a->dims);
    if (a->ndims < 0)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "--dims '%s': write sizes, slowest first, at most %d, such as 84x34x34",
                       hint->dims, SAIKAI_MAX_DIMS);
    return 0;
}

/* A raw file, mapped: its type and dimensions are what the caller says. */
static int raw_array(const char *path, const struct cli_array_hint *hint, struct cli_array *out,
                     struct saikai_error *err)
{
    struct sk_array a = {.type = hint->type};
    char text[128];
    if (!hint->type)
        return sk_fail(err, SAIKAI_ECONFIG,
                       "%s holds raw values: say what they are with --type (f64, f32, i32, ...)",
                       path);
    size_t ts = sk_type_size(a.type);
    if (hint->dims) {
        int rc = hint_dims(hint, &a, err);
        if (rc)
            return rc;
        size_t need = sk_array_size_bytes(&a);
        dims_text(text, sizeof text, &a);
        if (need != out->size_bytes)
            return sk_fail(err, SAIKAI_EINVAL,
                           "%s has %zu bytes (%zu values of %s), but --dims %s are %zu bytes: "
                           "correct --dims or --type",
                           path, out->size_bytes, out->size_bytes / ts, sk_type_name(a.type), text,
                           need);
    } else {
        if (out->size_bytes % ts)
            return sk_fail(err, SAIKAI_EINVAL, "%s has %zu bytes, not a multiple of %s's %zu", path,
                           out->size_bytes, sk_type_name(a.type), ts);
        a.ndims = 1;
        a.dims[0] = out->size_bytes / ts;
    }
    out->array = a;
    return 0;
}

static int frame_array(const char *path, struct cli_array *in, struct saikai_error *err)
{
    struct sk_stream_info info;
    struct cli_array out = {0};
    int rc = sk_stream_info_buf(in->data, in->size_bytes, &info, err);
    if (rc) {
        sk_error_prefix(err, "%s", path);
        return rc;
    }
    out.array = info.array;
    rc = cli_array_alloc(path, &out, err);
    if (!rc)
        rc = sk_stream_decode_buf(in->data, in->size_bytes, &out.array, out.data, 0, path, err);
    if (rc) {
        cli_array_free(&out);
        return rc;
    }
    out.file_bytes = in->size_bytes;
    cli_array_free(in);
    *in = out;
    return 0;
}

static int check_hint(const char *spec, const struct cli_array_hint *hint,
                      const struct cli_array *in, struct saikai_error *err)
{
    struct sk_array told = {0};
    char is[128], said[128];
    if (hint->type && hint->type != in->array.type)
        return sk_fail(err, SAIKAI_EINVAL, "%s holds %s, not %s: leave --type out", spec,
                       sk_type_name(in->array.type), sk_type_name(hint->type));
    if (!hint->dims)
        return 0;
    int rc = hint_dims(hint, &told, err);
    if (rc)
        return rc;
    if (told.ndims != in->array.ndims ||
        memcmp(told.dims, in->array.dims, sizeof *told.dims * (size_t)told.ndims)) {
        dims_text(is, sizeof is, &in->array);
        dims_text(said, sizeof said, &told);
        return sk_fail(err, SAIKAI_EINVAL, "%s is %s, not %s: leave --dims out", spec, is, said);
    }
    return 0;
}

/* The whole file into out->data, mapped where that is possible. */
static int map_file(const char *path, struct cli_array *out, struct saikai_error *err)
{
    off_t size = 0;
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0)
        return fd;
    int rc = sk_io_size(fd, path, &size, err);
    if (!rc)
        rc = sk_io_map(fd, path, (size_t)size, 0, &out->data, err);
    if (!rc) {
        out->mapped = out->size_bytes = out->file_bytes = (size_t)size;
        if (!size && !(out->data = malloc(1)))
            rc = sk_fail(err, SAIKAI_ENOMEM, "%s: no memory", path);
    }
    close(fd);
    return rc;
}

/* A file of variables that was named without one. */
static int which_variable(const char *path, enum magic m, struct saikai_error *err)
{
    char list[256] = "";
    (m == HDF5 ? cli_hdf5_list : cli_netcdf_list)(path, list, sizeof list);
    return sk_fail(err, SAIKAI_EINVAL,
                   "%s is %s file: name a variable of it as %s:/NAME; it has %s", path,
                   m == HDF5 ? "an HDF5" : "a netCDF", path, *list ? list : "none");
}

int cli_array_read(const char *spec, const struct cli_array_hint *hint, struct cli_array *out,
                   struct saikai_error *err)
{
    char path[4096];
    const char *name = NULL;
    struct cli_array in = {0};
    int rc = sk_output_is_dash(spec) ? sk_output_spool_stdin(path, err) : split(spec, path, sizeof path, &name, err);
    if (!rc)
        rc = map_file(path, &in, err);
    if (rc)
        return rc;
    enum magic m = magic_of(in.data, in.size_bytes);
    if (name) {
        cli_array_free(&in);
        if (m == HDF5)
            rc = cli_hdf5_read(path, name, &in, err);
        else if (m == NETCDF)
            rc = cli_netcdf_read(path, name, &in, err);
        else
            rc = sk_fail(err, SAIKAI_EINVAL,
                         "%s is neither an HDF5 nor a netCDF file: it has no variable '%s'", path,
                         name);
    } else if ((m == HDF5 || m == NETCDF) && !hint->type) {
        rc = which_variable(path, m, err);
    } else if (m == FRAME) {
        rc = frame_array(path, &in, err);
    } else {
        rc = raw_array(path, hint, &in, err);
    }
    if (!rc && (name || m == FRAME))
        rc = check_hint(spec, hint, &in, err);
    if (rc) {
        cli_array_free(&in);
        return rc;
    }
    *out = in;
    return 0;
}

int cli_array_hint_type(const struct cli *cli, const char *type, struct cli_array_hint *hint)
{
    if (type && !(hint->type = sk_type_parse(type)))
        return cli_usage(cli, "--type '%s' is none of f64, f32, i8 to i64, u8 to u64, c64, c128",
                         type);
    return -1;
}
