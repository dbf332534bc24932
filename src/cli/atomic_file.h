/* A file that appears under its name only when it is complete. What is there and no file, such as a device or a FIFO, and
 * standard output ("-") get it as a stream when it is complete (base/text/output.h). */
#ifndef SK_CLI_ATOMIC_FILE_H
#define SK_CLI_ATOMIC_FILE_H

#include "base/text/output.h"

#include <stddef.h>

struct cli_atomic_file {
    int begun;
    struct sk_output out;
    char temporary[4096];
    int fd;
};

/* Create the temporary file: beside path, or of a stream where temporary files are. */
int cli_atomic_begin(struct cli_atomic_file *f, const char *path, struct saikai_error *err);
/* fsync, rename to path, fsync of the directory; or send it. On failure the temporary file is removed. */
int cli_atomic_commit(struct cli_atomic_file *f, struct saikai_error *err);
/* Remove the temporary file; nothing when it was committed or never begun (zeroed). */
void cli_atomic_abort(struct cli_atomic_file *f);

#endif
