/* `saikai archive create`. */
#ifndef SK_CLI_ARCHIVE_CREATE_H
#define SK_CLI_ARCHIVE_CREATE_H

#include "cli/cli.h"

/* The exit code. */
int cli_archive_create(struct cli *cli, int argc, char **argv);

#endif
