/* Takes printed numbers apart into value and shape, and prints them again. */
#include "codec/text/number.h"

static const char letters[] = "\0eEdD";

enum { FRACTION_MOST = 63, LEAD_MOST = 31, EXPONENT_DIGITS = 4 };

static inline int digit(uint8_t c)
{
    return (uint8_t)(c - '0') < 10;
}

static inline unsigned field(uint64_t shape, int at, int bits)
{
    return (unsigned)(shape >> at) & ((1u << bits) - 1);
}

static unsigned digits_of(uint64_t v)
{
    static const uint64_t ten[20] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
                                     10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
                                     10000000000000000000u};
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), n = bits * 1233 >> 12; /* log10(2) is about 1233/4096 */
    return n + (v >= ten[n]) + (!v && !n);
}

/* The length of the exponent at p, 0: none. */
static size_t exponent_at(const uint8_t *p, size_t n, uint64_t *shape)
{
    unsigned letter = 1, value = 0;
    uint64_t sign = 0;
    size_t i = 1, from;
    if (n < 2)
        return 0;
    while (letter <= 4 && (uint8_t)letters[letter] != p[0])
        letter++;
    if (letter > 4)
        return 0;
    if (p[1] == '+' || p[1] == '-')
        sign = p[i++] == '-' ? 2 : 1;
    for (from = i; i < n && digit(p[i]); i++) {
        if (i - from == EXPONENT_DIGITS)
            return 0;
        value = value * 10 + (unsigned)(p[i] - '0');
    }
    if (i == from)
        return 0;
    *shape |= (uint64_t)letter << SK_SHAPE_LETTER | sign << SK_SHAPE_SIGN |
              (uint64_t)(i - from - 1) << SK_SHAPE_WIDTH | (uint64_t)value << SK_SHAPE_EXPONENT;
    return i;
}

/* Digits of p from *i on into *value; -1: too many. */
static int take_digits(const uint8_t *p, size_t n, size_t *i, uint64_t *value)
{
    int rc = 0;
    for (; *i < n && digit(p[*i]); ++*i) {
        if (*value >= (uint64_t)SK_NUMBER_LIMIT / 10)
            rc = -1;
        else
            *value = *value * 10 + (uint64_t)(p[*i] - '0');
    }
    return rc;
}

int sk_number_parse(const uint8_t *p, size_t n, struct sk_number *x, size_t *bytes)
{
    uint64_t value = 0, whole, shape = 0, lead = 0;
    size_t i = p[0] == '-' || p[0] == '+', from = i;
    int bad = take_digits(p, n, &i, &value);
    size_t before = i - from, behind = 0;
    whole = value;
    if (i < n && p[i] == '.' && (before || (i + 1 < n && digit(p[i + 1])))) {
        size_t at = ++i;
        bad |= take_digits(p, n, &i, &value);
        behind = i - at;
        shape |= (uint64_t)1 << SK_SHAPE_POINT;
    }
    *bytes = i ? i : 1;
    if (bad || !(before + behind) || behind > FRACTION_MOST)
        return 0;
    if (!before)
        lead = 1;
    else if (p[from] == '0' && before > 1)
        lead = 1 + before - digits_of(whole);
    if (lead > LEAD_MOST)
        return 0;
    shape |= behind | lead << SK_SHAPE_LEAD;
    i += exponent_at(p + i, n - i, &shape);
    if (p[0] == '-' && !value)
        shape |= (uint64_t)1 << SK_SHAPE_MINUS;
    if (p[0] == '+')
        shape |= (uint64_t)1 << SK_SHAPE_PLUS;
    *x = (struct sk_number){p[0] == '-' ? -(int64_t)value : (int64_t)value, shape};
    *bytes = i;
    return 1;
}

/* The last n digits of v, in front of `end`; what is left of v. */
static uint64_t put_digits(uint8_t *end, unsigned n, uint64_t v)
{
    while (n--) {
        *--end = (uint8_t)('0' + v % 10);
        v /= 10;
    }
    return v;
}

static uint8_t *put_exponent(uint8_t *out, uint64_t shape)
{
    unsigned letter = field(shape, SK_SHAPE_LETTER, 3), sign = field(shape, SK_SHAPE_SIGN, 2),
             width = field(shape, SK_SHAPE_WIDTH, 2) + 1;
    if (!letter)
        return out;
    *out++ = (uint8_t)letters[letter];
    if (sign)
        *out++ = sign == 2 ? '-' : '+';
    put_digits(out + width, width, field(shape, SK_SHAPE_EXPONENT, 14));
    return out + width;
}

size_t sk_number_print(const struct sk_number *x, uint8_t *out)
{
    uint64_t shape = x->shape, v = x->value < 0 ? 0 - (uint64_t)x->value : (uint64_t)x->value;
    unsigned behind = field(shape, 0, 6), lead = field(shape, SK_SHAPE_LEAD, 5), before;
    uint8_t *p = out, digits[FRACTION_MOST];
    if (x->value < 0 || shape >> SK_SHAPE_MINUS & 1)
        *p++ = '-';
    else if (shape >> SK_SHAPE_PLUS & 1)
        *p++ = '+';
    v = put_digits(digits + behind, behind, v);
    for (unsigned k = 1; k < lead; k++)
        *p++ = '0';
    before = lead == 1 && !v ? 0 : digits_of(v);
    put_digits(p + before, before, v);
    p += before;
    if (shape >> SK_SHAPE_POINT & 1)
        *p++ = '.';
    for (unsigned k = 0; k < behind; k++)
        *p++ = digits[k];
    return (size_t)(put_exponent(p, shape) - out);
}

int sk_shape_is(uint64_t shape)
{
    return !(shape >> SK_SHAPE_BITS) && field(shape, SK_SHAPE_LETTER, 3) <= 4 && field(shape, SK_SHAPE_SIGN, 2) <= 2;
}

int sk_shape_scale(uint64_t shape)
{
    int exponent = (int)field(shape, SK_SHAPE_EXPONENT, 14);
    return (field(shape, SK_SHAPE_SIGN, 2) == 2 ? -exponent : exponent) - (int)field(shape, 0, 6);
}
