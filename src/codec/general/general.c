/* Calls zstd and gzip with levels that suit blocks of archives, and runs the delta and shuffle
 * filters in both directions. */
#include "codec/general/general.h"

#include "codec/general/strong.h"
#ifdef HAVE_ZSTD
#include "codec/general/zstd_code.h"
#endif

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

void sk_packer_free(struct sk_packer *p)
{
    if (!p)
        return;
#ifdef HAVE_ZSTD
    ZSTD_freeCCtx(p->zstd_out);
    ZSTD_freeDCtx(p->zstd_in);
#endif
    *p = (struct sk_packer){0};
}

static const struct backend {
    const char *name, *about;
    int number;
} backends[] = {
#ifdef HAVE_ZSTD
    {"zstd", "Zstandard", SK_BACKEND_ZSTD},
#endif
#ifdef HAVE_ZLIB
    {"gzip", "Deflate", SK_BACKEND_GZIP},
#endif
#ifdef HAVE_LZMA
    {"lzma", "LZMA, as xz has it", SK_BACKEND_LZMA},
#endif
    {"store", "as it is", SK_BACKEND_STORE},
};

static const struct backend *backend_at(int i)
{
    return i >= 0 && i < (int)(sizeof backends / sizeof *backends) ? &backends[i] : NULL;
}

SK_KIND(sk_backend_kind, "backend", "general compressor", struct backend, backend_at, about);

int sk_backend_here(int backend)
{
    for (int i = 0; backend_at(i); i++)
        if (backends[i].number == backend)
            return backend;
    return -1;
}

int sk_backend_parse(const char *name)
{
    int i = sk_kind_form(&sk_backend_kind, name);
    return i < 0 ? -1 : backends[i].number;
}

size_t sk_pack_bound(size_t n)
{
    return n + n / 64 + 1024; /* more than ZSTD_compressBound and compressBound ask for */
}

enum {
    LAZY_LEVEL = 5,
    USUAL_LEVELS = 9,
    HASH_LOG = 19,
    LARGE_LOG = 22,
    WINDOW_LOG = 27,
    AFTER_LOG = 20,
    FAR_LOG = 23
};

/* Each backend: bytes written, 0 when it failed or did not fit. */
static size_t pack_zstd(struct sk_packer *p, int level, const void *in, size_t n, void *out,
                        size_t cap)
{
#ifdef HAVE_ZSTD
    if (!p->zstd_out && !(p->zstd_out = ZSTD_createCCtx()))
        return 0;
    ZSTD_CCtx *c = p->zstd_out;
    int far = level & SK_PACK_LONG;
    level &= ~SK_PACK_LONG;
    ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level ? level : 3);
    if (p->before_bytes) {
        /* matches lie as far back as all of it is long */
        int log = 10;
        while (log < WINDOW_LOG && (size_t)1 << log < p->before_bytes + n)
            log++;
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, log);
        /* 4 bytes for each entry of both tables, and 2 more: less than SK_PACK_TABLES. What is much further back than they have entries
         * is found by a table of few of the places, if it is long. */
        ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, log <= AFTER_LOG ? log : AFTER_LOG + 1);
        ZSTD_CCtx_setParameter(c, ZSTD_c_chainLog, log < AFTER_LOG ? log : AFTER_LOG);
        ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching, log > FAR_LOG);
        ZSTD_CCtx_refPrefix(c, p->before, p->before_bytes);
    }
    if (far && !p->before_bytes) {
        ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, WINDOW_LOG);
        ZSTD_CCtx_setParameter(c, ZSTD_c_enableLongDistanceMatching, 1);
    }
    /* clearing larger tables takes longer than they save, unless there is much to find */
    if (level >= LAZY_LEVEL && level <= USUAL_LEVELS && !p->before_bytes && n >> HASH_LOG &&
        !(n >> LARGE_LOG))
        ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, HASH_LOG);
    size_t got = ZSTD_compress2(c, out, cap, in, n);
    return ZSTD_isError(got) ? 0 : got;
