/* Where the output of a dead lead ends, and that of its twin goes on: both print the same, so how far one is is a place in the other's. Counted in whole
 * lines, and in bytes within the one after them: where what they print differs a little (a time), the lines that follow are the same ones. Pure. */
#ifndef SK_DAEMON_SEAM_H
#define SK_DAEMON_SEAM_H

#include "backbone/message.h"

#include <stddef.h>

/* p is n bytes further. */
void sk_seam_count(struct sk_printed *p, const char *data, size_t n);
/* How many of these bytes are before to, when the first of them is at *at, which is set to where the others begin; less than n: to is there. A line that
 * ends before to does ends there. */
size_t sk_seam_before(struct sk_printed *at, const struct sk_printed *to, const char *data, size_t n);

/* The newest of what a process has printed, kept for when it is needed. All zero, but for most: nothing. */
struct sk_unseen {
    char *data;
    size_t n, cap, most;    /* most: bytes that are surely there as soon as there were as many */
    struct sk_printed from; /* where the first of them is */
};

/* -1: no memory; then nothing is kept of what was before. */
int sk_unseen_add(struct sk_unseen *h, const char *data, size_t n);
void sk_unseen_free(struct sk_unseen *h);

#endif
