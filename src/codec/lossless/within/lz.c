/* Words as zstd codes them, with their bytes in order or shuffled. */
#include "codec/lossless/within/lz.h"

#include "base/error.h"
#include "codec/lossless/shuffle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZSTD
#include "codec/general/zstd_code.h"

double sk_lz_repeated(const struct sk_words *l, const uint8_t *x)
{
    enum { SLOTS = 1 << 12, PROBES = 8192 };
    uint64_t slot[SLOTS];
    size_t n = l->words < PROBES ? l->words : PROBES, hits = 0, moved = 0;
    uint64_t before = 0;
    memset(slot, 0, sizeof slot);
    x += (l->words - n) / 2 * l->word;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        memcpy(&v, x + i * l->word, l->word);
        size_t h = (size_t)(v * 0x9e3779b97f4a7c15u >> 52);
        moved += v != before;
        hits += v != before && slot[h] == v;
        slot[h] = before = v;
    }
    return moved > n / 16 ? (double)hits / (double)moved : 0;
}

double sk_lz_cost(const struct sk_words *l, const uint8_t *x, int shuffled)
{
    size_t n = l->words < 16384 ? l->words : 16384, bytes = n * l->word,
           cap = ZSTD_compressBound(bytes);
    uint8_t *tmp = malloc(bytes + cap);
    double bits = INFINITY;
    if (!tmp)
        return bits;
    x += (l->words - n) / 2 * l->word;
    if (shuffled)
        sk_shuffle(x, tmp, n, l->word);
    size_t made = ZSTD_compress(tmp + bytes, cap, shuffled ? tmp : x, bytes, 3);
    if (!ZSTD_isError(made))
        bits = 8.0 * (double)made / (double)n;
    free(tmp);
    return bits;
}

size_t sk_lz_encode(const struct sk_words *l, const void *x, int shuffled, int level,
                        uint8_t *out, size_t cap)
{
    size_t bytes = l->words * l->word, made = cap + 1;
    uint8_t *tmp = shuffled ? malloc(bytes) : NULL;
    if (tmp)
        sk_shuffle(x, tmp, l->words, l->word);
    if (tmp || !shuffled)
        made = ZSTD_compress(out, cap, tmp ? tmp : x, bytes, level);
    free(tmp);
    return ZSTD_isError(made) ? cap + 1 : made;
}

int sk_lz_decode(const struct sk_words *l, const void *in, size_t n, int shuffled, void *out)
{
    size_t bytes = l->words * l->word;
    uint8_t *tmp = shuffled ? malloc(bytes) : NULL;
    int rc = -1;
    if (shuffled && !tmp)
        return SAIKAI_ENOMEM;
    size_t got = ZSTD_decompress(tmp ? (void *)tmp : out, bytes, in, n);
    if (got == bytes)
        rc = 0;
    else if (sk_zstd_code(got) == SAIKAI_ENOMEM)
        rc = SAIKAI_ENOMEM;
    if (!rc && tmp)
        sk_unshuffle(tmp, out, l->words, l->word);
    free(tmp);
    return rc;
}
#else
double sk_lz_repeated(const struct sk_words *l, const uint8_t *x)
{
    return 0;
}
double sk_lz_cost(const struct sk_words *l, const uint8_t *x, int shuffled)
{
    return INFINITY;
}
size_t sk_lz_encode(const struct sk_words *l, const void *x, int shuffled, int level,
                        uint8_t *out, size_t cap)
{
    return cap + 1;
}
int sk_lz_decode(const struct sk_words *l, const void *in, size_t n, int shuffled, void *out)
{
    return -1;
}
#endif
