/* Makes the corpus of rows_fuzz: rows_seeds tests/corpus/rows_fuzz */
#include "codec/rows/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *dir;

static void save(const char *name, const struct sk_buf *b)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f))
        exit(1);
}

/* What the rows of a seed come after. */
static void put_past(struct sk_buf *b, const struct sk_buf *past)
{
    if (!past)
        return;
    sk_buf_put_u16(b, (uint16_t)past->len);
    sk_buf_put_u16(b, 0);
    sk_buf_put(b, past->data, past->len);
}

/* As rows, and taken apart; past: after others, NULL: alone. */
static void seed_after(const char *name, int wide, const struct sk_buf *past, const struct sk_buf *rows)
{
    struct sk_rows *t = sk_rows_new();
    struct sk_buf bytes = {0}, numbers = {0}, b = {0};
    char apart[64];
    if (!t)
        exit(1);
    sk_rows_wide(t, wide);
    if (past)
        sk_rows_after(t, past->data, past->len, 0);
    sk_buf_put_u8(&b, (uint8_t)(1 | wide << 1 | (past ? 4 : 0)));
    put_past(&b, past);
    sk_buf_put(&b, rows->data, rows->len);
    save(name, &b);
    b.len = 0;
    if (sk_rows_put(t, rows->data, rows->len, &bytes, &numbers, NULL))
        exit(1);
    sk_buf_put_u8(&b, (uint8_t)(wide << 1 | (past ? 4 : 0)));
    put_past(&b, past);
    sk_buf_put_u16(&b, (uint16_t)rows->len);
    sk_buf_put_u16(&b, (uint16_t)bytes.len);
    sk_buf_put(&b, bytes.data, bytes.len);
    sk_buf_put(&b, numbers.data, numbers.len);
    snprintf(apart, sizeof apart, "%s-apart", name);
    save(apart, &b);
    sk_buf_free(&bytes);
    sk_buf_free(&numbers);
    sk_buf_free(&b);
    sk_rows_free(t);
}

static void seed_as(const char *name, int wide, const struct sk_buf *rows)
{
    seed_after(name, wide, NULL, rows);
}

static void seed(const char *name, const struct sk_buf *rows)
{
    seed_as(name, 0, rows);
}

/* Numbers of either byte order that have changed a little, whole ones that have grown, and a smooth field behind the mark of a record. */
static void seeds_after(void)
{
    struct sk_buf set[2] = {{0}, {0}}, field[2] = {{0}, {0}};
    for (int k = 0; k < 2; k++) {
        sk_buf_put_u32(&field[k], 8 * 700);
        for (int i = 0; i < 700; i++) {
            double x = sin(i * 12.9898) * 43758.5453, v = x - floor(x), moved = v + 1e-6 * k * cos(i), f = v + 0.1 * k * sin(1e-2 * i);
            uint64_t bits;
            float y = (float)(v + 0.5 * k);
            memcpy(&bits, &moved, 8);
            sk_buf_put(&field[k], &f, 8);
            if (i >= 500)
                continue;
            sk_buf_put(&set[k], &moved, 8);
            sk_buf_put(&set[k], &y, 4);
            sk_buf_put_u32(&set[k], (uint32_t)(bits >> 7) + 7 * (uint32_t)k);
            for (int b = 56; b >= 0; b -= 8)
                sk_buf_put_u8(&set[k], (uint8_t)(bits >> b));
        }
    }
    seed_after("after", 1, &set[0], &set[1]);
    seed_after("after_field", 1, &field[0], &field[1]);
    set[0].len /= 3; /* less of the past than there are rows */
    seed_after("after_less", 1, &set[0], &set[1]);
    for (int k = 0; k < 2; k++) {
        sk_buf_free(&set[k]);
        sk_buf_free(&field[k]);
    }
}

int main(int argc, char **argv)
{
    struct sk_buf b = {0};
    if (argc != 2)
        return 2;
    dir = argv[1];
    for (int i = 0; i < 300; i++) {
        double x = sin(0.01 * i);
        float y = (float)(i * 0.25);
        sk_buf_put_u32(&b, (uint32_t)i);
        sk_buf_put_u32(&b, i % 3 ? 1 : 2);
        sk_buf_put(&b, &x, sizeof x);
        sk_buf_put(&b, &y, sizeof y);
    }
    sk_buf_put(&b, "end", 3);
    seed("structures", &b);
    b.len = 0;
    for (int i = 0; i < 700; i++) {
        double x = sin(0.1 * (i % 32)) * cos(0.2 * (i / 32));
        uint64_t bits;
        memcpy(&bits, &x, 8);
        for (int k = 56; k >= 0; k -= 8)
            sk_buf_put_u8(&b, (uint8_t)(bits >> k));
    }
    seed("big_endian", &b);
    b.len = 100;
    seed("few", &b);
    b.len = 0;
    for (int i = 0; i < 60 * 70; i++) {
        float x = i % 70 < 20 ? 0 : (float)sin(i % 70 + 0.001 * i);
        sk_buf_put(&b, &x, sizeof x);
    }
    seed_as("wide", 1, &b);
    seeds_after();
    sk_buf_free(&b);
    return 0;
}
