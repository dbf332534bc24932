/* The filter as HDF5 sees it. What a dataset's creation properties hold after set_local: the user's
 * five numbers (saikai_hdf5.h), then [5] layout, 1 | [6] enum saikai_type, + 256 when the file's
 * byte order is big-endian [7] dimensions of a chunk, [8...] their sizes. */
#include "chunk.h"
#include "host.h"
#include "saikai_hdf5.h"
#include "valid.h"

#include "base/types.h"
#include "codec/chooser.h"
#include "codec/array.h"

#include <H5PLextern.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUT = 5, TYPE, NDIMS, DIMS, VALUES = DIMS + SAIKAI_MAX_DIMS, BIG_ENDIAN_FLAG = 256 };

static const char *const chains[] = {"",    "raw",   "zstd", "lz4",     "gzip",    "shuffle+zstd",
                                     "fpc", "fpzip", "haar", "wavelet", "predict", "fast",
                                     "quick"};
enum { n_chains = sizeof chains / sizeof *chains };

/* Say it on HDF5's error stack, where h5dump and the application find it. */
static void complain(const struct host *h, const struct saikai_error *err)
{
    h->H5Epush2(0, "filter.c", "saikai filter", __LINE__, *h->cls, *h->major, *h->minor, "%s",
                err->text);
}

/* The same of a chunk. From 1.14.4 on HDF5 throws away what a filter puts on the stack while it
 * runs (HDFGroup/hdf5, issue 6194); that a chunk is damaged must not go unnamed, so it is said on
 * standard error there. */
static void complain_of_chunk(const struct host *h, const struct saikai_error *err)
{
    complain(h, err);
    if (h->drops_what_filters_push)
        fprintf(stderr, "saikai filter: %s\n", err->text);
}

static int element_type(const struct host *h, hid_t t)
{
    static const int ints[2][9] = {
        {[1] = SAIKAI_U8, [2] = SAIKAI_U16, [4] = SAIKAI_U32, [8] = SAIKAI_U64},
        {[1] = SAIKAI_I8, [2] = SAIKAI_I16, [4] = SAIKAI_I32, [8] = SAIKAI_I64}};
    H5T_class_t c = h->H5Tget_class(t);
    size_t size = h->H5Tget_size(t);
    if (c == H5T_FLOAT)
        return size == 4 ? SAIKAI_F32 : size == 8 ? SAIKAI_F64 : 0;
    if (c == H5T_INTEGER && size <= 8)
        return ints[h->H5Tget_sign(t) != H5T_SGN_NONE][size];
    return 0;
}

static int bound_of(const unsigned *v, struct sk_bound *b, struct saikai_error *err)
{
    b->kind = (int)v[2];
    b->value = (double)v[3] * pow(10, -(double)v[4]);
    if (v[2] > SK_BOUND_PSNR || (v[2] && !(b->value > 0)))
        return sk_fail(
            err, SAIKAI_EINVAL,
            "saikai filter: bound kind %u with value %u * 10^-%u: the kind is 0 (exact), "
            "1 (absolute), 2 (relative) or 3 (PSNR), the value above 0",
            v[2], v[3], v[4]);
    return 0;
}

/* A chain that changes no bit of this type. */
static const char *exact_chain(int type)
{
    struct sk_chain c;
    const char *chain = sk_default_chain(type);
    return !sk_chain_parse(chain, &c, NULL) && sk_chain_takes(&c, type) ? chain : "raw";
}

/* The chain for the user's numbers and a type; *opt is set to its options. */
static const char *chain_of(const unsigned *v, int type, struct sk_codec_options *opt,
                            struct saikai_error *err)
{
    struct sk_chain c;
    if (v[0] >= n_chains) {
        sk_fail(err, SAIKAI_EINVAL, "saikai filter: codec %u is not one of 0 to %d", v[0],
                n_chains - 1);
        return NULL;
    }
    *opt = (struct sk_codec_options){.level = (int)(v[1] < 1000 ? v[1] : 1000)};
    if (bound_of(v, &opt->bound, err))
        return NULL;
    if (!sk_type_is_float(type))
        opt->bound = (struct sk_bound){SK_BOUND_NONE, 0};
    const char *chain = v[0]                               ? chains[v[0]]
                        : opt->bound.kind != SK_BOUND_NONE ? "wavelet"
                                                           : exact_chain(type);
    if (sk_chain_parse(chain, &c, err))
        return NULL;
    if (opt->bound.kind != SK_BOUND_NONE && !sk_chain_lossy(&c))
        opt->bound.kind = SK_BOUND_NONE; /* a lossless codec keeps every bound */
    if (!strcmp(chain, "haar") && opt->bound.kind != SK_BOUND_NONE) {
        sk_fail(err, SAIKAI_EBOUND,
                "saikai filter: haar keeps no bound: use wavelet (%d), or haar without a bound",
                SAIKAI_HDF5_WAVELET);
        return NULL;
    }
    if (!sk_chain_takes(&c, type)) {
        opt->level = 0;
        return exact_chain(type);
    }
    if (!strcmp(chain, "quick") && opt->bound.kind == SK_BOUND_NONE) {
        sk_fail(err, SAIKAI_EBOUND, "saikai filter: quick is for error bounds, and none was given: give one, or use fast (%d)",
                SAIKAI_HDF5_FAST);
        return NULL;
    }
    return chain;
}

