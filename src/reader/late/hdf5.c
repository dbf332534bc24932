/* Loads the HDF5 library. */
#define SK_READER_LATE_OWN
#include "reader/late/hdf5.h"

#include "base/host/load.h"

struct sk_hdf5_late sk_hdf5_late;

#define SYMBOL(name) {#name, offsetof(struct sk_hdf5_late, name)},
static const struct sk_late_symbol symbols[] = {SK_HDF5_FUNCTIONS(SYMBOL) SK_HDF5_IDS(SYMBOL)};
static struct sk_late_library library = {"the HDF5 library", SK_HDF5_SONAME, "libhdf5", symbols, sizeof symbols / sizeof *symbols, &sk_hdf5_late, NULL};

int sk_hdf5_load(struct saikai_error *err)
{
    return sk_late_load(&library, err);
}
