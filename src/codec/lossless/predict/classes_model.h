/* The tables of frequencies of classes.h, for its files alone. */
#ifndef SK_CODEC_LOSSLESS_CLASSES_MODEL_H
#define SK_CODEC_LOSSLESS_CLASSES_MODEL_H

#include "codec/lossless/predict/classes_impl.h"

#define MAX_TABLES 32

/* Tables of frequencies, and which of them each context uses. */
struct class_model {
    int tables;
    uint8_t map[CONTEXTS];
    uint16_t freq[MAX_TABLES][SK_CLASSES];
};

/* Tables for what follows each context so often. */
void sk_class_model_build(struct class_model *m, uint32_t hist[CONTEXTS][SK_CLASSES]);
void sk_class_model_put(const struct class_model *m, struct sk_buf *out);
/* -1: it is none. */
int sk_class_model_get(struct class_model *m, struct sk_rd *in);

#endif
