/* What all forms of transfer ask of stripes and of time. */
#ifndef SK_REDUNDANCY_STRIPE_H
#define SK_REDUNDANCY_STRIPE_H

#include "redundancy/code/form.h"

/* Time of two things that mostly happen at once: the longer one, and a quarter of the shorter,
 * since sending and receiving take processor time too. */
double sk_overlapped(double a, double b);
/* Longest of the first n sources. */
uint32_t sk_stripe_len(const struct sk_stripe *s, int n);

#endif
