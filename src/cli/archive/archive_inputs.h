/* Which files an archive is made of, and what they are called in it. */
#ifndef SK_CLI_ARCHIVE_INPUTS_H
#define SK_CLI_ARCHIVE_INPUTS_H

#include "archive/local/archive.h"
#include "cli/progress.h"

struct cli;
struct cli_list;
struct sk_ska_set;

struct archive_inputs {
    struct sk_archive_input *list;
    size_t n, cap;
    /* set by the caller: links below the directories are followed, and what is no file is left out;
     * names and patterns of what is left out (NULL: nothing) */
    int follow;
    const struct cli_list *exclude;
    /* directories and links, their names to be freed as well; none with follow */
    struct sk_ska_entry *entries;
    size_t entry_count, entry_cap;
    struct archive_inode *inodes; /* of files with several names */
    size_t inode_count, inode_cap;
};

/* The files named, and all below the directories named (trailing slashes are cut off in place),
 * sorted by their names in the archive. The list is to be freed after a failure as well. */
int cli_archive_inputs_gather(char **operands, int count, struct archive_inputs *in,
                          struct saikai_error *err);
/* The same for names that stand in a file one on each line, "-": standard input. */
int cli_archive_inputs_listed(const char *list, struct archive_inputs *in, struct saikai_error *err);
/* Sort them; mistakes in their names. Part of cli_archive_inputs_gather, and to be called after
 * cli_archive_inputs_listed. */
int cli_archive_inputs_check(struct archive_inputs *in, struct saikai_error *err);
void cli_archive_inputs_free(struct archive_inputs *in);

/* What --previous names where archives are numbered by us: the directory of the output. Fails with
 * SAIKAI_EINVAL. */
int cli_archive_same_dir(const char *previous, const char *out, struct saikai_error *err);

/* Archive each finished set, a directory directly below dir, to out/NAME.ska, until `count` sets
 * are done (0: until a signal ends it). A set is finished when nothing in it has changed for
 * settle_s seconds. A set whose archive is newer than the set is skipped. With previous each builds
 * on the newest archive there, if that can be read; a set that is archived again gets a new name,
 * NAME~2.ska and so on, then, and whenever others build on its archive. Blocks. */
struct cli_archive_watch {
    const char *dir, *out;
    double settle_s;
    long count;
    int quiet, previous, follow;
    const struct cli_list *exclude;
};
int cli_archive_watch(const struct cli_archive_watch *w, const struct sk_archive_options *o,
                  struct saikai_error *err);

/* Let a bar show how far the work is. */
void cli_archive_show(void (**progress)(void *arg, uint64_t done, uint64_t all), void **arg,
                  struct cli_progress *bar);

/* Tell on stdout what an archive holds. */
void cli_archive_print_created(const char *out, const struct sk_archive_stats *st);

/* The archives that a path stands for, in turn: one file, or the newest set of a directory. */
int cli_archive_part_path(const struct sk_ska_set *set, const char *path, int k, char *out, size_t cap,
                      struct saikai_error *err);

/* The verbs `create`, and `extract` and `verify`, of `saikai archive`; they return the exit code. */
int cli_archive_create(struct cli *cli, int argc, char **argv);
int cli_archive_extract(struct cli *cli, int argc, char **argv);

#endif
