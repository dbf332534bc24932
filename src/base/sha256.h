/* SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104): keys are made of one another with these, where
 * a fast checksum would give the one away to who knows the other. */
#ifndef SK_BASE_SHA256_H
#define SK_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SK_SHA256_BYTES = 32 };

void sk_sha256(const void *data, size_t n, uint8_t out[SK_SHA256_BYTES]);
/* Of data under key; key may have any length. */
void sk_hmac_sha256(const void *key, size_t key_bytes, const void *data, size_t n,
                    uint8_t out[SK_SHA256_BYTES]);

#endif
