/* saikai archive under mpirun: the files of all nodes, and back to all nodes; and one variable of
 * all files. */
#ifndef SK_CLI_ARCHIVE_RANKS_H
#define SK_CLI_ARCHIVE_RANKS_H

#include "archive/ranks/collect.h"
#include "cli/cli.h"

/* Start MPI, write a set of archives into out from the files that this process's operands name
 * (%r is its rank, %n its node, patterns are expanded here), tell what was made. Returns the exit
 * code; rank 0 speaks. */
int cli_archive_create_ranks(struct cli *cli, const char *out, char **operands, int count,
                         const struct sk_collect_options *o, int quiet);
/* Start MPI, restore this process's files below dir (NULL: check only). say: 0 nothing, 1 a line, 2 JSON. */
int cli_archive_extract_ranks(struct cli *cli, const char *path, const char *dir,
                          const struct sk_extract_options *o, int say);
/* What a document about files that were read has in common: how many, and what is wrong (NULL: nothing). */
void cli_archive_extracted_json(struct sk_json *j, const struct sk_archive_stats *st, const char *problem);

/* Restore what is needed of one variable (a glob on its name, with or without its group) with
 * `extract`, and write it as one HDF5 file, FILE/VARIABLE for each file. */
int cli_archive_extract_variable(struct cli *cli, const char *path, const char *variable,
                             const char *out, const struct sk_extract_options *opt, int quiet,
                             int (*extract)(const char *path, const char *dir,
                                            const struct sk_extract_options *o,
                                            struct sk_archive_stats *sum,
                                            struct saikai_error *err));

#endif
