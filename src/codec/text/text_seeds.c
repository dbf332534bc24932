/* Makes the corpus of text_fuzz: text_seeds tests/corpus/text_fuzz */
#include "codec/text/text.h"

#include <stdio.h>
#include <stdlib.h>

static const char *dir;

static void save(const char *name, const struct sk_buf *b)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b->data, 1, b->len, f) != b->len || fclose(f))
        exit(1);
}

/* What the text of a seed comes after. */
static void put_past(struct sk_buf *b, const struct sk_buf *past)
{
    if (!past)
        return;
    sk_buf_put_u16(b, (uint16_t)past->len);
    sk_buf_put_u16(b, 0);
    sk_buf_put(b, past->data, past->len);
}

/* As text, and taken apart; past: after another, NULL: alone. */
static void seed_after(const char *name, int labelled, const struct sk_buf *past, const char *text, size_t n)
{
    struct sk_text *t = sk_text_new();
    struct sk_packer packer = {0};
    struct sk_text_packing how = {&packer, SK_BACKEND_ZSTD, 3};
    struct sk_buf layout = {0}, numbers = {0}, b = {0};
    char apart[64];
    if (!t)
        exit(1);
    sk_text_labelled(t, labelled);
    if (past)
        sk_text_after(t, past->data, past->len, 0);
    sk_buf_put_u8(&b, (uint8_t)(1 | labelled << 1 | (past ? 4 : 0)));
    put_past(&b, past);
    sk_buf_put(&b, text, n);
    save(name, &b);
    b.len = 0;
    if (sk_text_put(t, &how, (const uint8_t *)text, n, &layout, &numbers, NULL))
        exit(1);
    sk_buf_put_u8(&b, (uint8_t)(labelled << 1 | (past ? 4 : 0)));
    put_past(&b, past);
    sk_buf_put_u16(&b, (uint16_t)n);
    sk_buf_put_u16(&b, (uint16_t)layout.len);
    sk_buf_put(&b, layout.data, layout.len);
    sk_buf_put(&b, numbers.data, numbers.len);
    snprintf(apart, sizeof apart, "%s-apart", name);
    save(apart, &b);
    sk_buf_free(&layout);
    sk_buf_free(&numbers);
    sk_buf_free(&b);
    sk_packer_free(&packer);
    sk_text_free(t);
}

static void seed_as(const char *name, int labelled, const char *text, size_t n)
{
    seed_after(name, labelled, NULL, text, n);
}

/* A table and a log whose numbers have changed a little. */
static void seeds_after(void)
{
    struct sk_buf table[2] = {{0}, {0}}, lines[2] = {{0}, {0}};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 60; i++) {
            sk_buf_printf(&table[k], "%4d %8.3f %.5e\n", i * 3, 0.01 * i * i - 5 + 0.002 * k, 1.0 / (i * i * i + 1 + k));
            sk_buf_printf(&lines[k], "Time = %d\n residual %g  steps  %d\n%d %d\n", i + 60 * k, 1.0 / (i + 3 + k), i % 4, i * i, k - i);
        }
    seed_after("after", 0, &table[0], (const char *)table[1].data, table[1].len);
    seed_after("labels_after", 1, &lines[0], (const char *)lines[1].data, lines[1].len);
    for (int k = 0; k < 2; k++) {
        sk_buf_free(&table[k]);
        sk_buf_free(&lines[k]);
    }
}

static void seed(const char *name, const char *text, size_t n)
{
    seed_as(name, 0, text, n);
}

int main(int argc, char **argv)
{
    static const char odd[] = "-0 +0. 007 .5 -.5e+3 5. 1e400 nan -inf 0x1f 1.2.3\r\n\t\0\1\2\3\4 3,4;a1 12345678901234567890 0.00\n 9 9";
    struct sk_buf b = {0};
    if (argc != 2)
        return 2;
    dir = argv[1];
    seed("odd", odd, sizeof odd - 1);
    for (int i = 0; i < 60; i++)
        sk_buf_printf(&b, "%4d %8.3f %.5e\n", i * 3, 0.01 * i * i - 5, 1.0 / (i * i * i + 1));
    seed("columns", (const char *)b.data, b.len);
    b.len = 0;
    for (int i = 0; i < 300; i++)
        sk_buf_printf(&b, "%d%s", 4 + i % 2 * 3, i % 3 == 2 ? "\n" : " ");
    seed("repeated", (const char *)b.data, b.len);
    b.len = 0;
    for (int i = 0; i < 1100; i++)
        sk_buf_printf(&b, "%d,", i * i % 97);
    seed("one_line", (const char *)b.data, b.len);
    b.len = 0;
    for (int i = 0; i < 40; i++)
        sk_buf_printf(&b, "Time = %d\n x%c \1 residual %g  steps  %d\n%d %d\n", i, 'a' + i, 1.0 / (i + 3), i % 4, i * i, -i);
    seed_as("labels", 1, (const char *)b.data, b.len);
    seeds_after();
    sk_buf_free(&b);
    return 0;
}
