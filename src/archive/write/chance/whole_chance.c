/* Asks zstd about pieces spread over all files, one by one and one after another. What repeats from piece to piece, values of a small
 * vocabulary above all, shortens these together; what repeats at any distance the marks tell, which the cutting into chunks has counted. */
#include "archive/write/chance/whole_chance.h"

#include "archive/write/chance/pieces.h"
#include "codec/general/general.h"

#include <stdlib.h>

enum { PIECES = 16, PIECE = 32 << 10, LEAST_PIECE = 8 << 10, PARTS = 64, LEAST_MARKS = 1000, USUAL_LEVEL = 3 };

/* What is left of each piece, and of all of them one after another, per byte. */
struct left {
    int count;
    double of[PIECES], together;
};

/* Where piece k is: in the middle of its share of all files, or about there, where bytes are not stored elsewhere already, since the stream would have
 * these once, too. -1: there are none. */
static int64_t place_of(const struct sk_ska_plan *p, uint64_t total, int k, size_t piece)
{
    static const int tries[] = {0, 1, -1, -2};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        int64_t at = (int64_t)(total / PIECES * (uint64_t)k + total / PIECES / 2) + tries[i] * (int64_t)(total / PARTS);
        if (!p->taken_bytes || !sk_pieces_taken(p, (uint64_t)at, piece))
            return at;
    }
    return -1;
}

/* 0: they cannot be read, there are too few, or there is no memory. */
static int look(struct sk_ska_plan *p, uint64_t total, struct left *l)
{
    size_t piece = total / PARTS < PIECE ? (size_t)(total / PARTS) : PIECE, all = 0, stored;
    struct sk_packer packer = {0};
    uint8_t *room = malloc(PIECES * piece + sk_pack_bound(PIECES * piece)), *to = room + PIECES * piece;
    int ok = room != NULL, backend, level = p->opt.level ? p->opt.level : USUAL_LEVEL;
    for (int k = 0; k < PIECES && ok; k++) {
        int64_t at = place_of(p, total, k, piece);
        if (at < 0)
            continue;
        size_t n = sk_pieces_read(p, (uint64_t)at, piece, room + all);
        backend = SK_BACKEND_ZSTD;
        ok = n && !sk_pack(&packer, &backend, level, room + all, n, to, &stored, NULL);
        l->of[l->count++] = ok ? (double)stored / (double)n : 0;
        all += n;
    }
    backend = SK_BACKEND_ZSTD;
    ok = ok && l->count >= PIECES / 4 && !sk_pack(&packer, &backend, level, room, all, to, &stored, NULL);
    l->together = ok ? (double)stored / (double)all : 0;
    sk_packer_free(&packer);
    free(room);
    return ok;
}

int sk_whole_may_be_shorter(struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes)
{
    /* what repeats and has not been found yet is taken for twice as much as the marks say, and gone; so is a sixteenth of all, which no piece has shown */
    double share = (double)stored_bytes / (double)total, again = (double)p->marks.again / (double)(p->marks.all + 1),
           taken = (double)p->taken_bytes / (double)total, repeats = taken + (again > taken ? 2 * (again - taken) : 0), keeps;
    struct left l = {0};
    if (p->marks.all < LEAST_MARKS || total / PARTS < LEAST_PIECE || share > 1 - repeats - 1.0 / PIECES || !look(p, total, &l))
        return 1;
    double mean = sk_pieces_mean(l.of, l.count), least = sk_pieces_least(l.of, l.count), shorter = l.together < mean ? l.together / mean : 1;
    keeps = (1 - repeats - 1.0 / PIECES) * shorter * shorter; /* once as seen, and as much again in all the rest */
    return least * keeps <= share;
}

double sk_whole_strong_share(struct sk_ska_plan *p, uint64_t total)
{
    enum { SHORT = 16 << 10 };
    struct sk_packer packer = {0};
    size_t n = total / PARTS < SHORT ? (size_t)(total / PARTS) : SHORT, all = 0, quick = 0, strong = 0;
    uint8_t *room = malloc(PIECES * n + sk_pack_bound(PIECES * n));
    int zstd = SK_BACKEND_ZSTD, lzma = SK_BACKEND_LZMA, ok = room && n >= LEAST_PIECE;
    for (int k = 0; k < PIECES && ok; k++) {
        int64_t at = place_of(p, total, k, n);
        all += at < 0 ? 0 : sk_pieces_read(p, (uint64_t)at, n, room + all);
    }
    ok = ok && all >= PIECES / 4 * n && !sk_pack(&packer, &zstd, USUAL_LEVEL, room, all, room + PIECES * n, &quick, NULL) && !sk_pack(&packer, &lzma, p->opt.level, room, all, room + PIECES * n, &strong, NULL);
    sk_packer_free(&packer);
    free(room);
    return ok && quick ? (double)strong / (double)quick : 0;
}
