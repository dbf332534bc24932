/* What the two threads of a snapshot by write protection share: the helper, which saves all pages
 * in turn (cow_uffd.c), and the one that serves faults (cow_uffd_faults.c). */
#ifndef SK_CAPTURE_COW_UFFD_H
#define SK_CAPTURE_COW_UFFD_H

#include "capture/cow/cow_pages.h"

#include <sys/stat.h>

#define SK_UFFD_WANTED 64

struct sk_uffd_job {
    struct sk_snapshot_job *job;
    int fd, wake;
    struct stat was; /* what fd was: the program may close it */
    int handling; /* the thread that serves faults runs */
    pthread_t handler;
    pthread_mutex_t lock;  /* of all below and of the pool */
    pthread_cond_t filled; /* an entry of the pool, or all of a share of the protection */
    struct sk_pages pages;
    /* protecting: shares of the pages that either thread takes */
    size_t next_interval, busy_shares;
    uintptr_t next_at;
    struct sk_interval refused; /* a share that the handler could not protect just then */
    int protect_errno;
    /* what the program does */
    int hurry, writes_much;   /* copy first, hand on later; seen in this snapshot */
    int width_shift, copies;  /* of copies aside in general */
    size_t run_bytes;         /* of the next one if the program goes on nearby; 0: it does not */
    struct sk_interval run;   /* the last copy aside */
    struct sk_interval chunk; /* the helper's last chunk */
    uint64_t waiting;         /* faults that wait for the helper */
    double waiting_since;     /* sum of their times */
    uintptr_t wanted[SK_UFFD_WANTED]; /* pages whose writers wait since the pool is full */
    int n_wanted;
    int lift_again; /* lifting was refused for a moment: look at all pages that are done */
    atomic_int broken;
};

/* Read n bytes of own memory, which may have gone: -1. */
int sk_uffd_read_memory(uint8_t *to, uintptr_t from, size_t n);
/* Copy aside what is pending in b, which lies in one chunk, and add its size to *counter. The lock
 * is held, but not while memory is copied. -1: the pool is full, else the number of bytes. */
int64_t sk_uffd_set_aside(struct sk_uffd_job *u, size_t i, struct sk_interval b, uint64_t *counter);
/* Protect one share of all pages after the other, until none is left to take. may_wait: repeat what
 * the kernel refuses until somebody has read an event. */
void sk_uffd_protect_shares(struct sk_uffd_job *u, int may_wait);
/* Start the thread that serves faults; it helps to protect first. 0 or -1. */
int sk_uffd_start_handler(struct sk_uffd_job *u);
/* Returns when it has read all events. No effect when it does not run. */
void sk_uffd_stop_handler(struct sk_uffd_job *u);

#endif
