/* What `saikai protect` and `saikai rebuild` share: where files and parity are. */
#ifndef SK_CLI_PROTECT_OPTIONS_H
#define SK_CLI_PROTECT_OPTIONS_H

#include "cli/cli.h"
#include "cli/mpi_group.h"
#include "redundancy/code/form.h"
#include "redundancy/protect.h"

#include <limits.h>

struct cli_protect {
    const char *dir, *parity_dir, *name, *form;
    int json;
    char parity_default[PATH_MAX];
};

/* Options of both; to be put into a spec. */
#define CLI_PROTECT_OPTIONS(o)                                                                     \
    {'d',                                                                                          \
     "dir",                                                                                        \
     CLI_TEXT,                                                                                     \
     &(o).dir,                                                                                     \
     "DIR",                                                                                        \
     NULL,                                                                                         \
     "directory of the files on each node (default: the present one)"},                            \
        {'p',                                                                                      \
         "parity-dir",                                                                             \
         CLI_TEXT,                                                                                 \
         &(o).parity_dir,                                                                          \
         "DIR",                                                                                    \
         NULL,                                                                                     \
         "node-local directory for parity (default: .saikai in the files' directory)"},            \
        {'n',                                                                                      \
         "name",                                                                                   \
         CLI_TEXT,                                                                                 \
         &(o).name,                                                                                \
         "NAME",                                                                                   \
         NULL,                                                                                     \
         "name of this set of files (default: saikai)"},                                           \
        {0,                                                                                        \
         "form",                                                                                   \
         CLI_CHOICE,                                                                               \
         &(o).form,                                                                                \
         "FORM",                                                                                   \
         cli_forms(&sk_transfer_kind, SK_AUTO),                                                    \
         "way of the blocks between nodes (default: auto)"},                                       \
    {                                                                                              \
        0, "json", CLI_FLAG, &(o).json, NULL, NULL, "print the result as JSON"                     \
    }

/* Fill what both commands give to the library. */
int cli_protect_params(struct cli_protect *o, struct sk_protect_params *p,
                       struct saikai_error *err);
/* Report a failure once, from rank 0 (before there is a group: from every process); returns the
 * exit code. */
int cli_protect_fail(const struct cli *cli, const struct cli_mpi *m,
                     const struct saikai_error *err);

#endif
