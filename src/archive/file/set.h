/* Sets: the archives that several writers made of one state, in one directory.
 *
 * A set is the files set-NUMBER.K-of-M.ska, K from 1 to M. It counts when all M are there; each is
 * complete before it has its name. A new set takes a new number and older ones are removed after it
 * is whole, so that at any moment the newest whole set is a whole state. Archives of older sets
 * that it builds on stay, of such a set perhaps only some. */
#ifndef SK_ARCHIVE_FILE_SET_H
#define SK_ARCHIVE_FILE_SET_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct sk_ska_set {
    uint64_t number;
    int parts; /* M */
};

/* The newest whole set of a directory; SAIKAI_ENOENT when there is none. */
int sk_ska_set_newest(const char *dir, struct sk_ska_set *out, struct saikai_error *err);
/* The same; without a whole set the newest of which a part is there. parts 0: there is none, or no
 * such directory. */
int sk_ska_set_look(const char *dir, struct sk_ska_set *out, struct saikai_error *err);
/* A number above all that are in use, by whole sets or not. A missing directory has none. */
int sk_ska_set_next(const char *dir, uint64_t *number, struct saikai_error *err);
/* The name of one part, 1 … parts. */
int sk_ska_set_path(const struct sk_ska_set *s, const char *dir, int part, char *out, size_t cap,
                    struct saikai_error *err);
/* Remove what dead processes left unfinished, and with whole != NULL all archives of sets older
 * than *whole, the newest first. chained: those that *whole builds on, which are looked for in its
 * archives, stay; when one of these cannot be read, all stay. */
int sk_ska_set_clean(const char *dir, const struct sk_ska_set *whole, int chained,
                     struct saikai_error *err);
/* Whether an archive in the directory of `path` builds on the one that is called so now; *name:
 * which one, cut to cap. Archives that cannot be read count as building on nothing. 0: none, 1, or
 * a code.
 */
int sk_ska_builds_on(const char *path, char *name, size_t cap, struct saikai_error *err);

/* 1: there is some archive of a set in the directory, or the beginning of one. */
int sk_ska_set_traces(const char *dir);
/* Remove all sets, also what is unfinished of them (nobody may be writing), and the directory if
 * that leaves it empty. Missing is success. */
int sk_ska_set_remove(const char *dir, struct saikai_error *err);

/* A path given by a user: a directory stands for its newest set, anything else is one archive
 * (parts 0, number 0). */
int sk_ska_set_find(const char *path, struct sk_ska_set *out, struct saikai_error *err);

#endif
