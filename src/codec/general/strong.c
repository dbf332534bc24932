/* LZMA as raw chunks (LZMA2) without headers. */
#include "codec/general/strong.h"

#include "codec/general/contexts.h"
#include "codec/general/general.h"

#ifdef HAVE_LZMA
#include <lzma.h>

/* The window that both sides use for n bytes. */
static uint32_t window_of(size_t n)
{
    uint64_t w = n < SK_PACK_STRONG_WINDOW ? n : SK_PACK_STRONG_WINDOW;
    return w < LZMA_DICT_SIZE_MIN ? LZMA_DICT_SIZE_MIN : (uint32_t)w;
}

static size_t pack_with(lzma_options_lzma *o, struct sk_lzma_contexts c, const void *in, size_t n, void *out, size_t cap)
{
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, o}, {LZMA_VLI_UNKNOWN, NULL}};
    size_t got = 0;
    o->dict_size = window_of(n);
    o->lc = c.lc;
    o->lp = c.lp;
    o->pb = c.pb;
    return lzma_raw_buffer_encode(filters, NULL, in, n, out, &got, cap) == LZMA_OK ? got : 0;
}

size_t sk_strong_pack(int level, const void *in, size_t n, void *out, size_t cap)
{
    lzma_options_lzma o;
    if (lzma_lzma_preset(&o, level < 1 || level > 9 ? 9 : (uint32_t)level))
        return 0;
    return pack_with(&o, sk_contexts_choose(in, n), in, n, out, cap);
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
