/* Which files an archive is made of, and what they are called in it. */
#ifndef SK_CLI_ARCHIVE_INPUTS_H
#define SK_CLI_ARCHIVE_INPUTS_H

#include "archive/plan/options.h"

struct cli_list;
struct cli_archive_own;

struct archive_inputs {
    struct sk_archive_input *list;
    size_t n, cap;
    /* set by the caller: links below the directories are followed; names and patterns of what is left out (NULL: nothing) */
    int follow;
    const struct cli_list *exclude;
    /* what becomes of what cannot be read, or is neither file, directory nor link, as in struct sk_archive_options: below what was named, or in a list */
    int (*leave_out)(void *arg, const char *path, const struct saikai_error *why);
    void *leave_arg;
    struct cli_archive_own *own; /* where the archive goes: left out (NULL: nowhere near) */
    /* directories and links, their names to be freed as well; none with follow */
    struct sk_ska_entry *entries;
    size_t entry_count, entry_cap;
    struct archive_inode *inodes; /* of files with several names: a table */
    size_t inode_count, inode_cap;
    size_t excluded; /* files and directories that `exclude` names */
};

/* The files named, and all below the directories named (trailing slashes are cut off in place),
 * sorted by their names in the archive. The list is to be freed after a failure as well. */
int cli_archive_inputs_gather(char **operands, int count, struct archive_inputs *in,
                          struct saikai_error *err);
/* The same for names that stand in a file, each with `end` (a newline, or 0) behind it, "-": standard input. */
int cli_archive_inputs_listed(const char *list, int end, struct archive_inputs *in, struct saikai_error *err);
/* Sort them; mistakes in their names. Part of cli_archive_inputs_gather, and to be called after
 * cli_archive_inputs_listed. */
int cli_archive_inputs_check(struct archive_inputs *in, struct saikai_error *err);
void cli_archive_inputs_free(struct archive_inputs *in);

/* What --previous names where archives are numbered by us: the directory of the output. Fails with
 * SAIKAI_EINVAL. */
int cli_archive_same_dir(const char *previous, const char *out, struct saikai_error *err);

#endif
