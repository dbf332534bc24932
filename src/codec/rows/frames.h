/* Numbers that come again at one distance, a little changed: the steps of a trajectory, an array that is written time after time, which nobody has described. How far
 * apart they are is found in the bytes. Each number is expected to be what those beside it and those one and two steps before say, by the guess that was the best of late,
 * and coded as how far it is off; a step whose length is no multiple of a number's begins where the one before ends.
 *
 * A trajectory's high digits repeat and its low ones are noise: to look for repeats takes long there, and finds the one without the other. */
#ifndef SK_CODEC_ROWS_FRAMES_H
#define SK_CODEC_ROWS_FRAMES_H

#include "base/buf.h"
#include "base/error.h"

/* Working memory of one thread, at most, and how many bytes the distance is looked for in. */
#define SK_FRAMES_MEMORY    ((uint64_t)1 << 20)
#define SK_FRAMES_LOOKED_AT ((size_t)8 << 20)

struct sk_frames_layout {
    uint32_t distance; /* bytes from a number to the same one in the next step; 0: there are no steps */
    uint32_t first;    /* where the first one begins */
    uint8_t kind;      /* of a number: enum column_kind */
    uint8_t stride;    /* numbers from one to the next of its kind: 3 where x, y and z follow each other */
    double bits;       /* of a byte, about; not stored */
};

struct sk_frames;
struct sk_frames *sk_frames_new(void); /* NULL: no memory */
void sk_frames_free(struct sk_frames *t);

/* 1: there are numbers in in[0, n), a sample, that steps may be made of: else there are none in what it is of, and to look is in vain. */
int sk_frames_likely(const uint8_t *in, size_t n);
/* The steps in in[0, n), of which the beginning is looked at. 0: there are none. */
int sk_frames_find(const uint8_t *in, size_t n, struct sk_frames_layout *l);
/* 1: in[0, n) has the steps of l, which were found elsewhere, at no more than about what they cost there; where they begin, and what they cost, is set. */
int sk_frames_fit(const uint8_t *in, size_t n, struct sk_frames_layout *l);
/* What is taken apart from now on has probably these steps; NULL: nobody knows. */
void sk_frames_known(struct sk_frames *t, const struct sk_frames_layout *l);
/* Take n bytes apart: what is in no number, for a general compressor, is appended to `bytes`, all the rest to `numbers`. SAIKAI_ENOMEM. */
int sk_frames_put(struct sk_frames *t, const uint8_t *in, size_t n, struct sk_buf *bytes, struct sk_buf *numbers, struct saikai_error *err);
/* Put n bytes together again of all n_bytes of the bytes and of what is read from `numbers`, which may be followed by other bytes.
 * Hostile input, with SK_BITS_SLACK bytes behind it. SAIKAI_EDAMAGED. */
int sk_frames_get(struct sk_frames *t, const uint8_t *bytes, size_t n_bytes, struct sk_rd *numbers, uint8_t *out, size_t n, struct saikai_error *err);

#endif
