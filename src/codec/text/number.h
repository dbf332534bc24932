/* A number as it is printed: its value as an integer, and its shape, which is all the rest of how it looks. Both together give
 * back the very bytes. */
#ifndef SK_CODEC_TEXT_NUMBER_H
#define SK_CODEC_TEXT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Digits of a value, leading zeros left out; the values of longer numbers fit no integer. */
enum { SK_NUMBER_DIGITS = 18, SK_NUMBER_BYTES = 192 };
#define SK_NUMBER_LIMIT INT64_C(1000000000000000000)

/* The shape's bits, from the lowest: 6 digits behind the point, 1 a point, 5 the digits before it (0: as many as needed, at least
 * one; 1: none; else one less zeros than this number before them), 3 the exponent's letter (0 none, e, E, d, D), 2 its sign
 * (0 none, +, -), 2 its digits less one, 14 its value, 1 a plus before a number that is not negative, 1 minus zero. */
enum {
    SK_SHAPE_POINT = 6,
    SK_SHAPE_LEAD = 7,
    SK_SHAPE_LETTER = 12,
    SK_SHAPE_SIGN = 15,
    SK_SHAPE_WIDTH = 17,
    SK_SHAPE_EXPONENT = 19,
    SK_SHAPE_PLUS = 33,
    SK_SHAPE_MINUS = 34,
    SK_SHAPE_BITS = 35
};

struct sk_number {
    int64_t value; /* all digits, without the point; below SK_NUMBER_LIMIT either way */
    uint64_t shape;
};

/* The number at the beginning of p[0, n). 1: there is one, of *bytes; 0: *bytes (at least 1) are none. */
int sk_number_parse(const uint8_t *p, size_t n, struct sk_number *x, size_t *bytes);
/* Its bytes; out has room for SK_NUMBER_BYTES. */
size_t sk_number_print(const struct sk_number *x, uint8_t *out);
/* 1: a shape that a number may have. */
int sk_shape_is(uint64_t shape);
/* The power of ten that a value is multiplied by. */
int sk_shape_scale(uint64_t shape);

#endif
