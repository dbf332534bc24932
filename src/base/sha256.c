/* SHA-256 and HMAC as their standards describe them; for a few hundred bytes at a time, so nothing
 * here is made to be fast. */
#include "base/sha256.h"

#include <string.h>

enum { BLOCK = 64 };

struct sha {
    uint32_t h[8];
    uint8_t block[BLOCK];
    size_t used;
    uint64_t bytes;
};

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void mix(struct sha *s)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
               (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[i - 7] +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, s->h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                      k[i] + w[i];
        uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        s->h[i] += v[i];
    explicit_bzero(w, sizeof w); /* what goes through here are keys */
    explicit_bzero(v, sizeof v);
}

static void begin(struct sha *s)
{
    *s = (struct sha){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                            0x1f83d9ab, 0x5be0cd19}};
}

static void add(struct sha *s, const void *data, size_t n)
{
    const uint8_t *p = data;
    s->bytes += n;
    while (n) {
        size_t part = n < BLOCK - s->used ? n : BLOCK - s->used;
        memcpy(s->block + s->used, p, part);
        s->used += part;
        p += part;
        n -= part;
        if (s->used == BLOCK) {
            mix(s);
            s->used = 0;
        }
    }
}

static void end(struct sha *s, uint8_t out[SK_SHA256_BYTES])
{
    static const uint8_t pad[BLOCK] = {0x80};
    uint64_t bits = s->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    add(s, pad, s->used < 56 ? 56 - s->used : 120 - s->used);
    add(s, length, sizeof length);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
    explicit_bzero(s, sizeof *s);
}

void sk_sha256(const void *data, size_t n, uint8_t out[SK_SHA256_BYTES])
{
    struct sha s;
    begin(&s);
    add(&s, data, n);
    end(&s, out);
}

void sk_hmac_sha256(const void *key, size_t key_bytes, const void *data, size_t n,
                    uint8_t out[SK_SHA256_BYTES])
{
    uint8_t padded[BLOCK] = {0}, inner[SK_SHA256_BYTES];
    struct sha s;
    if (key_bytes > BLOCK)
        sk_sha256(key, key_bytes, padded);
    else if (key_bytes)
        memcpy(padded, key, key_bytes);
    for (int i = 0; i < BLOCK; i++)
        padded[i] ^= 0x36;
    begin(&s);
    add(&s, padded, BLOCK);
    add(&s, data, n);
    end(&s, inner);
    for (int i = 0; i < BLOCK; i++)
        padded[i] ^= 0x36 ^ 0x5c;
    begin(&s);
    add(&s, padded, BLOCK);
    add(&s, inner, sizeof inner);
    end(&s, out);
    explicit_bzero(padded, sizeof padded);
    explicit_bzero(inner, sizeof inner);
}
