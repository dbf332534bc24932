/* One variable of all files of an archive. */
#ifndef SK_CLI_ARCHIVE_VARIABLE_H
#define SK_CLI_ARCHIVE_VARIABLE_H

#include "archive/read/extract.h"
#include "cli/cli.h"

/* Restore what is needed of one variable (a glob on its name, with or without its group) with
 * `extract`, and write it as one HDF5 file, FILE/VARIABLE for each file. */
int cli_archive_extract_variable(struct cli *cli, const char *path, const char *variable,
                             const char *out, const struct sk_extract_options *opt, int quiet,
                             int (*extract)(const char *path, const char *dir,
                                            const struct sk_extract_options *o,
                                            struct sk_archive_stats *sum,
                                            struct saikai_error *err));

#endif
