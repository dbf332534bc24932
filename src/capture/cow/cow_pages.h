/* The protected pages of a snapshot: what has become of each, and which are to be saved next. Not
 * locked. */
#ifndef SK_CAPTURE_COW_PAGES_H
#define SK_CAPTURE_COW_PAGES_H

#include "capture/cow/cow_job.h"

enum sk_page_state {
    SK_PAGE_PENDING,
    SK_PAGE_BUSY, /* somebody copies it; lifting the protection then wakes whoever waits for it */
    SK_PAGE_DONE,
};

/* Runs of pages in one chunk, at most. */
#define SK_CHUNK_RUNS (SK_CHUNK_BYTES / 4096 / 2 + 1)

/* A chunk is the part of an aligned block of SK_CHUNK_BYTES that lies in one interval. */
struct sk_pages {
    const struct sk_intervals *in; /* whole pages; disjoint, ascending */
    size_t page;
    uint8_t *state;      /* of all pages, one interval after the other */
    size_t *first;       /* index of each interval's first page */
    size_t *first_chunk; /* and of its first chunk; one more at the end */
    uint16_t *pending;   /* pages of each chunk that are to do */
    size_t left;         /* chunks that have some */
    size_t cursor;       /* the next chunk to look at */
    int backward;        /* and then the one before it */
};

/* All pages of `in`, which must last, are pending. SAIKAI_ENOMEM. Release with sk_pages_free, also
 * after a failure (a zeroed struct is accepted). */
int sk_pages_init(struct sk_pages *p, const struct sk_intervals *in, size_t page,
                  struct saikai_error *err);
void sk_pages_free(struct sk_pages *p);

/* The interval with address a; in->n: none. */
size_t sk_pages_interval(const struct sk_pages *p, uintptr_t a);
enum sk_page_state sk_pages_state(const struct sk_pages *p, size_t i, uintptr_t a);
/* The part of the aligned block of this width around a that lies in interval i. */
struct sk_interval sk_pages_block(const struct sk_pages *p, size_t i, uintptr_t a, size_t width);
/* From the first page at or after *a that has this state to the first one that has not; 0: none
 * before `to`. */
int sk_pages_run(const struct sk_pages *p, size_t i, uintptr_t *a, uintptr_t to,
                 enum sk_page_state s, uintptr_t *end);

/* All pending pages of b, which lies in one chunk, become busy; run gets them, the number of runs
 * is returned. */
size_t sk_pages_claim(struct sk_pages *p, size_t i, struct sk_interval b,
                      struct sk_interval run[SK_CHUNK_RUNS]);
/* Pages that were claimed are done, or pending again. */
void sk_pages_finish(struct sk_pages *p, size_t i, struct sk_interval run);
void sk_pages_return(struct sk_pages *p, size_t i, struct sk_interval run);

/* The next chunk with pending pages, from the cursor on, in its direction and then around; the
 * cursor stays there. 0: none is left. */
int sk_pages_next(struct sk_pages *p, size_t *i, struct sk_interval *chunk);
/* Go on behind (backward: before) the chunk with address a. */
void sk_pages_aim(struct sk_pages *p, size_t i, uintptr_t a, int backward);

#endif
