/* Codecs: buffer → buffer. One table of functions per codec; chains such as "fpc+gzip" are made of
 * them (chain.h).
 *
 * A codec is a pure function: no state outlives a call, any number of threads may call it at once.
 * It works on one *piece*: a whole small array or a slab of a large one (stream.h cuts arrays into
 * pieces so that several threads and huge arrays work). Encoded pieces are self-contained: decoding
 * needs the piece, the codec's name and nothing else. */
#ifndef SK_CODEC_CODEC_H
#define SK_CODEC_CODEC_H

#include "base/error.h"
#include "base/config/kind.h"

#include <stddef.h>
#include <stdint.h>

#define SK_CODEC_ABI 1

/* The array a piece holds. dims[0] varies slowest. type is an enum saikai_type; ndims 0 with type
 * SAIKAI_U8 and dims[0] = size_bytes describes bytes without structure. */
struct sk_array {
    int type;
    int ndims;
    size_t dims[SAIKAI_MAX_DIMS];
};

enum sk_bound_kind {
    SK_BOUND_NONE = 0, /* exact: every bit comes back */
    SK_BOUND_ABS = 1,  /* |x - x'| <= value */
    SK_BOUND_REL =
        2, /* |x - x'| <= value * (max - min) over the finite values of the whole variable */
    SK_BOUND_PSNR = 3, /* 20 log10((max - min) / rmse) >= value */
};

struct sk_bound {
    int kind;
    double value;
};

/* How to encode. A zeroed struct is valid: exact, the codec's own default level. */
struct sk_codec_options {
    struct sk_bound bound;
    int level;    /* codec's own scale, 0: its default */
    double range; /* max - min of the whole variable for REL and PSNR; 0: take it from the piece */
    const char *parameter; /* codec's own text such as "n=128,quantiser=spike"; NULL: defaults */
};

struct sk_codec_ops {
    int abi;                 /* SK_CODEC_ABI */
    const char *name;        /* as in configuration and files: "wavelet", "fpc", "zstd" */
    const char *description; /* one line for `saikai config` */
    unsigned types;          /* bit (1u << type) for each element type it takes */
    int lossy; /* 1: may use a bound; never chosen for SK_BOUND_NONE unless exact then */

    /* Most bytes that encode can produce for this array. */
    size_t (*max_encoded)(const struct sk_array *a);
    /* Encode the array's bytes into out[cap]; *out_size_bytes is what it took. Fails with
     * SAIKAI_ENOSPC (cap too small), SAIKAI_ENOTSUP (type or dimensions not for this codec),
     * SAIKAI_EBOUND, SAIKAI_ENOMEM. */
    int (*encode)(const struct sk_array *a, const void *in, const struct sk_codec_options *opt,
                  void *out, size_t cap, size_t *out_size_bytes, struct saikai_error *err);
    /* Decode into out, whose size in bytes is exactly that of the array. Input is hostile: any
     * bytes give either the array or SAIKAI_EDAMAGED, and nothing outside in[n] and out is touched.
     */
    int (*decode)(const struct sk_array *a, const void *in, size_t n, void *out,
                  struct saikai_error *err);
};

extern const struct sk_kind sk_codec_kind;
/* The codec of a name, NULL: none (or its library was not there at configure time). */
const struct sk_codec_ops *sk_codec_find(const char *name);
/* The i-th codec of the table, NULL past the end. */
const struct sk_codec_ops *sk_codec_at(int i);

#endif
