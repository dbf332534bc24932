/* Reads pieces of files by their place in all of them, and says what their mean is at the least. */
#include "archive/write/chance/pieces.h"

#include <math.h>

/* The file in which a place of all files is; *at becomes the place in it. */
static uint32_t file_at(const struct sk_ska_plan *p, uint64_t *at)
{
    uint32_t f = 0;
    while (f < p->a.file_count && *at >= p->a.files[f].size_bytes)
        *at -= p->a.files[f++].size_bytes;
    return f;
}

size_t sk_pieces_read(struct sk_ska_plan *p, uint64_t at, size_t n, uint8_t *to)
{
    uint32_t f = file_at(p, &at);
    if (f == p->a.file_count)
        return 0;
    n = p->a.files[f].size_bytes - at < n ? (size_t)(p->a.files[f].size_bytes - at) : n;
    struct sk_ska_range r = {f, at, n, to};
    return sk_feed_fetch(p->feed, &r, 1, NULL) ? 0 : n;
}

int sk_pieces_taken(const struct sk_ska_plan *p, uint64_t at, size_t n)
{
    const struct sk_ska *a = &p->a;
    uint32_t f = file_at(p, &at);
    uint64_t taken = 0, end = at + n;
    for (size_t b = 0; b < a->block_count; b++)
        for (uint32_t k = 0; a->blocks[b].own && k < a->blocks[b].count; k++) {
            const struct sk_ska_part *part = &a->parts[a->blocks[b].first + k];
            for (uint32_t i = 0; i < part->count; i++) {
                const struct sk_ska_segment *s = &a->segments[part->first + i];
                uint64_t from = s->offset > at ? s->offset : at, to = s->offset + sk_ska_segment_bytes(a, part, s);
                to = to < end ? to : end;
                taken += s->file == f && to > from ? to - from : 0;
            }
        }
    return taken >= n - n / 2;
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