/* A lossy codec has to see the values themselves. */
static int is_first(const struct host *h, hid_t dcpl)
{
    unsigned flags, config;
    size_t n = 0;
    return h->H5Pget_nfilters(dcpl) > 0 &&
           h->H5Pget_filter2(dcpl, 0, &flags, &n, NULL, 0, NULL, &config) == SAIKAI_HDF5_FILTER;
}

static int describe(const struct host *h, hid_t dcpl, hid_t type, unsigned *v,
                    struct saikai_error *err)
{
    hsize_t dims[H5S_MAX_RANK + 1];
    int nd = h->H5Pget_chunk(dcpl, H5S_MAX_RANK, dims), t = element_type(h, type), merged = 0;
    if (nd < 1)
        return sk_fail(err, SAIKAI_EINVAL, "saikai filter: the dataset is not chunked");
    size_t bytes = h->H5Tget_size(type);
    v[LAYOUT] = 1;
    v[TYPE] = (unsigned)(t ? t : SAIKAI_U8);
    if (t && bytes > 1 && h->H5Tget_order(type) == H5T_ORDER_BE)
        v[TYPE] |= BIG_ENDIAN_FLAG;
    if (!t) /* compound, string, ...: bytes, one more dimension */
        dims[nd++] = bytes;
    for (; nd > SAIKAI_MAX_DIMS; nd--, merged++) {
        dims[1] *= dims[0];
        memmove(dims, dims + 1, (size_t)(nd - 1) * sizeof *dims);
    }
    v[NDIMS] = (unsigned)nd;
    for (int i = 0; i < nd; i++) {
        if (dims[i] > UINT32_MAX)
            return sk_fail(err, SAIKAI_ENOTSUP, "saikai filter: a chunk of 4 GiB or more");
        v[DIMS + i] = (unsigned)dims[i];
    }
    return 0;
}

static herr_t set_local(hid_t dcpl, hid_t type, hid_t space)
{
    (void)space;
    const struct host *h = host_hdf5();
    unsigned v[VALUES] = {0}, flags;
    size_t n = VALUES;
    struct saikai_error err = {0};
    struct sk_codec_options opt;
    if (!h || h->H5Pget_filter_by_id2(dcpl, SAIKAI_HDF5_FILTER, &flags, &n, v, 0, NULL, NULL) < 0)
        return -1;
    if (n < SAIKAI_HDF5_VALUES) /* what was not given is 0 */
        memset(v + n, 0, (SAIKAI_HDF5_VALUES - n) * sizeof *v);
    if (describe(h, dcpl, type, v, &err)) {
        complain(h, &err);
        return -1;
    }
    const char *chain = chain_of(v, (int)(v[TYPE] & 255), &opt, &err);
    struct sk_chain c;
    if (chain && !sk_chain_parse(chain, &c, &err) && !is_first(h, dcpl) &&
        (opt.bound.kind != SK_BOUND_NONE || !strcmp(chain, "haar"))) {
        sk_fail(&err, SAIKAI_EINVAL,
                "saikai filter: lossy codecs must be the first filter of a dataset");
        chain = NULL;
    }
    if (!chain) {
        complain(h, &err);
        return -1;
    }
    return h->H5Pmodify_filter(dcpl, SAIKAI_HDF5_FILTER, flags, DIMS + v[NDIMS], v);
}

/* The chunk as set_local described it; plain bytes when a filter before this one changed its size.
 */
static int chunk_array(size_t n_values, const unsigned *v, size_t chunk_bytes, struct sk_array *a)
{
    if (n_values < DIMS || v[LAYOUT] != 1 || v[NDIMS] > SAIKAI_MAX_DIMS ||
        n_values < DIMS + v[NDIMS] || !sk_type_size((int)(v[TYPE] & 255)))
        return -1;
    *a = (struct sk_array){.type = (int)(v[TYPE] & 255), .ndims = (int)v[NDIMS]};
    for (int i = 0; i < a->ndims; i++)
        a->dims[i] = v[DIMS + i];
    if (sk_array_size_bytes(a) != chunk_bytes)
        *a = (struct sk_array){.type = SAIKAI_U8, .ndims = 0, .dims = {chunk_bytes}};
    return 0;
}

