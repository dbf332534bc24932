/* Checksums: XXH3 of 64 bits, one-shot and streamed. */
#ifndef SK_BASE_HASH_H
#define SK_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t sk_hash64(const void *data, size_t n);

/* The same checksum over data that comes in parts. */
struct sk_hasher;
struct sk_hasher *sk_hasher_new(void); /* NULL: no memory */
void sk_hasher_reset(struct sk_hasher *h);
void sk_hasher_add(struct sk_hasher *h, const void *data, size_t n);
uint64_t sk_hasher_value(const struct sk_hasher *h); /* of what was added so far */
void sk_hasher_free(struct sk_hasher *h);

#endif