#else
    return 0;
#endif
}

static size_t pack_gzip(int level, const void *in, size_t n, void *out, size_t cap)
{
#ifdef HAVE_ZLIB
    uLongf got = cap;
    return compress2(out, &got, in, n, level ? level : 6) == Z_OK ? got : 0;
#else
    return 0;
#endif
}

size_t sk_gzip_leaves(int level, const void *before, size_t n_before, const void *in, size_t n)
{
#ifdef HAVE_ZLIB
    z_stream z = {0};
    uint8_t out[16 << 10];
    if (n > UINT_MAX || deflateInit(&z, level) != Z_OK)
        return 0;
    if (n_before)
        deflateSetDictionary(&z, before, (uInt)n_before);
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)n;
    do {
        z.next_out = out;
        z.avail_out = sizeof out;
    } while (deflate(&z, Z_FINISH) == Z_OK);
    size_t left = z.total_out;
    deflateEnd(&z);
    return left;
#else
    (void)level, (void)before, (void)n_before, (void)in, (void)n;
    return 0;
#endif
}

int sk_pack(struct sk_packer *p, int *backend, int level, const void *in, size_t n, void *out,
            size_t *size, struct saikai_error *err)
{
    size_t got = 0, cap = sk_pack_bound(n);
    if (p->most && p->most < cap)
        cap = p->most;
    if (*backend == SK_BACKEND_ZSTD && n)
        got = pack_zstd(p, level, in, n, out, cap);
    else if (*backend == SK_BACKEND_GZIP && n)
        got = pack_gzip(level & ~SK_PACK_LONG, in, n, out, cap);
    else if (*backend == SK_BACKEND_LZMA && n)
        got = sk_strong_pack(level & ~SK_PACK_LONG, in, n, out, cap);
    if (*backend == SK_BACKEND_ZSTD && p->before_bytes)
        *backend = SK_BACKEND_ZSTD_AFTER;
    p->before_bytes = 0;
    if (!got || got >= n) {
        *backend = SK_BACKEND_STORE;
        if (n)
            memcpy(out, in, n);
        got = n;
    }
    *size = got;
    return 0;
}

static int unpack_zstd(struct sk_packer *p, const void *in, size_t n, void *out, size_t n_out)
{
#ifdef HAVE_ZSTD
    if (!p->zstd_in && !(p->zstd_in = ZSTD_createDCtx()))
        return SAIKAI_ENOMEM;
    /* without what it comes after, which zstd needs memory to know of, a whole stream would look damaged */
    size_t got = p->before_bytes ? ZSTD_DCtx_refPrefix(p->zstd_in, p->before, p->before_bytes) : 0;
    if (!ZSTD_isError(got))
        got = ZSTD_decompressDCtx(p->zstd_in, out, n_out, in, n);
    return got == n_out ? 0 : sk_zstd_code(got);
#else
    return SAIKAI_ENOTSUP;
#endif
}

static int unpack_gzip(const void *in, size_t n, void *out, size_t n_out)
{
#ifdef HAVE_ZLIB
    uLongf got = n_out;
    int z = uncompress(out, &got, in, n);
    return z == Z_OK && got == n_out ? 0 : z == Z_MEM_ERROR ? SAIKAI_ENOMEM : SAIKAI_EDAMAGED;
#else
    return SAIKAI_ENOTSUP;
#endif
}

