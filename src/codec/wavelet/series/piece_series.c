/* Makes pieces of the form SERIES. Coding a series takes ten times as long as anything else here, so that some thousand values
 * tell first whether it is worth it. */
#include "codec/wavelet/series/piece_series.h"

#include "codec/entropy/scratch.h"
#include "codec/wavelet/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VALUES = 512, LEAST_BYTES = 192 };

/* What a series may take of what stands there. */
static double worth(const struct piece *j)
{
    return j->effort == PIECE_BEST ? 1 : j->effort == PIECE_THRIFTY ? 0.8 : 0.6;
}

static int suits(const struct piece *j)
{
    int axes = 0;
    for (int i = 0; i < j->a->ndims; i++)
        axes += j->a->dims[i] > 1;
    return axes == 1 && !j->mask && j->n >= LEAST_VALUES && j->opt->bound.kind != SK_BOUND_PSNR &&
           (j->high - j->low) / sk_piece_step(j) < SERIES_LIMIT - 2;
}

static double value_at(const struct piece *j, const void *values, size_t i)
{
    return j->size == sizeof(float) ? ((const float *)values)[i] : ((const double *)values)[i];
}

/* Numbers of values [from, from + count). */
static void number(const struct piece *j, double step, size_t from, size_t count, int32_t *k)
{
    for (size_t i = 0; i < count; i++)
        k[i] = (int32_t)floor((value_at(j, j->source, from + i) - j->low) / step + 0.5);
}

/* Values that miss the bound as number k[i]: how many, and which, if there is a list. */
static size_t find_missed(const struct piece *j, double step, const int32_t *k, size_t *list)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++) {
        double x = value_at(j, j->source, i), y = j->low + step * k[i];
        y = j->size == sizeof(float) ? (float)y : y;
        if (!(fabs(x - y) <= j->limit)) {
            if (list)
                list[n] = i;
            n++;
        }
    }
    return n;
}

/* Bytes of numbers as their differences, or the differences of these: of a quiet stretch fewer than its share of the piece. */
static double plain_bytes(const int32_t *k, size_t n)
{
    double once = 0, twice = 0;
    for (size_t i = 2; i < n; i++) {
        int64_t d = (int64_t)k[i] - k[i - 1], before = (int64_t)k[i - 1] - k[i - 2];
        once += log2(1 + 2 * fabs((double)d));
        twice += log2(1 + 2 * fabs((double)(d - before)));
    }
    return fmin(once, twice) / 8;
}

/* Do two stretches of together `most` values take less than `part` of as many bytes as the piece has for so many? */
static int part_says(const struct piece *j, double step, size_t most, double part, size_t bytes, int32_t *room)
{
    struct sk_buf out = {0};
    size_t half = most / 2;
    int32_t least = INT32_MAX;
    number(j, step, j->n / 4 - half / 2, half, room);
    number(j, step, j->n / 4 * 3 - half / 2, half, room + half);
    for (size_t i = 0; i < 2 * half; i++)
        least = room[i] < least ? room[i] : least;
    for (size_t i = 0; i < 2 * half; i++)
        room[i] -= least;
    double share = (double)bytes * (double)(2 * half) / (double)j->n;
    if (j->effort == PIECE_SWIFT)
        share = fmin(share, plain_bytes(room, half) + plain_bytes(room + half, half));
    size_t limit = (size_t)(part * share);
    int worse = sk_series_put(room, 2 * half, limit, &out, NULL);
    sk_buf_free(&out);
    return !worse;
}

