/* Writers of saikai export: a generation, or a part of one, becomes one file of another format. */
#ifndef SK_CLI_EXPORT_H
#define SK_CLI_EXPORT_H

#include "archive/read/content.h"
#include "cli/cli.h"

struct cli_progress;

enum cli_export_scope {
    CLI_EXPORT_RANKS,  /* a group for each rank with a dataset for each variable */
    CLI_EXPORT_GLOBAL, /* a dataset for each global array, and for each variable that is the same on
                          all ranks */
    CLI_EXPORT_GLOBAL_PARTIAL, /* the same, with zeros where a part is missing */
};

/* What is wanted of a generation. */
struct cli_export {
    struct sk_content *from;
    const size_t *item; /* which of its containers, by their index */
    size_t count;
    struct cli_list variables; /* patterns of names; none: all */
    enum cli_export_scope scope;
    const char *source; /* for people */
};

/* Open one of the containers that are wanted, with what it builds on. */
int cli_export_open(const struct cli_export *x, size_t i, struct sk_container **out,
                    struct saikai_error *err);
/* 1: a variable of this name is wanted. */
int cli_export_wants(const struct cli_export *x, const char *name);

/* One HDF5 file. It gets its name when it is complete. Data goes from the containers into the
 * mapped file, so memory does not grow with the size of a variable. progress counts raw bytes.
 * SAIKAI_ENOENT: no variable is of the names that are wanted. SAIKAI_ENOTSUP: built without HDF5.
 */
int cli_export_hdf5(const char *out, const struct cli_export *x, struct cli_progress *progress,
                    uint64_t *raw_bytes, struct saikai_error *err);

#endif
