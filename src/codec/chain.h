/* Chains of codecs: "fpc+gzip", "shuffle+zstd:9", "wavelet".
 *
 * The first codec of a chain takes the typed array, each further one the bytes that the one before
 * it made. A codec's name may carry a level ("zstd:19"); decoding ignores it. A chain of one codec
 * gives exactly that codec's bytes
 * ("gzip": what gunzip reads); a longer one writes before them the sizes of what each inner step
 * made. */
#ifndef SK_CODEC_CHAIN_H
#define SK_CODEC_CHAIN_H

#include "codec/codec.h"

#define SK_CHAIN_STEPS 4
/* Longest chain as text, with the terminating zero. */
#define SK_CHAIN_NAME 64

struct sk_chain {
    int n;
    const struct sk_codec_ops *step[SK_CHAIN_STEPS];
    int level[SK_CHAIN_STEPS]; /* 0: the codec's default, or the level of the options */
    char name[SK_CHAIN_NAME];  /* without levels: what is kept in files */
};

/* Resolve text into *out. Local, does not block. SAIKAI_EINVAL names the step that no codec has
 * (and the codecs there are), or says that the text is empty or too long. */
int sk_chain_parse(const char *text, struct sk_chain *out, struct saikai_error *err);

/* 1 when the chain's first codec takes this element type. */
int sk_chain_takes(const struct sk_chain *c, int type);
/* 1 when the chain may use an error bound. */
int sk_chain_lossy(const struct sk_chain *c);

/* Most bytes that sk_chain_encode can produce, (size_t)-1 when the chain cannot take the array. */
size_t sk_chain_max_encoded(const struct sk_chain *c, const struct sk_array *a);

/* As the functions of struct sk_codec_ops, for the whole chain. opt may be NULL; its level and
 * parameter go to the first step only (a level in the chain's text is stronger). Thread-safe;
 * scratch memory is freed before return. */
int sk_chain_encode(const struct sk_chain *c, const struct sk_array *a, const void *in,
                    const struct sk_codec_options *opt, void *out, size_t cap,
                    size_t *out_size_bytes, struct saikai_error *err);
int sk_chain_decode(const struct sk_chain *c, const struct sk_array *a, const void *in, size_t n,
                    void *out, struct saikai_error *err);

#endif
