/* Memory of small pages costs a snapshot most of what the program waits for: each page's entry is
 * protected by itself (20 ms per GiB and thread where huge pages take less than 1 ms). Who makes
 * snapshots of the same memory again and again therefore asks the kernel to put it into huge pages,
 * between two of them, in a thread of its own. */
#ifndef SK_CAPTURE_COW_HUGE_H
#define SK_CAPTURE_COW_HUGE_H

#include "capture/cow/cow_job.h"

/* Put all aligned blocks of a huge page's size in v that are there in full, as small pages, into
 * huge pages (MADV_COLLAPSE, Linux 6.1); until *stop. The content stays; memory that is gone
 * meanwhile is left out, and so is what the program (MADV_NOHUGEPAGE, prctl) or the system ("never"
 * in /sys) wants in small pages, and blocks with pages that were never written: they would come to
 * take memory. Returns how many blocks were put, -1: that cannot be done here. */
long sk_huge_collapse(const struct sk_intervals *v, atomic_int *stop);

/* When to do that, and the thread. Begin with zeroes. Local; not for several threads at once. */
struct sk_huge {
    unsigned dear, need; /* snapshots that took long to protect since the last attempt, and how many
                            it takes */
    int off, running;
    pthread_t thread;
    atomic_int stop, done;
    struct sk_intervals v;
};
/* A snapshot has protected v, which is taken over, in so much time. */
void sk_huge_after(struct sk_huge *h, struct sk_intervals v, double protect_seconds);
/* Stop the thread, after the block that it is at. in_child: there is none in a forked child. */
void sk_huge_end(struct sk_huge *h, int in_child);

#endif
