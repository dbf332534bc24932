/* Fortran unformatted sequential files: records between two 4-byte lengths. Records of at least
 * LEAST bytes become extents; smaller ones cost more to list than they gain. */
#include "reader/reader.h"
#include "reader/view.h"
#include "reader/scan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST = 8192 };

/* -1: it cannot be read. */
static int64_t word_at(const struct sk_view *src, uint64_t at, int big)
{
    uint32_t v;
    const uint8_t *p = sk_view_at(src, at, 4);
    if (!p)
        return -1;
    memcpy(&v, p, 4);
    return big ? __builtin_bswap32(v) : v;
}

/* The end of the record at `at`, 0: there is none. */
static uint64_t next_record(const struct sk_view *src, uint64_t at, int big)
{
    if (src->size - at < 8)
        return 0;
    int64_t n = word_at(src, at, big);
    if (n < 0 || n > INT32_MAX || (uint64_t)n > src->size - at - 8 ||
        word_at(src, at + 4 + (uint64_t)n, big) != n)
        return 0;
    return at + (uint64_t)n + 8;
}

/* 1: little, 2: big, 0: no such file, or none whose records hold anything. All of a small file is looked at, the first records of a
 * large one. */
static int order_of(const struct sk_view *src)
{
    for (int big = 0; big < 2; big++) {
        uint64_t at = 0, records = 0;
        while (at < src->size && records < 1000) {
            uint64_t next = next_record(src, at, big);
            if (!next)
                break;
            at = next;
            records++;
        }
        if (at > 8 * records && (at == src->size || records == 1000)) /* zeros are empty records without end */
            return big + 1;
    }
    return 0;
}

static int probe(const struct sk_view *src)
{
    return src->size >= 8 && order_of(src);
}

static uint32_t word_of(const uint8_t *p, int big)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return big ? __builtin_bswap32(v) : v;
}

/* 1: the exponent of a number of single precision that is neither very large nor very small. */
static int is_usual_f32(uint32_t v)
{
    enum { BIAS = 127, FAR = 40 };
    int e = (int)(v >> 23 & 255);
    return e > BIAS - FAR && e < BIAS + FAR;
}

/* Of how many pairs of words there are which could be numbers of one kind; others: pairs that are not zero. */
struct seen {
    uint64_t all, others, doubles, singles;
};

/* Doubles of one variable have exponents near each other; anything else scatters them. Numbers of single precision in pairs do not, but the lower half of
 * a double is no such number. p may be NULL: of nothing. */
static struct seen look_at(const uint8_t *p, uint64_t n, int big)
{
    struct seen s = {.all = n / 8 < 256 ? n / 8 : 256};
    for (uint64_t i = 0, step = n / 8 / s.all; p && i < s.all; i++) {
        uint32_t first = word_of(p + i * step * 8, big), second = word_of(p + i * step * 8 + 4, big), high = big ? first : second;
        int e = (int)(high >> 20 & 2047), zero = !first && !second;
        s.others += !zero;
        s.doubles += zero || (e > 1023 - 200 && e < 1023 + 200);
        s.singles += zero || (is_usual_f32(first) && is_usual_f32(second));
    }
    return s;
}

static int mostly(uint64_t some, uint64_t all)
{
    return some * 10 >= all * 9;
}

/* The type of a record's body, by its beginning and its middle; whole numbers are what looks like nothing else. */
static int type_of(const struct sk_view *src, uint64_t at, uint64_t n, int big)
{
    struct seen a = look_at(sk_view_at(src, at, LEAST / 2), LEAST / 2, big), b = look_at(sk_view_at(src, at + n / 16 * 8, LEAST / 2), LEAST / 2, big);
    if (mostly(a.singles, a.all) && mostly(b.singles, b.all) && a.others + b.others)
        return SAIKAI_F32;
    return n % 8 == 0 && mostly(a.doubles, a.all) && mostly(b.doubles, b.all) ? SAIKAI_F64 : SAIKAI_I32;
}

static int scan_fortran(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    int big = order_of(src) == 2;
    uint64_t at = 0;
    for (uint64_t next; at < src->size && (next = next_record(src, at, big)); at = next) {
        uint64_t n = next - at - 8;
        char name[48];
        if (n < LEAST || n % 4)
            continue;
        struct sk_extent e = {.offset = at + 4, .length = n, .big_endian = big, .ndims = 1, .type = type_of(src, at + 4, n, big)};
        e.dims[0] = n / (e.type == SAIKAI_F64 ? 8 : 4);
        snprintf(name, sizeof name, "record_%llu", (unsigned long long)n);
        int rc = sk_scan_add(scan, &e, name);
        if (rc)
            return rc;
    }
    return 0;
}

const struct sk_reader_ops sk_reader_fortran = {"fortran", "unformatted Fortran records", probe, scan_fortran};
