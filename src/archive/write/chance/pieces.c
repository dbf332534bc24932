/* Reads pieces of files by their place in all of them, and says what their mean is at the least. */
#include "archive/write/chance/pieces.h"

#include <math.h>

size_t sk_pieces_read(struct sk_ska_plan *p, uint64_t at, size_t n, uint8_t *to)
{
    uint32_t f = 0;
    while (f < p->a.file_count && at >= p->a.files[f].size_bytes)
        at -= p->a.files[f++].size_bytes;
    if (f == p->a.file_count)
        return 0;
    n = p->a.files[f].size_bytes - at < n ? (size_t)(p->a.files[f].size_bytes - at) : n;
    struct sk_ska_range r = {f, at, n, to};
    return sk_feed_fetch(p->feed, &r, 1, NULL) ? 0 : n;
}

double sk_pieces_mean(const double *x, int n)
{
    double mean = 0;
    for (int i = 0; i < n; i++)
        mean += x[i] / n;
    return mean;
}

double sk_pieces_least(const double *x, int n)
{
    double mean = sk_pieces_mean(x, n), square = 0;
    for (int i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    return mean - 4 * sqrt(square / (n - 1) / n);
}
