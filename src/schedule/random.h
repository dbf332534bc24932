/* Random numbers for simulations: the same sequence for the same seed, everywhere. Not for secrets.
 *
 * Source: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS
 * 47(4), 2021: xoshiro256++, its state filled from the seed by splitmix64 (Steele, Lea, Flood,
 * OOPSLA 2014). */
#ifndef SK_SCHEDULE_RANDOM_H
#define SK_SCHEDULE_RANDOM_H

#include <stdint.h>

struct sk_random {
    uint64_t s[4];
};

uint64_t sk_splitmix64(uint64_t *state);
void sk_random_seed(struct sk_random *r, uint64_t seed);
uint64_t sk_random_next(struct sk_random *r);
/* Uniform in [0, 1), a multiple of 2^-53. */
double sk_random_unit(struct sk_random *r);
/* Uniform in 0 … n - 1 without bias; n > 0. */
uint64_t sk_random_below(struct sk_random *r, uint64_t n);
/* Exponential with this rate > 0. */
double sk_random_exponential(struct sk_random *r, double rate);

#endif
