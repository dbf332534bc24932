/* What of a tree is the archive that is made of it: it cannot hold itself. And what a tool may replace with what it makes. */
#ifndef SK_CLI_ARCHIVE_OWN_H
#define SK_CLI_ARCHIVE_OWN_H

#include "archive/file/ska.h"

#include <stddef.h>
#include <sys/stat.h>

/* Where an archive goes to. Set up by one of the functions below; {0}: nowhere in any tree. */
struct cli_archive_own {
    int kind;
    struct stat dir, file; /* the directory that it is put into; what has its name now, or standard output */
    int has_dir, has_file;
    char name[256]; /* in the directory */
    char left[4096]; /* what was left out first, and of how many */
    size_t count;
    struct stat below[SK_SKA_MAX_DEPTH + 1]; /* those that it builds on */
    int below_count, below_left;             /* below_left: of what was left out, so many are such */
    char other[4096];                        /* what another process is making an archive in; of how many */
    size_t others;
};

/* The output of one process as -o names it ("-", links and devices, too). */
void cli_archive_own_file(struct cli_archive_own *own, const char *out);
/* And what it builds on: the archive before, and those that this one builds on. What cannot be read is none; who builds on it says so. */
void cli_archive_own_below(struct cli_archive_own *own, const char *previous);
/* A directory of numbered sets: these, and what will be one. */
void cli_archive_own_sets(struct cli_archive_own *own, const char *dir);
/* A directory that is no one's but the archives'. */
void cli_archive_own_directory(struct cli_archive_own *own, const char *dir);

/* 1: what is found at `path` is to be left out, and is counted. */
int cli_archive_own_is(struct cli_archive_own *own, const char *path, const struct stat *st);
/* One line on stderr if anything was left out, and one if that is what others are making. */
void cli_archive_own_say(const struct cli_archive_own *own, const char *command);

/* A slip of the hand, such as `-o *.h5` that a shell has expanded, costs no file: an archive may be made there when nothing or an empty file is there, no regular file, an archive, or what is called
 * so. 0, or SAIKAI_EEXIST with a sentence. */
int cli_archive_may_replace(const char *out, struct saikai_error *err);
/* Something else than an archive may be made there: none is there. 0, or SAIKAI_EEXIST with a sentence. */
int cli_archive_spares(const char *out, struct saikai_error *err);

#endif
