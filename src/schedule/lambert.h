/* Lambert's W function, principal branch: the W >= -1 with W e^W = x. Pure arithmetic, relative
 * error below 1e-14.
 *
 * Source: Corless, Gonnet, Hare, Jeffrey, Knuth, "On the Lambert W function", Advances in
 * Computational Mathematics 5 (1996): series at the branch point (eq. 4.22-4.24), Halley's
 * iteration (eq. 5.9). */
#ifndef SK_SCHEDULE_LAMBERT_H
#define SK_SCHEDULE_LAMBERT_H

/* 1 + W0((d - 1)/e) for d from 0 to 1, else not a number. Near the branch point x = -1/e neither x nor W can hold the digits
 * that matter; the distance d = 1 + e x can, and so can 1 + W. */
double sk_lambert_w0_from_branch(double d);

#endif
