/* What `saikai archive create` leaves out because it cannot be read. */
#ifndef SK_CLI_ARCHIVE_LEFT_H
#define SK_CLI_ARCHIVE_LEFT_H

#include "base/error.h"

#include <stddef.h>

struct cli_archive_left {
    const char *command;
    int waits; /* 1: what changes, or is gone, is not left out: it is looked at again later */
    size_t count;
};

/* For struct sk_archive_options and struct archive_inputs; arg: a struct cli_archive_left. Says on standard error what is left out, and why. */
int cli_archive_leave_out(void *arg, const char *path, const struct saikai_error *why);
/* At the end: how many there were. Returns the exit code. */
int cli_archive_left_say(const struct cli_archive_left *left, const char *out);

#endif
