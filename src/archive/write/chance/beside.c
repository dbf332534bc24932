/* The archive's share of a piece is that of its blocks (a control variate: Ross, Simulation, ch. 9): the mean of the differences is that of all files, also where blocks hold
 * pieces of several kinds, and it varies less than what gzip leaves. Pieces stand behind what is before them, as far as gzip looks back. */
#include "archive/write/chance/beside.h"
#include "archive/write/chance/pieces.h"

#include "codec/general/general.h"

#include <math.h>
#include <stdlib.h>

enum { PIECES = SK_BESIDE_PIECES, PIECE = 16 << 10, BACK = 32 << 10, FEW = 4, LEVEL = 6 };

/* So that the first few are from all over. */
static const uint8_t order[PIECES] = {2, 10, 6, 14, 0, 8, 4, 12, 1, 9, 5, 13, 3, 11, 7, 15};

static uint64_t place_of(uint64_t total, uint64_t k)
{
    return total / PIECES * k + total / PIECES / 2;
}

/* Bytes that [from, end) has of piece k. */
static double shared_with(uint64_t total, uint64_t k, uint64_t from, uint64_t end)
{
    uint64_t at = place_of(total, k), last = at + PIECE;
    from = from > at ? from : at;
    end = end < last ? end : last;
    return end > from ? (double)(end - from) : 0;
}

void sk_beside_look(const struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes, struct sk_beside *b)
{
    const struct sk_ska *a = &p->a;
    uint64_t *begins = malloc((a->file_count + 1) * sizeof *begins), in_blocks = 0;
    *b = (struct sk_beside){.known = begins && total / PIECES >= PIECE + BACK};
    for (size_t f = 0, at = 0; f < a->file_count && b->known; at += a->files[f++].size_bytes)
        begins[f] = at;
    for (size_t i = 0; i < a->block_count && b->known; i++) {
        const struct sk_ska_block *block = &a->blocks[i];
        double share = (double)block->stored_bytes / (double)(block->size_bytes ? block->size_bytes : 1) / PIECE;
        in_blocks += block->stored_bytes;
        for (uint32_t j = block->first; j < block->first + block->count; j++)
            for (uint32_t s = a->parts[j].first; s < a->parts[j].first + a->parts[j].count; s++) {
                uint64_t from = begins[a->segments[s].file] + a->segments[s].offset, end = from + sk_ska_segment_bytes(a, &a->parts[j], &a->segments[s]),
                         first = from / (total / PIECES), last = end / (total / PIECES);
                for (uint64_t k = first ? first - 1 : 0; k <= last && k < PIECES; k++)
                    b->of[k] += share * shared_with(total, k, from, end);
            }
    }
    b->all = b->known ? (double)stored_bytes / (double)total : 0;
    b->others = b->known ? ((double)stored_bytes - (double)in_blocks) / (double)total : 0;
    free(begins);
}

/* n bytes of all files one after another. 0: they cannot be read. */
static int read_all(struct sk_ska_plan *p, uint64_t at, size_t n, uint8_t *to)
{
    for (size_t k; n; n -= k, at += k, to += k)
        if (!(k = sk_pieces_read(p, at, n, to)))
            return 0;
    return 1;
}

/* By how many times what chance takes from a mean of pieces it must be clear: less where the samples of nearly all classes have said the same. */
static double how_clear(const struct sk_ska_plan *p, uint64_t total)
{
    enum { NEARLY_ALL = 16 };
    return p->near_bytes < total / NEARLY_ALL ? 2.5 : 4;
}

/* How much less than their mean all pieces may have at the least, by k of them. */
static double doubt(const double *x, int k, double clear)
{
    enum { TIMES = 4 }; /* what sk_pieces_least takes */
    return (sk_pieces_mean(x, k) - sk_pieces_least(x, k)) * clear / TIMES;
}

/* 1: so many pieces tell that they have more than that; of what is in none as much as a sixteenth of one is taken for bytes of which gzip leaves nothing. */
static int is_more(const double *x, int k, double than, double clear)
{
    enum { UNSEEN = 16 };
    return sk_pieces_mean(x, k) - doubt(x, k, clear) - 1.0 / UNSEEN / k > than;
}

/* 1: more pieces would not make that clear: they have less, or half of them vary so much. */
static int gives_up(const double *x, int k, double than, double clear)
{
    double mean = sk_pieces_mean(x, k);
    return mean < than || (k == PIECES / 2 && mean - doubt(x, k, clear) * M_SQRT1_2 <= than);
}

/* Pieces tell it, by how much more gzip leaves of them than the archive, or by what it leaves of them: where the archive takes much of them from elsewhere, and gzip leaves about as
 * much of each, that varies less. */
static int is_longer(struct sk_ska_plan *p, uint64_t total, const struct sk_beside *b, uint8_t *buf)
{
    enum { FRAME = 6 };
    double of_gzip[PIECES], more[PIECES], clear = how_clear(p, total);
    for (int k = 0; k < PIECES;) {
        if (!read_all(p, place_of(total, order[k]) - BACK, BACK + PIECE, buf))
            return 0;
        size_t left = sk_gzip_leaves(LEVEL, buf, BACK, buf + BACK, PIECE);
        if (!left)
            return 0;
        of_gzip[k] = (double)(left - FRAME) / PIECE;
        more[k] = of_gzip[k] - b->of[order[k]];
        k++;
        if (k < FEW || k & (k - 1))
            continue;
        if (is_more(more, k, b->others, clear) || is_more(of_gzip, k, b->all, clear))
            return 1;
        if (gives_up(more, k, b->others, clear) && gives_up(of_gzip, k, b->all, clear))
            return 0;
    }
    return 0;
}

int sk_beside_gzip_is_longer(struct sk_ska_plan *p, uint64_t total, const struct sk_beside *b)
{
    uint8_t *buf = b->known ? malloc(BACK + PIECE) : NULL;
    int longer = buf && is_longer(p, total, b, buf);
    free(buf);
    return longer;
}
