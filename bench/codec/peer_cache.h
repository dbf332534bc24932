/* What peers reached, one line each: array, peer, bound (0: lossless), ratio. */
#ifndef BENCH_PEER_CACHE_H
#define BENCH_PEER_CACHE_H

/* The ratio that a file holds, -1: none; 0 is one that failed. No file (NULL) holds none. */
double peer_cache_get(const char *file, const char *array, const char *peer, double bound);
void peer_cache_put(const char *file, const char *array, const char *peer, double bound, double ratio);

#endif
