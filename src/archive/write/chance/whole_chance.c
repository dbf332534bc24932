/* Asks zstd about pieces spread over all files, one by one and one after another. What repeats from piece to piece, values of a small
 * vocabulary above all, shortens these together; what repeats at any distance the marks tell, which the cutting into chunks has counted. */
#include "archive/write/chance/whole_chance.h"

#include "archive/write/chance/pieces.h"
#include "codec/general/general.h"

#include <stdlib.h>

enum { PIECES = 16, PIECE = 32 << 10, LEAST_PIECE = 8 << 10, PARTS = 64, LEAST_MARKS = 1000, USUAL_LEVEL = 3 };

/* What is left of each piece, and of all of them one after another, per byte. */
struct left {
    double of[PIECES], together;
};

/* 0: they cannot be read, or there is no memory. */
static int look(struct sk_ska_plan *p, uint64_t total, struct left *l)
{
    size_t piece = total / PARTS < PIECE ? (size_t)(total / PARTS) : PIECE, all = 0, stored;
    struct sk_packer packer = {0};
    uint8_t *room = malloc(PIECES * piece + sk_pack_bound(PIECES * piece)), *to = room + PIECES * piece;
    int ok = room != NULL, backend, level = p->opt.level ? p->opt.level : USUAL_LEVEL;
    for (int k = 0; k < PIECES && ok; k++) {
        size_t n = sk_pieces_read(p, total / PIECES * (uint64_t)k + total / PIECES / 2, piece, room + all);
        backend = SK_BACKEND_ZSTD;
        ok = n && !sk_pack(&packer, &backend, level, room + all, n, to, &stored, NULL);
        l->of[k] = ok ? (double)stored / (double)n : 0;
        all += n;
    }
    backend = SK_BACKEND_ZSTD;
    ok = ok && !sk_pack(&packer, &backend, level, room, all, to, &stored, NULL);
    l->together = ok ? (double)stored / (double)all : 0;
    sk_packer_free(&packer);
    free(room);
    return ok;
}

int sk_whole_may_be_shorter(struct sk_ska_plan *p, uint64_t total, uint64_t stored_bytes)
{
    /* what repeats is taken for twice as much as the marks say, and gone; so is a sixteenth of all, which no piece has shown */
    double share = (double)stored_bytes / (double)total, repeats = 2 * (double)p->marks.again / (double)(p->marks.all + 1), keeps;
    struct left l;
    if (p->marks.all < LEAST_MARKS || total / PARTS < LEAST_PIECE || share > 1 - repeats - 1.0 / PIECES || !look(p, total, &l))
        return 1;
    double mean = sk_pieces_mean(l.of, PIECES), least = sk_pieces_least(l.of, PIECES), shorter = l.together < mean ? l.together / mean : 1;
    keeps = (1 - repeats - 1.0 / PIECES) * shorter * shorter; /* once as seen, and as much again in all the rest */
    return least * keeps <= share;
}
