/* Writers of saikai export: a set of containers becomes one file of another format. */
#ifndef SK_CLI_EXPORT_H
#define SK_CLI_EXPORT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct cli_progress;

/* One HDF5 file out of containers, all of one generation: a group for each rank with a dataset for
 * each variable. The file gets its name when it is complete. Data goes from the containers into the
 * mapped file, so memory does not grow with the size of a variable. progress counts raw bytes.
 * SAIKAI_ENOTSUP: built without HDF5. */
int cli_export_hdf5(const char *out, const char *const *paths, size_t count, const char *source,
                    struct cli_progress *progress, uint64_t *raw_bytes, struct saikai_error *err);

#endif
