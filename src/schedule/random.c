/* The generator, and uniform, bounded and exponential numbers made of it. */
#include "schedule/random.h"

#include <math.h>

uint64_t sk_splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void sk_random_seed(struct sk_random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = sk_splitmix64(&seed);
}

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

uint64_t sk_random_next(struct sk_random *r)
{
    uint64_t *s = r->s, out = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return out;
}

double sk_random_unit(struct sk_random *r)
{
    return (double)(sk_random_next(r) >> 11) * 0x1p-53;
}

uint64_t sk_random_below(struct sk_random *r, uint64_t n)
{
    uint64_t refuse = -n % n, x; /* 2^64 mod n values would come once too often */
    do
        x = sk_random_next(r);
    while (x < refuse);
    return x % n;
}

double sk_random_exponential(struct sk_random *r, double rate)
{
    return -log1p(-sk_random_unit(r)) / rate;
}
