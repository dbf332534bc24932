/* What both ways of classes.h share: how values are dealt to runs, what their contexts are made of, and the tables of frequencies. */
#ifndef SK_CODEC_LOSSLESS_CLASSES_RUNS_H
#define SK_CODEC_LOSSLESS_CLASSES_RUNS_H

#include "codec/lossless/predict/classes/classes.h"

#define CONTEXTS   64
#define PROB_BITS  11
#define PROB       (1u << PROB_BITS)
#define LANES      4
#define LOW        ((uint64_t)1 << 31) /* states live in [LOW, LOW << 32) */
#define MAX_TABLES 32
#define CHUNK      64

/* One run of values, with room before it for the neighbours that do not exist. */
struct class_lane {
    size_t start, n;
    uint8_t *c; /* class of value start + i is c[i]; c[-pad … -1] hold the first class */
};

struct class_work {
    struct sk_class_plane p;
    struct class_lane lane[LANES];
    size_t run, pad;
    uint8_t *classes; /* storage of the lanes */
    uint8_t first;
};

/* Runs of p, with nothing in them. -1: memory is out. */
int sk_class_work_init(struct class_work *w, const struct sk_class_plane *p, uint8_t first);

/* What the row and plane before add to the contexts of values i … i + n - 1. */
static inline void sum_before(const uint8_t *c, size_t row, size_t plane, size_t n, uint16_t *sum)
{
    const uint8_t *up = c - row, *back = c - plane;
    for (size_t i = 0; i < n; i++)
        sum[i] = (uint16_t)(2 * up[i] + up[i + 1] + up[(ptrdiff_t)i - 1] + back[i] + 7);
}

static inline unsigned context_of(unsigned before, unsigned west, unsigned west2)
{
    return (before + 2 * west + west2) >> 4;
}

/* Tables of frequencies, and which of them each context uses. */
struct class_model {
    int tables;
    uint8_t map[CONTEXTS];
    uint16_t freq[MAX_TABLES][SK_CLASSES];
};

/* Count how often each class follows each context. */
void sk_class_count(const uint8_t *c, const uint8_t *context, size_t n, uint32_t hist[CONTEXTS][SK_CLASSES]);
/* Tables for what follows each context so often. */
void sk_class_model_build(struct class_model *m, uint32_t hist[CONTEXTS][SK_CLASSES]);
void sk_class_model_put(const struct class_model *m, struct sk_buf *out);
/* -1: it is none. */
int sk_class_model_get(struct class_model *m, struct sk_rd *in);

#endif