int sk_unpack(struct sk_packer *p, int backend, const void *in, size_t n, void *out, size_t n_out,
              struct saikai_error *err)
{
    int rc = SAIKAI_EDAMAGED;
    if (backend == SK_BACKEND_STORE && n == n_out) {
        if (n)
            memcpy(out, in, n);
        rc = 0;
    } else if (backend == SK_BACKEND_ZSTD ||
               (backend == SK_BACKEND_ZSTD_AFTER && p->before_bytes)) {
        if (backend == SK_BACKEND_ZSTD)
            p->before_bytes = 0;
        rc = unpack_zstd(p, in, n, out, n_out);
    } else if (backend == SK_BACKEND_GZIP) {
        rc = unpack_gzip(in, n, out, n_out);
    } else if (backend == SK_BACKEND_LZMA) {
        rc = sk_strong_unpack(in, n, out, n_out);
    }
    p->before_bytes = 0;
    if (rc == SAIKAI_ENOMEM)
        return sk_fail(err, rc, "no memory to unpack a compressed stream of %zu bytes to %zu", n, n_out);
    return rc ? sk_fail(err, rc, "a compressed stream of %zu bytes does not unpack to %zu", n,
                        n_out)
              : 0;
}

/* ---- filters ---- */

#define DELTA(name, word)                                                                          \
    static void name(const uint8_t *in, size_t n, uint8_t *out, int undo)                          \
    {                                                                                              \
        word before = 0, v, d;                                                                     \
        size_t i = 0;                                                                              \
        for (; i + sizeof v <= n; i += sizeof v) {                                                 \
            memcpy(&v, in + i, sizeof v);                                                          \
            d = (word)(undo ? v + before : v - before);                                            \
            before = undo ? d : v;                                                                 \
            memcpy(out + i, &d, sizeof d);                                                         \
        }                                                                                          \
        memcpy(out + i, in + i, n - i);                                                            \
    }
DELTA(delta4, uint32_t)
DELTA(delta8, uint64_t)

static inline __attribute__((always_inline)) void shuffle_by(size_t w, const uint8_t *in, size_t n,
                                                             uint8_t *out, int undo)
{
    size_t count = n / w;
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < w; b++)
            if (undo)
                out[i * w + b] = in[b * count + i];
            else
                out[b * count + i] = in[i * w + b];
    memcpy(out + count * w, in + count * w, n - count * w);
}

/* Delta and shuffle in one go. */
static inline __attribute__((always_inline)) void delta_shuffle_by(size_t w, const uint8_t *in,
                                                                   size_t n, uint8_t *out, int undo)
{
    size_t count = n / w;
    uint64_t before = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t v = 0, d;
        if (undo) {
            for (size_t b = 0; b < w; b++)
                v |= (uint64_t)in[b * count + i] << 8 * b;
            before += v;
            memcpy(out + i * w, &before, w);
            continue;
        }
        memcpy(&v, in + i * w, w);
        d = v - before;
        before = v;
        for (size_t b = 0; b < w; b++)
            out[b * count + i] = (uint8_t)(d >> 8 * b);
    }
    memcpy(out + count * w, in + count * w, n - count * w);
}

static void run_filter(int filter, const uint8_t *in, size_t n, uint8_t *out, int undo)
{
    if (!n)
        return;
    switch (filter) {
    case SK_FILTER_DELTA4:
        delta4(in, n, out, undo);
        break;
    case SK_FILTER_DELTA8:
        delta8(in, n, out, undo);
        break;
    case SK_FILTER_SHUFFLE2:
        shuffle_by(2, in, n, out, undo);
        break;
    case SK_FILTER_SHUFFLE4:
        shuffle_by(4, in, n, out, undo);
        break;
    case SK_FILTER_SHUFFLE8:
        shuffle_by(8, in, n, out, undo);
        break;
    case SK_FILTER_DELTA4_SHUFFLE4:
        delta_shuffle_by(4, in, n, out, undo);
        break;
    case SK_FILTER_DELTA8_SHUFFLE8:
        delta_shuffle_by(8, in, n, out, undo);
        break;
    default:
        memcpy(out, in, n);
    }
}

void sk_filter_do(int filter, const void *in, size_t n, void *out)
{
    run_filter(filter, in, n, out, 0);
}

void sk_filter_undo(int filter, const void *in, size_t n, void *out)
{
    run_filter(filter, in, n, out, 1);
}
