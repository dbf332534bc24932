/* Asks gzip about pieces spread over all files: it looks no further back than 32 KiB, so that pieces tell. Of bytes that have been
 * compressed already, which it stores as they are, only what lies between them is shown to it. */
#include "archive/write/chance/gzip_chance.h"
#include "archive/write/chance/pieces.h"

#include "codec/general/gzip_least.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE = 64 << 10, PIECES = 16, FEW = 4, LEVEL = 6 };

/* So that the first few are from all over. */
static const uint8_t order[PIECES] = {2, 10, 6, 14, 0, 8, 4, 12, 1, 9, 5, 13, 3, 11, 7, 15};

/* ---- pieces ---- */

/* Of each piece: what gzip leaves of its bytes, and of what zstd leaves of it. */
struct pieces {
    int count;
    double share[PIECES], over[PIECES];
};

/* Whether the pieces leave it open that gzip leaves no more than `share` of all bytes. The fewer have been seen, the clearer they must be; what
 * stands before a piece would shorten it a little, the more the more it shrinks. */
static int leave_it_open(const struct pieces *l, double share, int whole)
{
    enum { ALIKE = 16, BEFORE = 16 };
    double mean = sk_pieces_mean(l->share, l->count), least = 1;
    for (int i = 0; i < l->count; i++)
        least = l->share[i] < least ? l->share[i] : least;
    if (whole && sk_pieces_least(l->over, l->count) >= 1)
        return 0;
    if (sk_pieces_least(l->share, l->count) - (1 - mean) / BEFORE > share)
        return 0;
    /* a quarter, an eighth, a sixteenth must be between them; less where all pieces agree */
    return mean - mean / l->count <= share && least - least / ALIKE <= share;
}

/* Whether two pieces tell already that gzip leaves more: they stand for one half, and it would leave more were the other half nothing. Two may both be
 * from the larger files of a mixture, so that the samples of nearly all classes must have said that gzip does not come near, too. */
static int is_far_off(const struct pieces *l, double share, double near)
{
    static const double FEW_NEAR = 1.0 / 16;
    return l->count == 2 && near < FEW_NEAR && sk_pieces_mean(l->share, l->count) / 2 > share;
}

/* ---- bytes that hardly shrink ---- */

enum { RUN = 16 << 10, BACK = 32 << 10, WINDOW = 1 << 20 };

/* 1: so evenly spread over all values that a code for them takes more than it saves; gzip makes one for about so many bytes. */
static int is_stored(const uint8_t *in, size_t n)
{
    enum { TABLES = 4 };
    static const double LEAST = 7.964; /* bits; chance takes 0.011 of them, and a code's own bytes are worth 0.025 */
    uint32_t count[TABLES][256] = {{0}};
    double bits = 0;
    if (n < RUN)
        return 0;
    for (size_t i = 0; i < n; i++)
        count[i % TABLES][in[i]]++;
    for (int v = 0; v < 256; v++) {
        uint32_t k = count[0][v] + count[1][v] + count[2][v] + count[3][v];
        bits -= k ? (double)k * log2((double)k / (double)n) : 0;
    }
    return bits > LEAST * (double)n;
}

/* About what gzip leaves of in[from, n): what it stores is that long, and all else it is shown with what stands before. -1: no memory;
 * *shown: bytes that it was. */
static double leaves_of(const uint8_t *in, size_t from, size_t n, uint64_t *shown)
{
    enum { FRAME = 6 };
    static const double ENDS = 1.0 / 512; /* codes that begin elsewhere */
    double left = 0;
    for (size_t at = from, end; at < n; at = end) {
        size_t run = n - at < RUN ? n - at : RUN, back = at < BACK ? at : BACK, stored;
        int alike = is_stored(in + at, run);
        for (end = at + run; end < n && alike == is_stored(in + end, n - end < RUN ? n - end : RUN);)
            end += n - end < RUN ? n - end : RUN;
        if (alike) {
            left += (double)(end - at);
            continue;
        }
        if (!(stored = sk_gzip_leaves(LEVEL, in + at - back, back, in + at, end - at)))
            return -1;
        left += (double)(stored - FRAME) * (1 - ENDS);
        *shown += end - at;
    }
    return left;
}

