/* saikai archive under mpirun: the files of all nodes, and back to all nodes. */
#ifndef SK_CLI_ARCHIVE_RANKS_H
#define SK_CLI_ARCHIVE_RANKS_H

#include "archive/ranks/collect.h"
#include "archive/read/extract.h"
#include "cli/cli.h"

/* Start MPI, write a set of archives into out from the files that this process's operands name
 * (%r is its rank, %n its node, patterns are expanded here), tell what was made. Returns the exit
 * code; rank 0 speaks. */
int cli_archive_create_ranks(struct cli *cli, const char *out, char **operands, int count,
                         const struct sk_collect_options *o, int quiet);
/* Start MPI, restore this process's files below dir (NULL: check only). say: 0 nothing, 1 a line, 2 JSON. */
int cli_archive_extract_ranks(struct cli *cli, const char *path, const char *dir,
                          const struct sk_extract_options *o, int say);

#endif
