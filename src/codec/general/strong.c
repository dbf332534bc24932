/* LZMA as raw chunks (LZMA2) without headers. How bytes are put into contexts, by their place in a word
 * or by the byte before, is what a sample says: numbers want the one, text the other. */
#include "codec/general/strong.h"

#include "codec/general/general.h"

#ifdef HAVE_LZMA
#include <lzma.h>

/* The window that both sides use for n bytes. */
static uint32_t window_of(size_t n)
{
    uint64_t w = n < SK_PACK_STRONG_WINDOW ? n : SK_PACK_STRONG_WINDOW;
    return w < LZMA_DICT_SIZE_MIN ? LZMA_DICT_SIZE_MIN : (uint32_t)w;
}

/* Contexts: of the byte before (lc), and of the place in a word (lp, pb). */
static const struct contexts {
    uint32_t lc, lp, pb;
} contexts[] = {{3, 0, 2}, {4, 0, 0}, {0, 3, 3}, {1, 3, 3}, {1, 2, 2}};

static size_t pack_with(lzma_options_lzma *o, const struct contexts *c, const void *in, size_t n, void *out, size_t cap)
{
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, o}, {LZMA_VLI_UNKNOWN, NULL}};
    size_t got = 0;
    o->dict_size = window_of(n);
    o->lc = c->lc;
    o->lp = c->lp;
    o->pb = c->pb;
    return lzma_raw_buffer_encode(filters, NULL, in, n, out, &got, cap) == LZMA_OK ? got : 0;
}

/* What leaves the least of a piece from the middle; out: working memory. */
static const struct contexts *choose(const uint8_t *in, size_t n, void *out, size_t cap)
{
    enum { SAMPLE = 96 << 10, QUICK = 1 };
    lzma_options_lzma quick;
    size_t least = SIZE_MAX, k = n < SAMPLE ? n : SAMPLE;
    const struct contexts *best = contexts;
    if (lzma_lzma_preset(&quick, QUICK))
        return best;
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        size_t got = pack_with(&quick, &contexts[i], in + (n - k) / 2 / 8 * 8, k, out, cap);
        if (got && got < least) {
            least = got;
            best = &contexts[i];
        }
    }
    return best;
}

size_t sk_strong_pack(int level, const void *in, size_t n, void *out, size_t cap)
{
    lzma_options_lzma o;
    if (lzma_lzma_preset(&o, level < 1 || level > 9 ? 9 : (uint32_t)level))
        return 0;
    return pack_with(&o, choose(in, n, out, cap), in, n, out, cap);
}

int sk_strong_unpack(const void *in, size_t n, void *out, size_t n_out)
{
    lzma_options_lzma o = {.dict_size = window_of(n_out)};
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &o}, {LZMA_VLI_UNKNOWN, NULL}};
    size_t used = 0, got = 0;
    lzma_ret rc = lzma_raw_buffer_decode(filters, NULL, in, &used, n, out, &got, n_out);
    if (rc == LZMA_MEM_ERROR)
        return SAIKAI_ENOMEM;
    return rc == LZMA_OK && used == n && got == n_out ? 0 : SAIKAI_EDAMAGED;
}
#else
size_t sk_strong_pack(int level, const void *in, size_t n, void *out, size_t cap)
{
    (void)level, (void)in, (void)n, (void)out, (void)cap;
    return 0;
}

int sk_strong_unpack(const void *in, size_t n, void *out, size_t n_out)
{
    (void)in, (void)n, (void)out, (void)n_out;
    return SAIKAI_ENOTSUP;
}
#endif
