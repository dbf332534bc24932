/* Text that is full of numbers, in two parts: its layout, which is everything but the numbers, with a mark for each of them, and
 * the numbers by the column of their line, each predicted from others and coded as how far it is off.
 *
 * Text is worked on piece by piece, so that the memory does not grow with it; pieces end where lines do, if they can. Any bytes
 * come back as they were. */
#ifndef SK_CODEC_TEXT_TEXT_H
#define SK_CODEC_TEXT_TEXT_H

#include "base/buf.h"
#include "codec/general/general.h"

/* Working memory of one thread, and how large it is at most. */
#define SK_TEXT_MEMORY ((uint64_t)8 << 20)
struct sk_text;
struct sk_text *sk_text_new(void); /* NULL: no memory */
void sk_text_free(struct sk_text *t);
/* 1: lines with other words before their first number have other columns, as in logs; both sides must agree. At first 0. */
void sk_text_labelled(struct sk_text *t, int labelled);

/* Text that is put or got stands alone, as at first; or it comes after another one, before[0, n): what is put next probably after what
 * begins there at `at`. Both sides must agree but for `at`, and that one must stay. Takes the memory of a second thread. */
void sk_text_alone(struct sk_text *t);
void sk_text_after(struct sk_text *t, const uint8_t *before, size_t n, size_t at);

/* How columns of values that repeat are packed. */
struct sk_text_packing {
    struct sk_packer *packer;
    int backend, level;
};

/* Take n bytes apart: their layout is appended to `layout`, their numbers to `numbers`. SAIKAI_ENOMEM. */
int sk_text_put(struct sk_text *t, const struct sk_text_packing *how, const uint8_t *in, size_t n, struct sk_buf *layout,
                struct sk_buf *numbers, struct saikai_error *err);
/* Put n bytes together again of all of a layout and of what is read from `numbers`, which may be followed by other bytes.
 * Hostile input, with SK_BITS_SLACK bytes behind it. SAIKAI_EDAMAGED, SAIKAI_ENOMEM. */
int sk_text_get(struct sk_text *t, struct sk_packer *packer, const uint8_t *layout, size_t layout_bytes, struct sk_rd *numbers,
                uint8_t *out, size_t n, struct saikai_error *err);

/* The most bytes that the layout of n bytes may have. */
static inline uint64_t sk_text_layout_most(uint64_t n)
{
    return 2 * n;
}

/* Whether bytes look as if it was worth the while to try: hardly any control characters, and many digits, of which several stand together unless they are very many. */
int sk_text_likely(const uint8_t *in, size_t n);
/* Whether that looks as if its lines had labels: many of those with digits begin with words. */
int sk_text_has_labels(const uint8_t *in, size_t n);

#endif
