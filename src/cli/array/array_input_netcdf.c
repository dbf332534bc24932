/* Variables of netCDF files in the classic formats. */
#include "cli/array/array_input.h"

#include "base/types.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_NETCDF
#include "reader/late/netcdf.h"

static int type_of(nc_type t)
{
    static const struct {
        nc_type nc;
        int type;
    } map[] = {{NC_FLOAT, SAIKAI_F32},  {NC_DOUBLE, SAIKAI_F64}, {NC_BYTE, SAIKAI_I8},
               {NC_UBYTE, SAIKAI_U8},   {NC_CHAR, SAIKAI_U8},    {NC_SHORT, SAIKAI_I16},
               {NC_USHORT, SAIKAI_U16}, {NC_INT, SAIKAI_I32},    {NC_UINT, SAIKAI_U32},
               {NC_INT64, SAIKAI_I64},  {NC_UINT64, SAIKAI_U64}};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (map[i].nc == t)
            return map[i].type;
    return 0;
}

void cli_netcdf_list(const char *path, char *out, size_t cap)
{
    int id, vars = 0;
    size_t n = 0;
    *out = 0;
    if (sk_netcdf_load(NULL) || nc_open(path, NC_NOWRITE, &id))
        return;
    nc_inq_nvars(id, &vars);
    for (int v = 0; v < vars; v++) {
        char name[NC_MAX_NAME + 1] = "";
        nc_inq_varname(id, v, name);
        int k = snprintf(out + n, cap - n, "%s/%s", v ? ", " : "", name);
        if ((size_t)k >= cap - n) {
            snprintf(out + (cap > 5 ? cap - 5 : 0), 5, " ...");
            break;
        }
        n += (size_t)k;
    }
    nc_close(id);
}

static int read_variable(const char *path, const char *name, int id, int v, struct cli_array *out,
                         struct saikai_error *err)
{
    nc_type t;
    int dim_ids[NC_MAX_VAR_DIMS], nd = 0;
    struct cli_array a = {0};
    int e = nc_inq_var(id, v, NULL, &t, &nd, dim_ids, NULL);
    if (e)
        return sk_fail(err, SAIKAI_EIO, "%s:%s: %s", path, name, nc_strerror(e));
    a.array.type = type_of(t);
    if (!a.array.type)
        return sk_fail(err, SAIKAI_ENOTSUP, "%s:%s is not a number", path, name);
    if (nd > SAIKAI_MAX_DIMS)
        return sk_fail(err, SAIKAI_ENOTSUP, "%s:%s has %d dimensions; at most %d are taken", path,
                       name, nd, SAIKAI_MAX_DIMS);
    a.array.ndims = nd;
    for (int i = 0; i < nd && !e; i++)
        e = nc_inq_dimlen(id, dim_ids[i], &a.array.dims[i]);
    if (nd == 0) {
        a.array.ndims = 1;
        a.array.dims[0] = 1;
    }
    int rc = cli_array_alloc(path, &a, err);
    if (rc)
        return rc;
    if (!e)
        e = nc_get_var(id, v, a.data);
    if (e) {
        cli_array_free(&a);
        return sk_fail(err, SAIKAI_EIO, "cannot read %s:%s: %s", path, name, nc_strerror(e));
    }
    *out = a;
    return 0;
}

int cli_netcdf_read(const char *path, const char *name, struct cli_array *out,
                    struct saikai_error *err)
{
    int id, v, e, rc = sk_netcdf_load(err);
    if (rc)
        return rc;
    if ((e = nc_open(path, NC_NOWRITE, &id)))
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: netCDF cannot open it: %s", path, nc_strerror(e));
    if (nc_inq_varid(id, name + 1, &v)) {
        char list[256];
        cli_netcdf_list(path, list, sizeof list);
        rc = sk_fail(err, SAIKAI_ENOENT, "%s has no variable '%s'; it has %s", path, name,
                     *list ? list : "none");
    } else {
        rc = read_variable(path, name, id, v, out, err);
    }
    nc_close(id);
    return rc;
}

#else

int cli_netcdf_read(const char *path, const char *name, struct cli_array *out,
                    struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "%s: this saikai was built without netCDF: install libnetcdf-dev and build "
                   "again",
                   path);
}

void cli_netcdf_list(const char *path, char *out, size_t cap)
{
    snprintf(out, cap, "variables that only a build with netCDF can list");
}

#endif
