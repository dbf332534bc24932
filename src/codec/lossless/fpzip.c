/* fpzip streams by libfpzip, with all bits kept.
 *
 * The library reads from and writes to bare pointers. So it gets buffers larger than it can use:
 * what it writes goes to a scratch buffer of the worst case, what it reads is copied before as many
 * zeros as the array's values can consume; and bytes that do not match their checksum never reach
 * it.
 *
 * A piece: u64 XXH3 of what follows and of the array's shape | fpzip's bytes without its header
 * (the array describes itself). */
#ifdef HAVE_FPZIP
#include "codec/lossless/lossless.h"
#include "codec/array.h"
#include "codec/lossless/late/fpzip.h"

#include "base/hash.h"
#include "base/types.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The range coder moves at most this many bytes for one value (a symbol, raw bits, carries). */
#define WORST_PER_VALUE 16
#define WORST_EXTRA     4096

/* fpzip's three dimensions: the inner three, the outer ones merged into its slowest; 0 when they do
 * not fit its int. */
static int shape(const struct sk_array *a, FPZ *f)
{
    size_t d[3] = {1, 1, 1};
    for (int k = 0; k < a->ndims; k++) {
        int from_inner = a->ndims - 1 - k;
        d[from_inner < 2 ? from_inner : 2] *= a->dims[k];
    }
    int pair = a->type == SAIKAI_C64 || a->type == SAIKAI_C128;
    if (pair && d[0] > INT_MAX / 2)
        return 0;
    d[0] <<= pair;
    if (d[0] > INT_MAX || d[1] > INT_MAX || d[2] > INT_MAX)
        return 0;
    f->type = a->type == SAIKAI_F32 || a->type == SAIKAI_C64 ? FPZIP_TYPE_FLOAT : FPZIP_TYPE_DOUBLE;
    f->prec = 0;
    f->nx = (int)d[0], f->ny = (int)d[1], f->nz = (int)d[2], f->nf = 1;
    return 1;
}

/* The decoder trusts its input so much that even whole bytes of an array of another shape make it
 * fail: the shape is checked with them. */
static uint64_t hash_of(const struct sk_array *a, const void *data, size_t n)
{
    FPZ f = {0};
    shape(a, &f);
    uint64_t all[5] = {(uint64_t)f.type, (uint64_t)f.nx, (uint64_t)f.ny, (uint64_t)f.nz,
                       sk_hash64(data, n)};
    return sk_hash64(all, sizeof all);
}

static size_t worst(size_t n_bytes)
{
    return n_bytes / 4 * WORST_PER_VALUE + WORST_EXTRA;
}

static size_t max_encoded(const struct sk_array *a)
{
    size_t n = sk_array_size_bytes(a);
    return n > SIZE_MAX / 16 ? (size_t)-1 : n + n / 4 + WORST_EXTRA;
}

static int encode(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err)
{
    size_t n = 0, made = 0;
    int rc = sk_lossless_begin(a, sk_codec_fpzip.name, &n, err);
    if (rc || (rc = sk_fpzip_load(err)))
        return rc;
    uint8_t *to = malloc(worst(n));
    FPZ *f = to ? fpzip_write_to_buffer(to, worst(n)) : NULL;
    if (!f) {
        rc = sk_fail(err, SAIKAI_ENOMEM, "codec fpzip: no memory for %zu bytes", worst(n));
        goto out;
    }
    if (!shape(a, f)) {
        rc = sk_fail(err, SAIKAI_ENOTSUP, "codec fpzip: a dimension is over %d; use smaller pieces",
                     INT_MAX);
        goto out;
    }
    made = n ? fpzip_write(f, in) : 0;
    if (n && !made)
        rc = sk_fail(err, SAIKAI_EINTERNAL, "codec fpzip: %s", fpzip_errstr[fpzip_errno]);
    else if (made + 8 > cap)
        rc = sk_fail(err, SAIKAI_ENOSPC, "codec fpzip: %zu bytes do not fit into %zu", made + 8,
                     cap);
out:
    if (f)
        fpzip_write_close(f);
    if (!rc) {
        uint64_t hash = hash_of(a, to, made);
        memcpy(out, &hash, 8);
        memcpy((uint8_t *)out + 8, to, made);
        *out_size_bytes = made + 8;
    }
    free(to);
    return rc;
}

static int decode(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err)
{
    size_t want = 0;
    uint64_t hash;
    int rc = sk_lossless_begin(a, sk_codec_fpzip.name, &want, err);
    if (rc)
        return rc;
    if (n < 8 || n > max_encoded(a))
        return sk_fail(err, SAIKAI_EDAMAGED, "codec fpzip: %zu bytes cannot be %zu bytes coded", n,
                       want);
    memcpy(&hash, in, 8);
    n -= 8;
    if (hash_of(a, (const uint8_t *)in + 8, n) != hash)
        return sk_fail(err, SAIKAI_EDAMAGED, "codec fpzip: the checksum does not fit");
    if (!want || (rc = sk_fpzip_load(err)))
        return rc;
    uint8_t *from = calloc(1, n + worst(want));
    FPZ *f = NULL;
    if (from) {
        memcpy(from, (const uint8_t *)in + 8, n);
        f = fpzip_read_from_buffer(from);
    }
    if (!f)
        rc = sk_fail(err, SAIKAI_ENOMEM, "codec fpzip: no memory for %zu bytes", n + worst(want));
    else if (!shape(a, f) || !fpzip_read(f, out))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "codec fpzip: %s", fpzip_errstr[fpzip_errno]);
    if (f)
        fpzip_read_close(f);
    free(from);
    return rc;
}

const struct sk_codec_ops sk_codec_fpzip = {
    .abi = SK_CODEC_ABI,
    .name = "fpzip",
    .description = "fpzip, all bits kept",
    .types = SK_TYPES_FLOAT,
    .max_encoded = max_encoded,
    .encode = encode,
    .decode = decode,
};
#else
typedef int sk_no_fpzip;
#endif
