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

/* Doubles of one variable have exponents near each other; anything else scatters them. p may be
 * NULL. */
static int plausible_f64(const uint8_t *p, uint64_t n, int big)
{
    uint64_t good = 0, all = n / 8 < 256 ? n / 8 : 256, step = n / 8 / all;
    for (uint64_t i = 0; p && i < all; i++) {
        uint64_t v;
        memcpy(&v, p + i * step * 8, 8);
        if (big)
            v = __builtin_bswap64(v);
        int e = (int)(v >> 52 & 2047);
        good += v == 0 || (e > 1023 - 200 && e < 1023 + 200);
    }
    return good * 10 >= all * 9;
}

static int scan_fortran(const struct sk_view *src, struct sk_scan *scan, struct saikai_error *err)
{
    int big = order_of(src) == 2;
    uint64_t at = 0;
    for (uint64_t next; at < src->size && (next = next_record(src, at, big)); at = next) {
        uint64_t n = next - at - 8;
        char name[48];
        if (n < LEAST)
            continue;
        struct sk_extent e = {
            .offset = at + 4, .length = n, .big_endian = big, .ndims = 1, .type = SAIKAI_I32};
        if (n % 8 == 0 && plausible_f64(sk_view_at(src, at + 4, LEAST / 2), LEAST / 2, big) &&
            plausible_f64(sk_view_at(src, at + 4 + n / 16 * 8, LEAST / 2), LEAST / 2, big))
            e.type = SAIKAI_F64;
        else if (n % 4)
            continue;
        e.dims[0] = n / (e.type == SAIKAI_F64 ? 8 : 4);
        snprintf(name, sizeof name, "record_%llu", (unsigned long long)n);
        int rc = sk_scan_add(scan, &e, name);
        if (rc)
            return rc;
    }
    return 0;
}

const struct sk_reader_ops sk_reader_fortran = {"fortran", "unformatted Fortran records", probe, scan_fortran};
