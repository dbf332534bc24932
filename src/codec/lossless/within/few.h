/* Values of which there are few: a dictionary of them, and of each word its number there. */
#ifndef SK_CODEC_LOSSLESS_FEW_H
#define SK_CODEC_LOSSLESS_FEW_H

#include <stddef.h>
#include <stdint.h>

enum { SK_FEW_MOST = 1 << 16 };

/* Zeroed is empty. */
struct sk_few {
    void *value;     /* each once, the least first; -0 before 0 */
    size_t count;    /* 1 to SK_FEW_MOST */
    uint8_t *number; /* of each word, 1 byte (count up to 256) or 2, the lower one first */
    size_t wide;     /* 1 or 2 */
};

/* 1: the n words have few values, which f has then; 0: they have not; -1: no memory. x lies on a word's boundary. Of other arrays some words are looked at. */
int sk_few_find(struct sk_few *f, const void *x, size_t n, size_t word);
/* 1: there are few, but so many that a dictionary for each of many pieces weighs; and what stands together often stands together again. */
int sk_few_is_long(const void *x, size_t n, size_t word);
void sk_few_free(struct sk_few *f);
/* The words again. -1: a number is that of no value. */
int sk_few_undo(const struct sk_few *f, void *x, size_t n, size_t word);
/* The numbers of n words as single precision ones, which f->wide bytes of each are made from or to. Those that are no such numbers become the last one. */
void sk_few_to_floats(const struct sk_few *f, size_t n, float *x);
void sk_few_from_floats(struct sk_few *f, size_t n, const float *x);

/* The numbers of n words in as many bits each as the largest needs, the lowest first; the last byte is filled with zeros. out and in have sk_few_packed_bytes. */
size_t sk_few_packed_bytes(const struct sk_few *f, size_t n);
void sk_few_pack(const struct sk_few *f, size_t n, uint8_t *out);
void sk_few_unpack(struct sk_few *f, size_t n, const uint8_t *in);

#endif
