/* For tests: a prefix that is full, read-only, gone or does not answer, at any operation, and a job that goes on in spite of it. Ranks
 * are threads; faults come from the I/O layer's hook, for paths in the prefix alone. */
#ifndef SK_LIB_PREFIX_TESTING_H
#define SK_LIB_PREFIX_TESTING_H

#include "lib/whole/session_testing.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

enum { PREFIX_RANKS = 2 };

extern char prefix_dir[80];

/* What is wrong with it. Set by prefix_disturb, but for what stands below `released`. */
extern struct prefix_fault {
    atomic_long first, last; /* operations that are disturbed, counted from 1 */
    atomic_long count;
    atomic_int error;    /* they fail so; 0: they hang … */
    double seconds;      /* … for so long after the first of them, or … */
    atomic_int released; /* … until the test says */
    atomic_int off;      /* nothing is counted */
    atomic_int slow_ms;  /* each operation takes so long */
    atomic_int archives; /* only archives are disturbed */
    _Atomic(const char *) only; /* only operations of this name are counted and disturbed, until it is healed; NULL: all */
    pthread_mutex_t lock;
    double until;
} prefix_fault;

/* Operations first … last of the prefix fail with error, or hang for so many seconds; and all is well again. */
void prefix_disturb(long first, long last, int error, double seconds);
void prefix_heal(void);

/* One start of the job. */
struct prefix_run {
    const char *config;
    int64_t until;
    int crash;              /* 1: leave without finalize, as a killed process does */
    int64_t expect_from;    /* iteration restored, 0: a fresh start, negative: saikai_init or restart fail */
    void (*at)(int64_t it); /* on rank 0, before each candidate */
    int may_fail;           /* checkpoints */
    int unsaved;            /* checkpoints fail */
    int hangs;              /* it will hang after a while */
    int may_not_restart;    /* it goes on from there or fails with a sentence, which is then logged */
};

void prefix_start(struct prefix_run r);

/* Setup and teardown; and all is as at the start of a test. */
int prefix_begin(void **state);
int prefix_end(void **state);
void prefix_begin_afresh(void);

/* Until a thread that has its own pace has said it. */
void prefix_wait_for_log(const char *text);
/* A start during which the prefix is healed when the log says this. */
void prefix_start_and_heal(struct prefix_run r, const char *text);

#endif
