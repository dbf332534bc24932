/* Looks HDF5's functions up in the process: among the global symbols, else in the HDF5 library that
 * is loaded. */
#include "host.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct host table;
static int complete;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int is_hdf5(struct dl_phdr_info *info, size_t size, void *arg)
{
    const char *base = strrchr(info->dlpi_name, '/');
    base = base ? base + 1 : info->dlpi_name;
    if (strncmp(base, "libhdf5", 7) || strstr(base, "_hl") || strstr(base, "_cpp") ||
        strstr(base, "_fortran"))
        return 0;
    void *lib = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!lib || !dlsym(lib, "H5Tget_class"))
        return 0;
    *(void **)arg = lib;
    return 1;
}

static int find(void *lib, const char *name, void *to)
{
    void *p = dlsym(lib, name);
    memcpy(to, &p, sizeof p);
    return p == NULL;
}

/* Asked once, when the plug-in is loaded: this call empties HDF5's error stack, so that it must not
 * come between an error's push and its reader. */
static int drops_what_filters_push(void *lib)
{
    herr_t (*version)(unsigned *, unsigned *, unsigned *);
    unsigned major = 0, minor = 0, release = 0;
    return find(lib, "H5get_libversion", &version) ||
           version(&major, &minor, &release) < 0 ||
           major * 10000 + minor * 100 + release >= 11404;
}

static void fill(void)
{
    void *lib = RTLD_DEFAULT;
    int missing = 0;
    if (!dlsym(lib, "H5Tget_class"))
        dl_iterate_phdr(is_hdf5, &lib);
    missing += find(lib, "H5Tget_class", &table.H5Tget_class);
    missing += find(lib, "H5Tget_size", &table.H5Tget_size);
    missing += find(lib, "H5Tget_order", &table.H5Tget_order);
    missing += find(lib, "H5Tget_sign", &table.H5Tget_sign);
    missing += find(lib, "H5Pget_chunk", &table.H5Pget_chunk);
    missing += find(lib, "H5Pget_filter_by_id2", &table.H5Pget_filter_by_id2);
    missing += find(lib, "H5Pget_nfilters", &table.H5Pget_nfilters);
    missing += find(lib, "H5Pget_filter2", &table.H5Pget_filter2);
    missing += find(lib, "H5Pmodify_filter", &table.H5Pmodify_filter);
    missing += find(lib, "H5Epush2", &table.H5Epush2);
    missing += find(lib, "H5E_ERR_CLS_g", &table.cls);
    missing += find(lib, "H5E_PLINE_g", &table.major);
    missing += find(lib, "H5E_CANTFILTER_g", &table.minor);
    table.drops_what_filters_push = drops_what_filters_push(lib);
    complete = !missing;
}

const struct host *host_hdf5(void)
{
    pthread_once(&once, fill);
    return complete ? &table : NULL;
}
