/* Checksums: XXH3 of 64 bits, one-shot and streamed. */
#ifndef SK_BASE_HASH_H
#define SK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t sk_hash64(const void *data, size_t n);

#endif