/* Do more than half of the first values follow numbers that stood before in the same order? So many numbers that they would not by chance, with so many bits each. */
static int repeats(const struct piece *j, double step, double bits, int32_t *k)
{
    enum { SHORTEST = 8, LONGEST = 64, PLACES = 1 << 13, BITS = 14, PART = 2 };
    const double chance = 16; /* bits */
    size_t seen = 0, end = j->n < PLACES ? j->n : PLACES;
    size_t stretch = bits * LONGEST < chance ? LONGEST : (size_t)(chance / bits) + 1;
    uint32_t *table = sk_scratch_take_zeros(sizeof *table << BITS);
    stretch = stretch < SHORTEST ? SHORTEST : stretch;
    number(j, step, 0, end, k);
    for (size_t i = stretch; table && i < end; i++) {
        uint32_t h = 0;
        for (size_t b = 1; b <= stretch; b++)
            h = (h ^ (uint32_t)k[i - b]) * 0x2f0b4c47u;
        uint32_t *at = &table[h >> (32 - BITS)];
        seen += *at && !memcmp(k + *at - stretch, k + i - stretch, stretch * sizeof *k);
        *at = (uint32_t)i;
    }
    sk_scratch_give(table);
    return seen * PART > end;
}

/* Is it to be tried on all? Few values tell what is hopeless, more of them the rest; what is small already is worth the time only where it repeats. */
static int is_promising(const struct piece *j, double step, size_t bytes)
{
    enum { FEW = 4096, MANY = 16384, PART = 4, FEWEST = 1024, LITTLE = 4 /* values of a bit */ };
    const double hopeless = 0.97, learning = 1.15, swift = 0.8;
    double likely = fmin(hopeless, learning * worth(j));
    int32_t *room = sk_scratch_take(MANY * sizeof *room);
    int yes = 0;
    if (room) {
        yes = repeats(j, step, 8 * (double)bytes / (double)j->n, room);
        if (!yes && bytes * 8 >= j->n / LITTLE)
            yes = (j->effort > PIECE_SWIFT || part_says(j, step, j->n / PART < FEWEST ? j->n / PART : FEWEST, swift, bytes, room)) &&
                  part_says(j, step, j->n / PART < FEW ? j->n / PART : FEW, hopeless, bytes, room) &&
                  (j->n / PART < MANY || part_says(j, step, MANY, likely, bytes, room));
    }
    sk_scratch_give(room);
    return yes;
}

/* The piece, of at most so many bytes. -1: it is none, or memory is out. */
static int make(const struct piece *j, double step, size_t most, struct sk_buf *out)
{
    int32_t *k = sk_scratch_take(j->n * sizeof *k);
    size_t n_missed = 0, *missed = NULL;
    if (k) {
        number(j, step, 0, j->n, k);
        n_missed = find_missed(j, step, k, NULL);
        missed = sk_scratch_take((n_missed + 1) * sizeof *missed);
    }
    int rc = missed && n_missed <= most / j->size ? 0 : -1;
    if (!rc) {
        find_missed(j, step, k, missed);
        sk_buf_put_u8(out, PIECE_SERIES);
        sk_buf_put_u16(out, (uint16_t)j->scale);
        sk_buf_put_f64(out, j->low);
        sk_buf_put_f64(out, step);
        sk_special_put_exact(out, missed, n_missed, j->in, j->size);
        rc = out->len < most && !sk_series_put(k, j->n, most - out->len, out, NULL) && sk_buf_ok(out) ? 0 : -1;
    }
    sk_scratch_give(missed);
    sk_scratch_give(k);
    return rc;
}

void sk_piece_series_try(struct piece *j, struct sk_buf *out, size_t from)
{
    int asked = (int)sk_piece_parameter(j, "series=", -1);
    double step = sk_piece_step(j);
    size_t bytes = out->len - from, most = asked == 1 ? SIZE_MAX : (size_t)(worth(j) * (double)bytes);
    struct sk_buf next = {0};
    if (!sk_buf_ok(out) || asked == 0 || !suits(j) || (asked != 1 && (bytes < LEAST_BYTES || !is_promising(j, step, bytes))))
        return;
    if (!make(j, step, most, &next)) {
        out->len = from;
        sk_buf_put(out, next.data, next.len);
    }
    sk_buf_free(&next);
}
