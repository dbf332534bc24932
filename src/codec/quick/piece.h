/* What encoder and decoder of the codec "quick" share: the head of a piece and the numbers that predictions come from. */
#ifndef SK_CODEC_QUICK_PIECE_H
#define SK_CODEC_QUICK_PIECE_H

#include "codec/codec.h"
#include "codec/quick/kernel.h"

enum {
    QUICK_VERSION = 1,
    QUICK_HEAD_BYTES = 26,
    QUICK_PREDICTIONS = 4,
    QUICK_BITMAP_BYTES = QUICK_BLOCK / 8,
    QUICK_WIDTH = 63,     /* of a kind: this part is the width */
    QUICK_EXACT = 64,     /* some values stand as they are */
    QUICK_FILL = 128,     /* some are the fill value */
    QUICK_ALL_FILL = 254, /* kinds of their own */
    QUICK_ALL_EXACT = 255,
};

struct quick_head {
    int prediction;
    struct quick_scale scale;
    uint64_t fill;
};

/* Lags of a prediction for this array. -1: there is none for its dimensions. */
int sk_quick_lags(const struct sk_array *a, int prediction, struct quick_lags *lags);

/* The last numbers, zeros before the first, and room for the next block. */
struct quick_window {
    int32_t *data, *next;
    size_t history, cap;
};
/* -1: memory is out. */
int sk_quick_window_new(struct quick_window *w, const struct quick_lags *lags);
void sk_quick_window_free(struct quick_window *w);
/* The block at w->next is done. */
void sk_quick_window_advance(struct quick_window *w);

/* Scale, fill value and prediction that suit the n values of the array, from a sample of them; the bound is h->scale.bound. */
void sk_quick_head_choose(struct quick_head *h, const struct sk_array *a, const void *in, size_t n);

#endif
