/* One gzip stream in and out by each of the libraries. Without any it refuses. */
#include "codec/haar/deflate.h"

#if HAVE_DEFLATE

#include <libdeflate.h>

int sk_haar_gzip(const void *in, size_t n, int level, void *out, size_t cap, size_t *out_size_bytes,
                 struct saikai_error *err)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    if (!c)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a gzip compressor");
    *out_size_bytes = libdeflate_gzip_compress(c, in, n, out, cap);
    libdeflate_free_compressor(c);
    return 0;
}

int sk_haar_gunzip(const void *in, size_t n, void *out, size_t out_size_bytes,
                   struct saikai_error *err)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a gzip decompressor");
    size_t used = 0, got = 0;
    enum libdeflate_result r =
        libdeflate_gzip_decompress_ex(d, in, n, out, out_size_bytes, &used, &got);
    libdeflate_free_decompressor(d);
    if (r != LIBDEFLATE_SUCCESS || used != n || got != out_size_bytes)
        return sk_fail(err, SAIKAI_EDAMAGED, "haar: the gzip stream is damaged");
    return 0;
}

#elif HAVE_ZLIB

#include <zlib.h>

/* zlib counts in 32 bits: feed it in parts. */
static uInt part(size_t n)
{
    return n < (1u << 30) ? (uInt)n : 1u << 30;
}

int sk_haar_gzip(const void *in, size_t n, int level, void *out, size_t cap, size_t *out_size_bytes,
                 struct saikai_error *err)
{
    z_stream z = {0};
    if (deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a gzip compressor");
    const unsigned char *p = in, *end = p + n;
    unsigned char *o = out, *o_end = o + cap;
    int r = Z_OK;
    while (r == Z_OK && o < o_end) {
        uInt give = part((size_t)(end - p)), room = part((size_t)(o_end - o));
        z.next_in = (unsigned char *)p, z.avail_in = give;
        z.next_out = o, z.avail_out = room;
        r = deflate(&z, p + give == end ? Z_FINISH : Z_NO_FLUSH);
        p += give - z.avail_in;
        o += room - z.avail_out;
    }
    deflateEnd(&z);
    *out_size_bytes = r == Z_STREAM_END ? (size_t)(o - (unsigned char *)out) : 0;
    return 0;
}

int sk_haar_gunzip(const void *in, size_t n, void *out, size_t out_size_bytes,
                   struct saikai_error *err)
{
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a gzip decompressor");
    const unsigned char *p = in, *end = p + n;
    unsigned char none, *o = out_size_bytes ? out : &none, *o_end = o + out_size_bytes;
    int r = Z_OK;
    while (r == Z_OK) {
        uInt give = part((size_t)(end - p)), room = part((size_t)(o_end - o));
        z.next_in = (unsigned char *)p, z.avail_in = give;
        z.next_out = o, z.avail_out = room;
        r = inflate(&z, Z_NO_FLUSH);
        p += give - z.avail_in;
        o += room - z.avail_out;
    }
    inflateEnd(&z);
    if (r == Z_MEM_ERROR)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a gzip decompressor");
    if (r != Z_STREAM_END || p != end || o != o_end)
        return sk_fail(err, SAIKAI_EDAMAGED, "haar: the gzip stream is damaged");
    return 0;
}

#else

int sk_haar_gzip(const void *in, size_t n, int level, void *out, size_t cap, size_t *out_size_bytes,
                 struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "haar: built without gzip (install zlib or libdeflate, or use gzip=0)");
}

int sk_haar_gunzip(const void *in, size_t n, void *out, size_t out_size_bytes,
                   struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_ENOTSUP,
                   "haar: built without gzip (install zlib or libdeflate and build again)");
}

#endif
