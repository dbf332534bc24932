/* Files, directories and links below a directory, by names in it, without ever following a link on the way or at the end: nobody who can
 * put a link there, such as an archive that was restored before, leads what is written elsewhere. On the way to the directory itself
 * links are followed. Where a link stands in the place of a directory that is SAIKAI_EEXIST, with a sentence.
 *
 * Names are relative, without empty, "." or ".." components. */
#ifndef SK_BASE_BELOW_H
#define SK_BASE_BELOW_H

#include "base/error.h"

#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

/* Of one thread. The directory that was used last stays open. */
struct sk_below {
    const char *root;
    int root_fd, fd; /* fd: of the directory called last[0, n) below the root; -1: none */
    size_t n;
    char last[4096];
};
void sk_below_begin(struct sk_below *b, const char *root); /* root: must stay, and may have to be made first */
void sk_below_end(struct sk_below *b);

/* Make a directory and those above it, with the permissions of base/file/modes.h; existing ones are success. */
int sk_below_mkdirs(struct sk_below *b, const char *name, struct saikai_error *err);
/* A new file, with those above it; a file or link that has its name goes first. A descriptor for writing. */
int sk_below_create(struct sk_below *b, const char *name, int mode, struct saikai_error *err);
/* A regular file that is there, for writing. */
int sk_below_open(struct sk_below *b, const char *name, struct saikai_error *err);
/* lstat(2): 0 or an errno. */
int sk_below_look(struct sk_below *b, const char *name, struct stat *st);
/* In the same directory. What has the new name goes. */
int sk_below_rename(struct sk_below *b, const char *from, const char *to, struct saikai_error *err);
/* Missing is success. */
int sk_below_unlink(struct sk_below *b, const char *name, struct saikai_error *err);
/* A link that leads to `target`, and one more name for the file `target` below the root. */
int sk_below_symlink(struct sk_below *b, const char *target, const char *name, struct saikai_error *err);
int sk_below_link(struct sk_below *b, const char *target, const char *name, struct saikai_error *err);
/* Times as utimensat(2) takes them, of a directory or link; and permissions, of a directory. */
int sk_below_set_times(struct sk_below *b, const char *name, const struct timespec times[2], struct saikai_error *err);
int sk_below_set_mode(struct sk_below *b, const char *name, int mode, struct saikai_error *err);
/* fsync of the directory that holds it. */
int sk_below_sync(struct sk_below *b, const char *name, struct saikai_error *err);

#endif
