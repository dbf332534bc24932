/* saikai archive under mpirun: the files of all nodes, and back to all nodes. */
#ifndef SK_CLI_ARCHIVE_RANKS_H
#define SK_CLI_ARCHIVE_RANKS_H

#include "archive/ranks/collect.h"
#include "archive/read/extract.h"
#include "cli/cli.h"

/* What is to be archived, as the command line says it. */
struct cli_archive_named {
    char **operands;
    int count;
    const char *list; /* of more names, NULL: none; */
    int end;          /* what each of them ends with */
    const struct cli_list *exclude;
};

/* Start MPI, write a set of archives into out from the files that this process's operands and list name
 * (%r is its rank, %n its node, patterns of operands are expanded here), tell what was made. Returns the exit
 * code; rank 0 speaks. */
int cli_archive_create_ranks(struct cli *cli, const char *out, const struct cli_archive_named *named,
                             const struct sk_collect_options *o, int quiet);
/* Start MPI, restore this process's files below dir (NULL: check only). say: 0 nothing, 1 a line, 2 JSON. */
int cli_archive_extract_ranks(struct cli *cli, const char *path, const char *dir,
                          const struct sk_extract_options *o, int say);

#endif
