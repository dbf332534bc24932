/* The chooser: which chain makes a variable's checkpoint shortest.
 *
 * Sasaki, Sato, Endo, Matsuoka (2015), section 2.1, eq. (1): compressing pays when N > T + C, where
 * N is the time to write the variable as it is, T the time to write what is left of it, and C the
 * time to compress. The chooser encodes a sample of the variable with each candidate, measures C
 * and T = size / bandwidth, and takes the smallest C + T, with "raw" (C + T = N) among the
 * candidates. Where size alone counts, those that come close to the smallest are compared once more, by
 * whole pieces as the array will be cut: all of a small array, 4 MiB of others. An array of no more than 16 MiB then stays in one
 * piece where that takes less. */
#ifndef SK_CODEC_CHOOSER_H
#define SK_CODEC_CHOOSER_H

#include "codec/chain.h"

struct sk_chooser_options {
    double bandwidth;      /* bytes/s that this process gets for its output; 0: size alone counts */
    int threads;           /* threads that will encode: C is divided by it; 0: 1 */
    struct sk_bound bound; /* kind other than NONE: lossy chains that keep it compete too */
    double range;          /* of the whole variable; 0: computed where the bound needs it */
    const char
        *candidates;     /* chains separated by spaces or commas; NULL: those made for the type */
    size_t sample_bytes; /* most bytes looked at; 0: 1 MiB, or all of a small array */
};

struct sk_choice {
    char chain[SK_CHAIN_NAME]; /* with levels: for sk_stream_encode */
    size_t piece_bytes;        /* of a stream, where only size counts and the usual pieces are not the best; else 0 */
    double ratio;              /* original / encoded, on the sample */
    double encode_rate;        /* bytes/s of one thread, on the sample */
    double n_seconds;          /* N, T and C of the whole variable; 0 when bandwidth is 0 */
    double t_seconds;
    double c_seconds;
    int tried; /* candidates that took the array */
};

/* Fill *out. Local; takes about as long as encoding the sample with each candidate. Never fails for
 * a candidate that does (it just loses); SAIKAI_EINVAL for candidates that name no codec,
 * SAIKAI_ENOMEM. */
int sk_choose(const struct sk_array *a, const void *in, const struct sk_chooser_options *opt,
              struct sk_choice *out, struct saikai_error *err);

/* The chain used for a type when nobody chooses: "predict" for numbers, "zstd" for bytes; "gzip" or
 * "raw" where libraries are missing. Static string. */
const char *sk_default_chain(int type);

#endif
