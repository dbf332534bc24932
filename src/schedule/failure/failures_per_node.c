/* Failures with each node's next one in a heap. */
#include "schedule/failure/failures.h"
#include "schedule/random.h"

#include <math.h>
#include <stdlib.h>

struct entry {
    double at;
    uint64_t node;
};

struct source {
    struct sk_random random;
    const struct sk_fleet *fleet;
    double now;
    uint64_t n;
    struct entry heap[]; /* the earliest failure first */
};

static double rate_of(const struct sk_fleet *f, uint64_t node)
{
    return f->rates ? f->rates[node] : f->rate;
}

static void sift_down(struct entry *heap, uint64_t n, uint64_t i)
{
    struct entry e = heap[i];
    for (uint64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1].at < heap[child].at)
            child++;
        if (heap[child].at >= e.at)
            break;
        heap[i] = heap[child];
    }
    heap[i] = e;
}

static void *open_source(const struct sk_fleet *fleet, uint64_t seed)
{
    struct source *s = calloc(1, sizeof *s + fleet->nodes * sizeof *s->heap);
    if (!s)
        return NULL;
    sk_random_seed(&s->random, seed);
    s->fleet = fleet;
    for (uint64_t i = 0; i < fleet->nodes; i++) {
        double rate = rate_of(fleet, i);
        if (rate > 0)
            s->heap[s->n++] = (struct entry){sk_random_exponential(&s->random, rate), i};
    }
    for (uint64_t i = s->n / 2; i-- > 0;)
        sift_down(s->heap, s->n, i);
    return s;
}

static double next_failure(void *source, uint64_t *node)
{
    struct source *s = source;
    if (!s->n)
        return INFINITY;
    struct entry *first = &s->heap[0];
    double gap = first->at - s->now;
    s->now = first->at;
    if (node)
        *node = first->node;
    first->at += sk_random_exponential(&s->random, rate_of(s->fleet, first->node));
    sift_down(s->heap, s->n, 0);
    return gap;
}

const struct sk_failures_ops sk_failures_per_node = {"per-node", "every node has its own next failure", open_source, next_failure,
                                                         free};
