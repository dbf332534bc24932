/* Compressors that are no codecs of ours, for benches; those whose library was not found are left
 * out. */
#ifndef BENCH_CODEC_PEERS_H
#define BENCH_CODEC_PEERS_H

#include "codec/codec.h"

struct codec_peer {
    const char *name;
    int only_floats; /* single and double precision */
    int (*encode)(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap,
                  size_t *made);
    int (*decode)(const struct sk_array *a, const void *in, size_t n, void *out, size_t cap);
};

extern const struct codec_peer codec_peers[];
extern const int n_codec_peers;

/* zfp within an absolute tolerance: bytes of the code, 0 when it failed or zfp was not found. */
size_t codec_zfp_encode(const struct sk_array *a, const void *in, double tolerance, void *out,
                        size_t cap);
size_t codec_zfp_decode(const struct sk_array *a, const void *in, size_t n, double tolerance,
                        void *out);

#endif
