/* gzip members (RFC 1952) by libdeflate, else zlib. What encode writes, `gunzip` reads, and so it
 * does several of them one after the other; decode takes any number of members, from whatever
 * program. */
#if defined(HAVE_DEFLATE) || defined(HAVE_ZLIB)
#include "codec/lossless/lossless.h"
#include "codec/array.h"

#include <limits.h>
#include <string.h>

#ifdef HAVE_DEFLATE
#include <libdeflate.h>

static size_t bound_of(size_t n)
{
    /* stored blocks: 5 bytes for each 5000 at worst, and the member's own 18 */
    return n + 5 * (n / 5000 + 2) + 64;
}

static int deflate_all(const void *in, size_t n, int level, void *out, size_t cap, size_t *size)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level > 12 ? 12 : level);
    if (!c)
        return SAIKAI_ENOMEM;
    *size = libdeflate_gzip_compress(c, in, n, out, cap);
    libdeflate_free_compressor(c);
    return *size ? 0 : SAIKAI_ENOSPC;
}

static int inflate_all(const uint8_t *in, size_t n, uint8_t *out, size_t want)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        return SAIKAI_ENOMEM;
    int rc = n ? 0 : SAIKAI_EDAMAGED;
    while (n && !rc) {
        size_t used, made;
        if (libdeflate_gzip_decompress_ex(d, in, n, out, want, &used, &made) !=
            LIBDEFLATE_SUCCESS) {
            rc = SAIKAI_EDAMAGED;
            break;
        }
        in += used, n -= used;
        out += made, want -= made;
    }
    libdeflate_free_decompressor(d);
    return rc ? rc : want ? SAIKAI_EDAMAGED : 0;
}
#else
#include <zlib.h>

static size_t bound_of(size_t n)
{
    return n + (n >> 12) + (n >> 14) + (n >> 25) + 64;
}

static uInt some(size_t n)
{
    return n > 1u << 30 ? 1u << 30 : (uInt)n;
}

static int deflate_all(const void *in, size_t n, int level, void *out, size_t cap, size_t *size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .next_out = out};
    size_t left = n, room = cap;
    if (deflateInit2(&z, level > 9 ? 9 : level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return SAIKAI_ENOMEM;
    int r = Z_OK;
    while (r == Z_OK) {
        uInt give = z.avail_in = some(left), take = z.avail_out = some(room);
        r = deflate(&z, give == left ? Z_FINISH : Z_NO_FLUSH);
        left -= give - z.avail_in, room -= take - z.avail_out;
    }
    deflateEnd(&z);
    *size = cap - room;
    return r == Z_STREAM_END ? 0 : SAIKAI_ENOSPC;
}

static int inflate_all(const uint8_t *in, size_t n, uint8_t *out, size_t want)
{
    uint8_t none;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .next_out = out ? out : &none};
    if (inflateInit2(&z, 31) != Z_OK)
        return SAIKAI_ENOMEM;
    int r = n ? Z_OK : Z_DATA_ERROR;
    while (r == Z_OK) {
        uInt give = z.avail_in = some(n), take = z.avail_out = some(want);
        r = inflate(&z, Z_NO_FLUSH);
        n -= give - z.avail_in, want -= take - z.avail_out;
        if (r == Z_STREAM_END && n)
            r = inflateReset(&z);
    }
    inflateEnd(&z);
    return r == Z_STREAM_END && !want ? 0 : r == Z_MEM_ERROR ? SAIKAI_ENOMEM : SAIKAI_EDAMAGED;
}
#endif

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n > SIZE_MAX / 2 ? (size_t)-1 : bound_of(n);
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0, size = 0;
    int level = opt && opt->level > 0 ? opt->level : 6;
    int rc = sk_lossless_begin(a, sk_codec_gzip.name, &n, err);
    if (rc)
        return rc;
    rc = deflate_all(in, n, level, out, cap, &size);
    if (rc)
        return sk_fail(err, rc, "codec gzip: %zu bytes into a buffer of %zu", n, cap);
    *out_size_bytes = size;
    return 0;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    int rc = sk_lossless_begin(a, sk_codec_gzip.name, &want, err);
    if (rc)
        return rc;
    rc = inflate_all(in, n, out, want);
    if (rc == SAIKAI_ENOMEM)
        return sk_fail(err, rc, "codec gzip: no memory to unpack %zu bytes to %zu", n, want);
    if (rc)
        return sk_fail(err, rc, "codec gzip: %zu bytes do not unpack to %zu", n, want);
    return 0;
}

const struct sk_codec_ops sk_codec_gzip = {
    .abi = SK_CODEC_ABI,
    .name = "gzip",
    .description = "gzip members, level 1 to 9 (6); gunzip reads them",
    .types = SK_TYPES_ALL,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
#else
typedef int sk_no_gzip;
#endif
