/* Loads the netCDF library. */
#define SK_READER_LATE_OWN
#include "reader/late/netcdf.h"

#include "base/host/load.h"

struct sk_netcdf_late sk_netcdf_late;

#define SYMBOL(name) {#name, offsetof(struct sk_netcdf_late, name)},
static const struct sk_late_symbol symbols[] = {SK_NETCDF_FUNCTIONS(SYMBOL)};
static struct sk_late_library library = {"the netCDF library", SK_NETCDF_SONAME, "libnetcdf", symbols, sizeof symbols / sizeof *symbols,
                                         &sk_netcdf_late, NULL};

int sk_netcdf_load(struct saikai_error *err)
{
    return sk_late_load(&library, err);
}