/* Whether gzip may leave no more than so many bytes of all; it is not asked any more when it has been shown much of them. */
static int dense_may_leave(struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes)
{
    uint8_t *buf = malloc(BACK + WINDOW);
    uint64_t shown = 0, most = total / 6 + WINDOW;
    double left = 0, some = buf ? 0 : -1;
    for (uint32_t f = 0; f < p->a.file_count && some >= 0; f++)
        for (uint64_t from = 0, size = p->a.files[f].size_bytes; from < size && some >= 0; from += WINDOW) {
            size_t back = from < BACK ? (size_t)from : BACK, n = size - from < WINDOW ? (size_t)(size - from) : WINDOW;
            struct sk_ska_range r = {f, from - back, back + n, buf};
            some = shown > most || sk_feed_fetch(p->feed, &r, 1, NULL) ? -1 : leaves_of(buf, back, back + n, &shown);
            left += some;
        }
    free(buf);
    return some < 0 || left <= (double)stored_bytes;
}

/* What gzip leaves of a byte of a short piece, or less than that; below 0: it cannot be told. */
static double of_short_piece(struct sk_packer *packer, struct sk_gzip_least *least, uint8_t *buf, size_t n, int by_gzip)
{
    int gzip = SK_BACKEND_GZIP;
    size_t stored;
    if (!by_gzip)
        return sk_gzip_least(least, buf, 0, n) / (double)n;
    return sk_pack(packer, &gzip, LEVEL, buf, n, buf + PIECE, &stored, NULL) ? -1 : (double)stored / (double)n;
}

/* Whether short pieces tell already that gzip leaves more than `share` of all bytes: what stands before them would shorten them by half of what
 * they shrink at most, and a quarter of all has not been seen by four of them, a sixteenth by all. by_gzip: it is asked, which takes long. */
static int is_clear(struct sk_ska_plan *p, struct sk_packer *packer, uint64_t total, double share, uint8_t *buf, int by_gzip)
{
    enum { SHORT = 8 << 10 };
    static const double LITTLE = 0.4; /* of bytes that shrink more than that, short pieces say nothing */
    struct sk_gzip_least least = {0};
    double x[PIECES];
    int clear = 0, told = share >= LITTLE && total / PIECES >= SHORT;
    for (int k = 1; k <= PIECES && !clear && told; k++) {
        size_t n = sk_pieces_read(p, total / PIECES * order[k - 1] + total / PIECES / 3, SHORT, buf);
        x[k - 1] = n ? of_short_piece(packer, &least, buf, n, by_gzip) : -1;
        told = x[k - 1] >= 0;
        double mean = told ? sk_pieces_mean(x, k) : 0;
        clear = told && k >= FEW && !(k & (k - 1)) && sk_pieces_least(x, k) - (1 - mean) / 2 - mean / k > share;
        told = told && (by_gzip || k < FEW || mean - (1 - mean) / 2 > share); /* more pieces would not make that clear */
    }
    sk_gzip_least_free(&least);
    return clear;
}

int sk_gzip_may_be_shorter(struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes, int whole)
{
    static const double DENSE = 0.95;
    struct sk_packer packer = {0};
    uint8_t *buf = malloc(PIECE + sk_pack_bound(PIECE));
    struct pieces l = {0};
    double leaves = (double)stored_bytes / (double)total;
    int may = !buf || !(is_clear(p, &packer, total, leaves, buf, 0) || is_clear(p, &packer, total, leaves, buf, 1)), done = 0;
    for (int k = 1; k <= PIECES && buf && may && !done; k++) {
        int gzip = SK_BACKEND_GZIP, zstd = SK_BACKEND_ZSTD;
        size_t by_gzip = 0, by_zstd = 0, n = sk_pieces_read(p, total / PIECES * order[k - 1], PIECE, buf);
        if (!n || sk_pack(&packer, &gzip, LEVEL, buf, n, buf + PIECE, &by_gzip, NULL) || sk_pack(&packer, &zstd, 0, buf, n, buf + PIECE, &by_zstd, NULL))
            break;
        l.share[l.count] = (double)by_gzip / (double)n;
        l.over[l.count++] = (double)by_gzip / (double)by_zstd;
        if (k >= FEW && !(k & (k - 1)))
            may = leave_it_open(&l, leaves, whole);
        else
            may = !is_far_off(&l, leaves, (double)p->near_bytes / (double)total);
        done = k == FEW && may && sk_pieces_mean(l.share, k) > DENSE;
    }
    if (done)
        may = dense_may_leave(p, total, stored_bytes);
    sk_packer_free(&packer);
    free(buf);
    return may;
}
