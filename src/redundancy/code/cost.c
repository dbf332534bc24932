/* Measures latency and bandwidth by messages around a ring, and how fast a core adds blocks. */
#include "redundancy/code/cost.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

struct sk_link_costs sk_link_costs_usual(void)
{
    return (struct sk_link_costs){.latency = 5e-6, .bandwidth = 10e9, .add_rate = 10e9};
}

enum { LARGE = 1 << 20, SMALL_ROUNDS = 50, LARGE_ROUNDS = 4, TAG = 32700 };

/* n bytes to the right while n bytes come from the left, rounds times; seconds of one round. */
static int shift(struct sk_group *g, uint8_t *out, uint8_t *in, size_t n, int rounds,
                 double *seconds)
{
    int right = (g->rank + 1) % g->size, left = (g->rank + g->size - 1) % g->size;
    double start = sk_now();
    for (int i = 0; i < rounds; i++) {
        struct sk_request *recv = NULL, *send = NULL;
        int rc = sk_group_irecv(g, in, n, left, TAG, &recv);
        if (!rc)
            rc = sk_group_isend(g, out, n, right, TAG, &send);
        if (!rc)
            rc = sk_group_wait(g, &recv);
        if (!rc)
            rc = sk_group_wait(g, &send);
        if (rc)
            return rc;
    }
    *seconds = (sk_now() - start) / rounds;
    return 0;
}

static double measure_adding(uint8_t *a, uint8_t *b)
{
    enum { BLOCK = 64 << 10, TIMES = 64 };
    static const uint8_t coef[2] = {29, 76};
    uint8_t *rows[2] = {b, b + BLOCK};
    double best = 1e9;
    for (int k = 0; k < 3; k++) {
        double start = sk_now();
        for (int i = 0; i < TIMES; i++)
            sk_kernel_add(BLOCK, 2, coef, a, rows);
        double t = sk_now() - start;
        best = t < best ? t : best;
    }
    return 2.0 * BLOCK * TIMES / best;
}

int sk_link_costs_measure(struct sk_group *g, struct sk_link_costs *out, struct saikai_error *err)
{
    uint8_t *a = calloc(2, LARGE), *b = a ? a + LARGE : NULL;
    int rc = sk_group_verdict(
        g, a ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to measure messages"), err);
    if (rc) {
        free(a);
        return rc;
    }
    double warm, small = 0, large = 0;
    rc = shift(g, a, b, LARGE, 1, &warm);
    if (!rc)
        rc = shift(g, a, b, 1, SMALL_ROUNDS, &small);
    if (!rc)
        rc = shift(g, a, b, LARGE, LARGE_ROUNDS, &large);
    int64_t slowest[3] = {(int64_t)(small * 1e9), (int64_t)(large * 1e9),
                          rc ? 0 : (int64_t)(1e18 / measure_adding(a, b))};
    free(a);
    if (!rc)
        rc = sk_group_allreduce(g, slowest, 3, SK_OP_MAX);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact while messages were measured");
    double latency = (double)(slowest[0] > 0 ? slowest[0] : 1) * 1e-9;
    double transfer = (double)slowest[1] * 1e-9 - latency;
    *out = (struct sk_link_costs){.latency = latency,
                                  .bandwidth = LARGE / (transfer > 1e-6 ? transfer : 1e-6),
                                  .add_rate = 1e18 / (double)(slowest[2] > 0 ? slowest[2] : 1)};
    return 0;
}
