/* Packs small pieces, and opens them. */
#include "codec/lossless/within/packed.h"

#include "base/error.h"
#include "codec/lossless/within/lz.h"
#include "codec/lossless/within/number.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 24, LEAST = 96, QUICK = 3, SLOW = 19, SLOW_MOST = 64 << 10 };

void sk_packed_make(uint8_t *piece, size_t *made, size_t bytes)
{
    const struct sk_words l = {.word = 1, .words = *made};
    struct sk_buf head = {0};
    if (*made > bytes / SMALL || *made < LEAST)
        return;
    const double worth = 0.97; /* it is opened before it is read */
    const size_t cap = (size_t)(worth * (double)*made);
    uint8_t *tmp = malloc(2 * cap);
    sk_buf_put_u8(&head, SK_PACKED);
    sk_number_put(&head, *made);
    if (tmp && sk_buf_ok(&head)) {
        size_t n = sk_lz_encode(&l, piece, 0, QUICK, tmp, cap), again = n;
        uint8_t *best = tmp;
        if (n <= cap && *made <= SLOW_MOST)
            again = sk_lz_encode(&l, piece, 0, SLOW, tmp + cap, cap);
        if (again < n)
            n = again, best = tmp + cap;
        if (n + head.len <= cap) {
            memcpy(piece, head.data, head.len);
            memcpy(piece + head.len, best, n);
            *made = head.len + n;
        }
    }
    sk_buf_free(&head);
    free(tmp);
}

int sk_packed_open(const uint8_t *in, size_t n, size_t most, uint8_t **piece, size_t *made)
{
    struct sk_rd r = sk_rd_init(in, n);
    int first = sk_rd_u8(&r);
    uint64_t size = sk_number_get(&r);
    if (r.bad || first != SK_PACKED || !size || size > most)
        return -1;
    const struct sk_words l = {.word = 1, .words = (size_t)size};
    *made = (size_t)size;
    *piece = malloc(*made);
    return *piece ? sk_lz_decode(&l, r.p, sk_rd_left(&r), 0, *piece) : SAIKAI_ENOMEM;
}
