/* For tests of what heals itself: a job of two ranks, most of whose checkpoints are changes, and damage to its files. */
#ifndef SK_LIB_HEAL_TESTING_H
#define SK_LIB_HEAL_TESTING_H

#include "lib/whole/session_testing.h"

#include <sys/types.h>

/* A checkpoint is due each HEAL_EVERY iterations; seconds that anything may take. */
enum { HEAL_EVERY = 10,
       HEAL_LONGEST_WAIT = 100 };

/* Of a configuration: what is there is read again all the time. */
#define HEAL_SCRUB "store.scrub=20ms; store.scrub_share=1; "

/* One start of the job. */
struct heal_run {
    const char *config;
    int64_t until, from; /* iterations to reach; the restart's, at least (-1: a fresh start) */
    int (*body)(struct sk_session *s, int64_t it);
    int may_fail; /* a checkpoint here and there */
};

/* The test fails when what is restored is not what was saved. */
void heal_start(struct heal_run r);

/* Setup and teardown. */
int heal_begin(void **state);
int heal_end(void **state);

/* Where a rank's file of the first start is; and one bit of a file is another one. */
void heal_path(char path[256], int64_t it, int rank);
int heal_flip(const char *path, off_t at);

#endif