static void swap_bytes(uint8_t *p, size_t n, size_t size)
{
    for (uint8_t *end = p + n; size > 1 && p + size <= end; p += size)
        for (size_t i = 0; i < size / 2; i++) {
            uint8_t t = p[i];
            p[i] = p[size - 1 - i];
            p[size - 1 - i] = t;
        }
}

static int swapped(const unsigned *v, const struct sk_array *a)
{
    return v[TYPE] & BIG_ENDIAN_FLAG && a->ndims > 0;
}

/* Relative bounds are of what the chunk holds of the dataset, not of its padding. *chain becomes an
 * exact one where nothing may change. */
static void refer_to_values(const struct sk_array *a, const void *in, struct sk_codec_options *opt,
                            const char **chain)
{
    size_t all = 0, valid = 0;
    if (opt->bound.kind != SK_BOUND_REL && opt->bound.kind != SK_BOUND_PSNR)
        return;
    opt->range = chunk_valid_range(a, in, &valid);
    sk_dims_count(a->ndims, a->dims, &all);
    if (!(opt->range > 0) || !isfinite(opt->range)) {
        *opt = (struct sk_codec_options){0};
        *chain = exact_chain(a->type);
    } else if (opt->bound.kind ==
               SK_BOUND_PSNR) { /* the mean over all must not hide the valid part's */
        opt->bound.value += 10 * log10((double)all / (double)valid);
    }
}

static int write_chunk(size_t n_values, const unsigned *v, size_t bytes, void *in, void **out,
                       size_t *out_bytes, struct saikai_error *err)
{
    struct sk_array a;
    struct sk_codec_options opt;
    if (chunk_array(n_values, v, bytes, &a))
        return sk_fail(err, SAIKAI_EINVAL, "saikai filter: its numbers are damaged");
    const char *chain = chain_of(v, a.type, &opt, err);
    if (!chain)
        return SAIKAI_EINVAL;
    if (swapped(v, &a))
        swap_bytes(in, bytes, sk_type_size(a.type));
    refer_to_values(&a, in, &opt, &chain);
    int rc = chunk_encode(chain, &a, in, &opt, out, out_bytes, err);
    if (rc && swapped(v, &a))
        swap_bytes(in, bytes,
                   sk_type_size(a.type)); /* an optional filter that failed changes nothing */
    return rc;
}

static int read_chunk(size_t n_values, const unsigned *v, size_t n, const uint8_t *in, void **out,
                      size_t *out_bytes, struct saikai_error *err)
{
    struct sk_array a;
    uint64_t bytes = 0;
    if (n >= 16)
        memcpy(&bytes, in + 8, 8);
    if (bytes > UINT32_MAX || chunk_array(n_values, v, (size_t)bytes, &a))
        return sk_fail(err, SAIKAI_EDAMAGED, "saikai filter: a chunk or its numbers are damaged");
    int rc = chunk_decode(&a, in, n, out, err);
    if (!rc && swapped(v, &a))
        swap_bytes(*out, (size_t)bytes, sk_type_size(a.type));
    *out_bytes = (size_t)bytes;
    return rc;
}

static size_t filter(unsigned flags, size_t n_values, const unsigned v[], size_t nbytes,
                     size_t *buf_size, void **buf)
{
    const struct host *h = host_hdf5();
    struct saikai_error err = {0};
    void *out = NULL;
    size_t out_bytes = 0;
    int rc = flags & H5Z_FLAG_REVERSE
                 ? read_chunk(n_values, v, nbytes, *buf, &out, &out_bytes, &err)
                 : write_chunk(n_values, v, nbytes, *buf, &out, &out_bytes, &err);
    if (rc) {
        if (h)
            complain_of_chunk(h, &err);
        return 0;
    }
    free(*buf);
    *buf = out;
    *buf_size = out_bytes;
    return out_bytes;
}

static const H5Z_class2_t filter_class = {
    .version = H5Z_CLASS_T_VERS,
    .id = SAIKAI_HDF5_FILTER,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "saikai: codecs for simulation data",
    .can_apply = NULL,
    .set_local = set_local,
    .filter = filter,
};

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

__attribute__((visibility("default"))) const void *H5PLget_plugin_info(void)
{
    return &filter_class;
}
