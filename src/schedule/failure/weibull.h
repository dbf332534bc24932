/* A hazard that falls (or rises) with the time since the last fault: times between faults by Weibull's law. Pure arithmetic; seconds.
 *
 * The hazard at age t is h(t) = (k/s) (t/s)^(k-1), with the shape k: 1 is the exponential law, below 1 faults come in bursts. When it is known, the
 * best density of checkpoints at each time is sqrt(h(t)/2C) to first order (Y. Ling, J. Mi, X. Lin, A variational calculus approach to optimal
 * checkpoint placement, IEEE Transactions on Computers 50(7), 2001); D. Tiwari, S. Gupta and S. Vazhkudai (Lazy checkpointing, DSN 2014) found
 * shapes of 0.5 to 0.7 on large machines, B. Schroeder and G. Gibson (DSN 2006) 0.7 to 0.8 in LANL's log. */
#ifndef SK_SCHEDULE_WEIBULL_H
#define SK_SCHEDULE_WEIBULL_H

#include <stddef.h>

/* Shapes that are believed; what is beyond is taken for the nearest one. */
#define SK_SHAPE_LEAST 0.3
#define SK_SHAPE_MOST  3.0

/* The constant rate whose best interval is the best one to begin at this age, when faults come at `rate` on average: the interval takes one
 * checkpoint's share of Ling's density, and Young's formula turned round makes the rate of it. Shape 1 gives `rate`; so does a cost of 0. */
double sk_weibull_rate(double rate, double shape, double age, double cost);

/* The shape that explains these times between faults best (maximum likelihood), drawn towards 1 as if its logarithm were believed to be 0 +- 0.3, since
 * a few times say little: the logarithm of an estimate from n times is off by 0.78/sqrt(n) (D. R. Thoman, L. J. Bain, C. E. Antle, Technometrics 11(3), 1969),
 * so n times weigh n against 7. 1 when there are none. Times of 0 or less do not count. */
double sk_weibull_shape(const double *times, size_t n);

#endif
