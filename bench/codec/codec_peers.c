/* Calls zfp and c-blosc as benches need them: one array in, its code out, and back. */
#include "codec_peers.h"

#include "base/types.h"

#ifdef HAVE_ZFP
#include <zfp.h>

/* The inner dimensions, up to four; outer ones are one with the slowest. */
static zfp_field *field_of(const struct sk_array *a, const void *x)
{
    size_t d[4] = {1, 1, 1, 1};
    int n = 0;
    for (int k = a->ndims - 1; k >= 0; k--) {
        if (n < 4)
            d[n++] = a->dims[k];
        else
            d[3] *= a->dims[k];
    }
    zfp_type type = a->type == SAIKAI_F32 ? zfp_type_float : zfp_type_double;
    void *p = (void *)(uintptr_t)x;
    switch (n) {
    case 0:
    case 1:
        return zfp_field_1d(p, type, d[0]);
    case 2:
        return zfp_field_2d(p, type, d[0], d[1]);
    case 3:
        return zfp_field_3d(p, type, d[0], d[1], d[2]);
    default:
        return zfp_field_4d(p, type, d[0], d[1], d[2], d[3]);
    }
}

/* tolerance 0: reversible. Returns the bytes of the code, 0: it failed. */
static size_t zfp_run(const struct sk_array *a, const void *x, double tolerance, void *coded,
                      size_t cap, int decode)
{
    bitstream *s = stream_open(coded, cap);
    zfp_stream *z = zfp_stream_open(s);
    zfp_field *f = field_of(a, x);
    if (tolerance > 0)
        zfp_stream_set_accuracy(z, tolerance);
    else
        zfp_stream_set_reversible(z);
    zfp_stream_rewind(z);
    size_t n = decode ? zfp_decompress(z, f) : zfp_compress(z, f);
    zfp_field_free(f);
    zfp_stream_close(z);
    stream_close(s);
    return n;
}

static int zfp_encode(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap,
                      size_t *made)
{
    *made = zfp_run(a, in, 0, out, cap, 0);
    return *made ? 0 : -1;
}

static int zfp_decode(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap)
{
    return zfp_run(a, out, 0, (void *)(uintptr_t)in, n, 1) ? 0 : -1;
}

size_t codec_zfp_encode(const struct sk_array *a, const void *in, double tolerance, void *out,
                        size_t cap)
{
    return zfp_run(a, in, tolerance, out, cap, 0);
}

size_t codec_zfp_decode(const struct sk_array *a, const void *in, size_t n, double tolerance,
                        void *out)
{
    return zfp_run(a, out, tolerance, (void *)(uintptr_t)in, n, 1);
}
#else
size_t codec_zfp_encode(const struct sk_array *a, const void *in, double tolerance, void *out,
                        size_t cap)
{
    return 0;
}

size_t codec_zfp_decode(const struct sk_array *a, const void *in, size_t n, double tolerance,
                        void *out)
{
    return 0;
}
#endif

#ifdef HAVE_BLOSC
#include <blosc.h>

static int blosc_run(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap,
                     size_t *made, const char *codec, int level, int shuffle)
{
    int r = blosc_compress_ctx(level, shuffle, sk_type_size(a->type), n, in, out, cap, codec, 0, 1);
    *made = r > 0 ? (size_t)r : 0;
    return r > 0 ? 0 : -1;
}

static int blosc_lz4(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap,
                     size_t *made)
{
    return blosc_run(a, in, n, out, cap, made, "lz4", 5, BLOSC_SHUFFLE);
}

static int blosc_bits(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap,
                      size_t *made)
{
    return blosc_run(a, in, n, out, cap, made, "lz4", 5, BLOSC_BITSHUFFLE);
}

static int blosc_zstd(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap,
                      size_t *made)
{
    return blosc_run(a, in, n, out, cap, made, "zstd", 5, BLOSC_SHUFFLE);
}

static int blosc_decode(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap)
{
    return blosc_decompress_ctx(in, out, cap, 1) == (int)cap ? 0 : -1;
}
#endif

const struct codec_peer codec_peers[] = {
#ifdef HAVE_ZFP
    {"zfp, reversible", 1, zfp_encode, zfp_decode},
#endif
#ifdef HAVE_BLOSC
    {"blosc, shuffle, lz4", 0, blosc_lz4, blosc_decode},
    {"blosc, bitshuffle, lz4", 0, blosc_bits, blosc_decode},
    {"blosc, shuffle, zstd", 0, blosc_zstd, blosc_decode},
#endif
    {NULL, 0, NULL, NULL},
};
const int n_codec_peers = (int)(sizeof codec_peers / sizeof *codec_peers) - 1;
