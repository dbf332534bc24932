/* Archives that build on each other: an open one, those below it, and which of its blocks come
 * after which of theirs. */
#ifndef SK_ARCHIVE_FILE_PREVIOUS_H
#define SK_ARCHIVE_FILE_PREVIOUS_H

#include "archive/file/ska.h"

#include <pthread.h>

/* An archive that is open for reading, for all threads. What it builds on is opened when it is
 * first needed, and stays open as long as this one. */
struct sk_opened {
    int fd;
    const char *path;
    const struct sk_ska *a;
    pthread_mutex_t lock;
    struct sk_opened *previous; /* NULL: not yet, or it stands alone */
};

/* Around what the caller has opened and read, which stays its own and must stay. */
void sk_opened_init(struct sk_opened *o, int fd, const char *path, const struct sk_ska *a);
/* Close those below it. Zeroed is accepted. */
void sk_opened_done(struct sk_opened *o);
/* An archive by its path, all of it owned. Fails as sk_ska_read, sk_io_open. */
int sk_opened_new(const char *path, struct sk_opened **out, struct saikai_error *err);
void sk_opened_free(struct sk_opened *o);

/* The archive that this one builds on: by its name in the same directory and the hash of its index.
 * Fails with SAIKAI_ENOENT (it is gone: the text says what to put back where), SAIKAI_EDAMAGED
 * (another one has its name, or it builds on none), SAIKAI_EIO, SAIKAI_ENOMEM. */
int sk_opened_previous(struct sk_opened *o, struct sk_opened **previous, struct saikai_error *err);

/* What block i comes after or takes from: the archive, which may be the same one, and the number of a
 * block there; *previous NULL: nothing.
 * Fails as sk_opened_previous. */
int sk_opened_below(struct sk_opened *o, size_t i, struct sk_opened **previous, size_t *k,
                    struct saikai_error *err);

/* For an archive that is made: blocks of one class build on those of the same class, each
 * on the one that holds the same stretch of it; those whose largest class has no block of its own there, on the one that has most of their classes. SAIKAI_ENOMEM. */
int sk_previous_match(struct sk_ska *a, const struct sk_ska *previous);
/* The block that holds most of a class of bytes; 0: it has none, else its number and 1. */
uint32_t sk_previous_home(const struct sk_ska *previous, const char *key);
/* 1: block i holds bytes alone, on which blocks build also where there is too little memory for those of variables. */
int sk_previous_usable(const struct sk_ska *a, size_t i);

#endif
