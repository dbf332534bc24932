/* The netCDF library, loaded with the first file that wants it: see late/hdf5.h. Include this in place of netcdf.h. */
#ifndef SK_READER_LATE_NETCDF_H
#define SK_READER_LATE_NETCDF_H

#include <netcdf.h>

struct saikai_error;

#ifdef SK_NETCDF_SONAME
#define SK_NETCDF_FUNCTIONS(X) \
    X(nc_close) X(nc_get_var) X(nc_inq_dimlen) X(nc_inq_nvars) X(nc_inq_var) X(nc_inq_varid) X(nc_inq_varname) X(nc_open) \
    X(nc_strerror)

#define SK_NETCDF_FUNCTION(name) __typeof__(&name) name;
/* NULL until sk_netcdf_load has returned 0. */
extern struct sk_netcdf_late {
    SK_NETCDF_FUNCTIONS(SK_NETCDF_FUNCTION)
} sk_netcdf_late;

/* Once per process; before any other call of netCDF. SAIKAI_ENOTSUP: it is not there, or another one than Saikai was built with. */
int sk_netcdf_load(struct saikai_error *err);

#ifndef SK_READER_LATE_OWN /* not where it is loaded */
#define nc_close sk_netcdf_late.nc_close
#define nc_get_var sk_netcdf_late.nc_get_var
#define nc_inq_dimlen sk_netcdf_late.nc_inq_dimlen
#define nc_inq_nvars sk_netcdf_late.nc_inq_nvars
#define nc_inq_var sk_netcdf_late.nc_inq_var
#define nc_inq_varid sk_netcdf_late.nc_inq_varid
#define nc_inq_varname sk_netcdf_late.nc_inq_varname
#define nc_open sk_netcdf_late.nc_open
#define nc_strerror sk_netcdf_late.nc_strerror
#endif
#else
static inline int sk_netcdf_load(struct saikai_error *err)
{
    (void)err;
    return 0;
}
#endif
#endif
