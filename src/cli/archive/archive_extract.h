/* `saikai archive extract` and `verify`. */
#ifndef SK_CLI_ARCHIVE_EXTRACT_H
#define SK_CLI_ARCHIVE_EXTRACT_H

#include "cli/cli.h"

/* The exit code. */
int cli_archive_extract(struct cli *cli, int argc, char **argv);

#endif
