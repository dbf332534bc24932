/* Makes the corpus of copies_fuzz: copies_seeds tests/corpus/copies_fuzz */
#include "codec/copies/copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void save(const char *dir, const char *name, const char *kind, const struct sk_buf *b)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s%s", dir, name, kind);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f))
        exit(1);
}

/* As it is, and told. */
static void seed(const char *dir, const char *name, const uint8_t *known, size_t n_known, const uint8_t *in, size_t n)
{
    struct sk_buf b = {0};
    sk_buf_put_u8(&b, 1);
    sk_buf_put_u16(&b, (uint16_t)n_known);
    sk_buf_put(&b, known, n_known);
    sk_buf_put(&b, in, n);
    save(dir, name, "", &b);
    b.len = 0;
    sk_buf_put_u8(&b, 0);
    sk_buf_put_u16(&b, (uint16_t)n);
    sk_buf_put_u16(&b, (uint16_t)n_known);
    sk_buf_put(&b, known, n_known);
    if (sk_copies_put(known, n_known, in, n, NULL, 0, &b, NULL))
        exit(1);
    save(dir, name, "-told", &b);
    sk_buf_free(&b);
}

int main(int argc, char **argv)
{
    static uint8_t then[600], now[700];
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < sizeof then; i++)
        then[i] = (uint8_t)(i * i * 7 + (i >> 3) * 31);
    seed(argv[1], "alone", NULL, 0, then, 300);
    memset(now, 9, 200);
    seed(argv[1], "runs", then, 20, now, 200);
    memcpy(now, then, sizeof then);
    for (size_t i = 5; i < sizeof then; i += 50)
        now[i] ^= 0x55;
    seed(argv[1], "changed", then, sizeof then, now, sizeof then);
    memcpy(now + 30, then, sizeof then);
    seed(argv[1], "in-front", then, sizeof then, now, sizeof then + 30);
    for (size_t i = 0; i < 25; i++)
        memcpy(now + 24 * i, then + 24 * (i * 7 % 25), 24);
    seed(argv[1], "sorted", then, sizeof then, now, sizeof then);
    return 0;
}
