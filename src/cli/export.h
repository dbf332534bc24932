/* Writers of saikai export: a set of containers becomes one file of another format. */
#ifndef SK_CLI_EXPORT_H
#define SK_CLI_EXPORT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct cli_progress;

struct sk_container;

/* Open one of a generation's files, with what it builds on. */
int cli_export_open(const char *path, struct sk_container **out, struct saikai_error *err);

/* What is wanted of a generation. */
enum cli_export_scope {
    CLI_EXPORT_RANKS,  /* a group for each rank with a dataset for each variable */
    CLI_EXPORT_GLOBAL, /* a dataset for each global array, and for each variable that is the same on
                          all ranks */
    CLI_EXPORT_GLOBAL_PARTIAL, /* the same, with zeros where a part is missing */
};

/* One HDF5 file out of containers, all of one generation. The file gets its name when it is
 * complete. Data goes from the containers into the mapped file, so memory does not grow with the
 * size of a variable. progress counts raw bytes. SAIKAI_ENOTSUP: built without HDF5. */
int cli_export_hdf5(const char *out, const char *const *paths, size_t count, const char *source,
                    enum cli_export_scope scope, struct cli_progress *progress, uint64_t *raw_bytes,
                    struct saikai_error *err);

#endif
