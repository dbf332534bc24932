/* Failures as one Poisson process, with the node drawn by Walker's alias method (ACM TOMS 3(3),
 * 1977). */
#include "schedule/failure/failures.h"
#include "schedule/random.h"

#include <math.h>
#include <stdlib.h>

struct source {
    struct sk_random random;
    const struct sk_fleet *fleet;
    double rate;
    double *keep; /* alias table: stay in column i with this chance, else take other[i]; NULL: all
                     rates are the same */
    uint64_t *other;
};

static void close_source(void *source)
{
    struct source *s = source;
    if (!s)
        return;
    free(s->keep);
    free(s->other);
    free(s);
}

/* Walker's table: columns of the mean height, each filled from at most two nodes. */
static int build_alias(struct source *s)
{
    uint64_t n = s->fleet->nodes, small = 0, large = n, *work = malloc(n * sizeof *work);
    s->keep = malloc(n * sizeof *s->keep);
    s->other = malloc(n * sizeof *s->other);
    if (!work || !s->keep || !s->other) {
        free(work);
        return -1;
    }
    for (uint64_t i = 0; i < n; i++) {
        s->keep[i] = s->fleet->rates[i] / s->rate * (double)n;
        s->other[i] = i;
        if (s->keep[i] < 1)
            work[small++] = i;
        else
            work[--large] = i;
    }
    while (small && large < n) {
        uint64_t a = work[--small], b = work[large];
        s->other[a] = b;
        s->keep[b] -= 1 - s->keep[a];
        if (s->keep[b] < 1) { /* b has given so much that it is itself small now */
            work[small++] = b;
            large++;
        }
    }
    while (small) /* rounding left these a little below 1 */
        s->keep[work[--small]] = 1;
    free(work);
    return 0;
}

static void *open_source(const struct sk_fleet *fleet, uint64_t seed)
{
    struct source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    sk_random_seed(&s->random, seed);
    s->fleet = fleet;
    s->rate = sk_fleet_rate(fleet);
    if (fleet->rates && s->rate > 0 && build_alias(s)) {
        close_source(s);
        return NULL;
    }
    return s;
}

static double next_failure(void *source, uint64_t *node)
{
    struct source *s = source;
    if (!(s->rate > 0))
        return INFINITY;
    double gap = sk_random_exponential(&s->random, s->rate);
    if (node) {
        uint64_t i = sk_random_below(&s->random, s->fleet->nodes);
        *node = !s->keep || sk_random_unit(&s->random) < s->keep[i] ? i : s->other[i];
    }
    return gap;
}

const struct sk_failures_ops sk_failures_superposed = {"superposed", "the failures of all nodes are one Poisson process", open_source, next_failure,
                                                           close_source};
