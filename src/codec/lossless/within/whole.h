/* Arrays of whole numbers, which are predicted as floating-point values: each exactly the number less one that all are near, by what divides all. */
#ifndef SK_CODEC_LOSSLESS_WHOLE_H
#define SK_CODEC_LOSSLESS_WHOLE_H

#include "codec/codec.h"

/* The codec of floating-point arrays, which lie on a word's boundary. */
struct sk_whole_ops {
    /* out has room for the array and a byte. Values are whole numbers of less than 2^50 (single precision: 2^22), and no zero has a sign. 0, or -1: no memory. */
    int (*encode)(const struct sk_array *a, const void *x, int level, uint8_t *out, size_t *made);
    /* 0, SAIKAI_ENOMEM, or -1: damaged. */
    int (*decode)(const struct sk_array *a, const uint8_t *in, size_t n, void *x);
};

/* n bytes, some; out has room for a byte more. 0, or -1: no memory. */
int sk_whole_encode(const struct sk_whole_ops *ops, const struct sk_array *a, const void *in, size_t n, int level, uint8_t *out, size_t *made);
/* 0, SAIKAI_ENOMEM, or -1: damaged. */
int sk_whole_decode(const struct sk_whole_ops *ops, const struct sk_array *a, const uint8_t *in, size_t n, void *out, size_t bytes);

#endif
