/* Stretches of a piece that stood before in it, taken out: what prediction from neighbours does not see, such as tables that are the same in each block, or steps that
 * are stored twice. What is left is a smaller array. */
#ifndef SK_CODEC_LOSSLESS_FOLD_H
#define SK_CODEC_LOSSLESS_FOLD_H

#include "base/buf.h"
#include "codec/lossless/predict/words.h"

/* After so many words that did not stand before: as many as these again from so far back. */
struct sk_fold_repeat {
    size_t fresh, words, back;
};

/* Zeroed is empty. */
struct sk_fold {
    struct sk_fold_repeat *repeat;
    size_t count, room;
    size_t rest; /* words that did not stand before, those behind the last repeat among them */
    int keeps;   /* of the array's dimensions, how many of the fastest what is left still has */
};

/* 1: much of l's words stands twice, and f says where; 0: nothing worth it; -1: no memory. x lies on a word's boundary. An array without repeats costs as little as looking at
 * every 32nd word. */
int sk_fold_find(struct sk_fold *f, const struct sk_words *l, const void *x);
/* 1: in the middle of n words many stand twice, too far from each other for pieces of so many words, and near enough for pieces of most words. As quick. */
int sk_fold_reaches(const void *x, size_t n, size_t word, size_t piece, size_t most);
void sk_fold_free(struct sk_fold *f);
/* What is left, as an array of its own. */
void sk_fold_rest(const struct sk_fold *f, const struct sk_words *l, struct sk_words *rest);
/* The words that are left of x, f->rest of them, to y; and the inverse. */
void sk_fold_take(const struct sk_fold *f, const struct sk_words *l, const void *x, void *y);
void sk_fold_undo(const struct sk_fold *f, const struct sk_words *l, const void *y, void *x);
void sk_fold_put(struct sk_buf *b, const struct sk_fold *f);
/* What is read holds for l. 0, SAIKAI_ENOMEM, or -1: damaged. */
int sk_fold_get(struct sk_rd *r, const struct sk_words *l, struct sk_fold *f);

#endif
