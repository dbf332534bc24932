/* Entropy coding of classes: one small number (0…127) per value of an array, whose neighbours tell
 * what to expect.
 *
 * Static range asymmetric numeral systems (J. Duda, "Asymmetric numeral systems", 2013, section 3;
 * the streaming form with whole words) with a table of frequencies per context. The context of a
 * value is a weighted mean of classes that are already known: west, west of it, and in the row and
 * the plane before. The values are split into four runs that are coded independently of each other,
 * so that a processor works on four at once; the context of a value never looks beyond its own run.
 *
 * Bytes: u8 first class | u8 tables | map of contexts (64 bytes of table numbers) | the tables | 4
 * × u32 words of each run | the runs. Little-endian. */
#ifndef SK_CODEC_LOSSLESS_CLASSES_H
#define SK_CODEC_LOSSLESS_CLASSES_H

#include "base/buf.h"

#define SK_CLASSES 128

struct sk_class_plane {
    size_t n;
    size_t row, plane;   /* how far back the neighbours of the row and plane before are; 3 <= row, 1
                            <= plane */
    const uint8_t *skip; /* one byte per value, 1: not coded, takes the class of the one before it;
                            NULL: none */
    int wide;            /* in 32 lanes (wide.h), where no value is skipped */
};

/* Lags that suit an array whose rows and planes are this long, for n values in so many runs. */
void sk_class_lags(struct sk_class_plane *p, size_t row, size_t plane);

/* Append the coded classes to out. Nothing but memory can fail (then sk_buf_ok(out) is false). */
void sk_classes_encode(const struct sk_class_plane *p, const uint8_t *classes, struct sk_buf *out);
/* Bits that encoding would take, roughly; for choosing. */
double sk_classes_cost(const struct sk_class_plane *p, const uint8_t *classes);

/* Read what encode wrote, from *in on, into classes[n]. 0, SAIKAI_ENOMEM, or -1: damaged. Reads
 * nothing outside *in. */
int sk_classes_decode(const struct sk_class_plane *p, struct sk_rd *in, uint8_t *classes);

#endif
