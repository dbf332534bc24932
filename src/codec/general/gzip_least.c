/* Deflate (RFC 1951) codes what it has not seen in the 32 KiB before by codes for single bytes, which take no fewer bits than these bytes have entropy. zlib begins new
 * codes less often than these here are looked at together, and takes three equal bytes within 4 KiB only, four from further back. */
#include "codec/general/gzip_least.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 32 << 10, NEAR = 4 << 10, HASH_BITS = 15, RUN = 8 << 10, STEPS = 16 };

void sk_gzip_least_free(struct sk_gzip_least *t)
{
    free(t->head);
    free(t->before);
    *t = (struct sk_gzip_least){0};
}

static int has_room(struct sk_gzip_least *t, size_t n)
{
    if (!t->head)
        t->head = malloc(sizeof *t->head << HASH_BITS);
    if (t->head && t->room < n) {
        free(t->before);
        t->before = malloc(n * sizeof *t->before);
        t->room = t->before ? n : 0;
    }
    return t->head && t->room >= n;
}

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* How many bytes from `at` on stood before, 0, 3 or 4; whoever stood often is taken to have done so. */
static size_t known_at(struct sk_gzip_least *t, const uint8_t *in, size_t at)
{
    enum { THREE = 0xffffff };
    uint32_t here = word_at(in + at), slot = ((here & THREE) * 0x9e3779b1u) >> (32 - HASH_BITS);
    int32_t k = t->head[slot], oldest = (int32_t)at - WINDOW;
    size_t known = 0;
    for (int step = 0; k >= 0 && k >= oldest && known < 4; k = t->before[k], step++) {
        uint32_t other = word_at(in + k) ^ here;
        if (!other || step == STEPS)
            known = 4;
        else if (!(other & THREE) && (int32_t)at - k <= NEAR)
            known = 3;
    }
    t->before[at] = t->head[slot];
    t->head[slot] = (int32_t)at;
    return known;
}

/* Bits of bytes that occur so often. */
static double bits_of(const uint32_t count[256])
{
    double all = 0, bits = 0;
    for (int v = 0; v < 256; v++)
        if (count[v]) {
            all += count[v];
            bits -= count[v] * (double)log2f((float)count[v]);
        }
    return all > 0 ? bits + all * log2(all) : 0;
}

double sk_gzip_least(struct sk_gzip_least *t, const uint8_t *in, size_t from, size_t n)
{
    double bits = 0;
    size_t known_until = 0;
    if (n > INT32_MAX || !has_room(t, n))
        return 0;
    memset(t->head, 0xff, sizeof *t->head << HASH_BITS);
    for (size_t at = from > WINDOW ? from - WINDOW : 0; at < n;) {
        uint32_t count[256] = {0};
        size_t end = at < from ? from : n - at < RUN ? n : at + RUN;
        for (int asked = at >= from; at < end; at++) {
            size_t known = at + 4 <= n ? known_at(t, in, at) : 4;
            known_until = at + known > known_until ? at + known : known_until;
            count[in[at]] += asked && at >= known_until;
        }
        bits += bits_of(count);
    }
    return bits / 8;
}
