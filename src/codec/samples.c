/* Fills arrays with each kind of data: smooth, noisy, masked, packed and others. */
#include "codec/samples.h"
#include "codec/array.h"

#include "base/types.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {"smooth",    "noisy",    "masked",  "packed",
                                    "particles", "constant", "repeats", "special",
                                    "random",    "zeros",    "scaled"};

int sk_sample_kinds(void)
{
    return (int)(sizeof names / sizeof *names);
}

const char *sk_sample_name(int kind)
{
    return names[kind];
}

uint64_t sk_sample_next(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static double uniform(uint64_t *s)
{
    return (double)(sk_sample_next(s) >> 11) * 0x1p-53;
}

static double gauss(uint64_t *s)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += uniform(s);
    return sum - 6;
}

static uint64_t special(int bytes, uint64_t r)
{
    static const uint64_t d[] = {0x7ff8000000000000u, 0x7ff0000000000001u, 0xfff8dead0000beefu,
                                 0x7ff0000000000000u, 0xfff0000000000000u, 0x8000000000000000u,
                                 0x0000000000000001u, 0x800fffffffffffffu, 0x7fefffffffffffffu,
                                 0x3ff0000000000000u, 0xbff0000000000001u, 0};
    static const uint32_t f[] = {0x7fc00000u, 0x7f800001u, 0xffc0beefu, 0x7f800000u,
                                 0xff800000u, 0x80000000u, 0x00000001u, 0x807fffffu,
                                 0x7f7fffffu, 0x3f800000u, 0xbf800001u, 0};
    return bytes == 8 ? d[r % 12] : f[r % 12];
}

/* Where element i lies, each coordinate in [0, 1). */
static void place(const struct sk_array *a, size_t i, double x[3])
{
    x[0] = x[1] = x[2] = 0;
    for (int k = a->ndims - 1, j = 0; k >= 0; k--, j++) {
        if (j < 3)
            x[j] = (double)(i % a->dims[k]) / (double)a->dims[k];
        i /= a->dims[k];
    }
}

static double value(int kind, const double x[3], size_t i, uint64_t *s)
{
    double v = 280 + 30 * sin(5 * x[0] + 1) * cos(4 * x[1]) + 8 * sin(11 * x[2] + x[0]);
    switch (kind) {
    case 1:
        return v - 290 + 0.01 * gauss(s);
    case 2:
        return sin(9 * x[0]) + sin(7 * x[1]) + x[2] > 0.6 ? -9.99e8 : v + 1e-4 * gauss(s);
    case 3:
        return 200 + 0.01 * floor(100 * (v - 200));
    case 4:
        return gauss(s);
    case 5:
        return 3.14159;
    case 6:
        return sin((double)(i % 37)) * 1e3;
    case 10:
        return 260.31 + 0.0012207403 * floor(v * 50);
    default:
        return v;
    }
}

static void put(int type, int kind, double v, uint64_t bits, uint8_t *out)
{
    int bytes = type == SAIKAI_F32 || type == SAIKAI_C64 ? 4 : 8;
    float f = (float)v;
    if (kind == 7)
        bits = bits >> 60 ? special(bytes, bits) : bits;
    if (kind == 7 || kind == 8)
        memcpy(out, &bits, (size_t)bytes);
    else if (bytes == 4)
        memcpy(out, &f, 4);
    else
        memcpy(out, &v, 8);
}

void sk_sample_fill(int kind, const struct sk_array *a, void *out, uint64_t seed)
{
    size_t n = sk_array_size_bytes(a), element = sk_type_size(a->type);
    uint8_t *p = out;
    uint64_t s = seed * 0x9e3779b97f4a7c15u + 0x1234567u;
    if (kind == 9) {
        memset(out, 0, n);
        return;
    }
    int pair = a->type == SAIKAI_C64 || a->type == SAIKAI_C128;
    size_t step = pair ? element / 2 : element;
    for (size_t i = 0; i * step < n; i++) {
        double x[3];
        place(a, pair ? i / 2 : i, x);
        uint64_t bits = sk_sample_next(&s);
        double v = value(kind, x, i, &s);
        if (pair && i % 2)
            v = 0.5 * v - 3;
        if (sk_type_is_float(a->type)) {
            put(a->type, kind, v, bits, p + i * step);
        } else {
            int64_t whole = kind == 8 ? (int64_t)bits : (int64_t)floor(v * 16);
            memcpy(p + i * step, &whole, step);
        }
    }
}
