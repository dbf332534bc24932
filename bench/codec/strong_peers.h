/* Lossless compressors that take their time, or are programs that Debian does not have: their
 * ratios alone, for benches. */
#ifndef BENCH_STRONG_PEERS_H
#define BENCH_STRONG_PEERS_H

#include "codec/codec.h"

/* The i-th peer's name, NULL past the last: zstd-19 and xz-9 as libraries, pcodec and openzl as
 * programs (peers/). */
const char *strong_peer_name(int i);
/* What the i-th makes of an array (bytes by bytes), 0: it is not there, failed, or does not take
 * the type. peers: the folder of the programs, or NULL; cache: a file of peer_cache.h, or NULL. */
double strong_peer_ratio(int i, const char *name, const struct sk_array *a, const void *in, const char *peers,
                         const char *cache);

#endif
