/* A file that appears under its name only when it is complete. */
#ifndef SK_CLI_ATOMIC_FILE_H
#define SK_CLI_ATOMIC_FILE_H

#include "base/error.h"

#include <stddef.h>

struct cli_atomic_file {
    const char *path; /* not copied */
    char temporary[4096];
    int fd;
};

/* Create the temporary file beside path. */
int cli_atomic_begin(struct cli_atomic_file *f, const char *path, struct saikai_error *err);
/* fsync, rename to path, fsync of the directory. On failure the temporary file is removed. */
int cli_atomic_commit(struct cli_atomic_file *f, struct saikai_error *err);
/* Remove the temporary file; nothing when it was committed or never begun (zeroed). */
void cli_atomic_abort(struct cli_atomic_file *f);

#endif
