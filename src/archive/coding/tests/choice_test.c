/* By which form a part is stored in the end: as predictions or numbers by column, or as the bytes where these are fewer, from parts of which
 * nothing repeats to such of which all does. As text in tests/golden/plan; SAIKAI_WRITE_PLANS=DIR writes that of now. */
#include "archive/coding/block.h"
#include "archive/coding/part.h"
#include "archive/plan/values_testing.h"
#include "codec/residual/residual.h"

enum { VALUES = 40 };

/* What is stored of a part, which comes back. */
static void tell(struct sk_part *p, const struct sk_recipe *r, struct sk_buf *text)
{
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    struct saikai_error err = {0};
    uint8_t *was = malloc(p->size_bytes);
    memcpy(was, p->raw, p->size_bytes);
    if (sk_block_encode(&c, p, 1, r, &out, &err))
        fail_msg("%s", err.text);
    sk_buf_printf(text, " form %d %zu", out.data[8], out.len);
    size_t n = out.len;
    sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    memset(p->raw, 0xa5, p->size_bytes);
    p->native = 0;
    assert_int_equal(sk_block_decode(&c, out.data, n, p, 1, &err), 0);
    assert_memory_equal(p->raw, was, p->size_bytes);
    free(was);
    sk_buf_free(&out);
    sk_coder_free(&c);
}

/* So many tenths of the values are of a few, which stand anywhere; the others are a wave. */
static void values(double *to, size_t n, int tenths)
{
    made_seed = 21;
    for (size_t i = 0; i < n; i++) {
        int of_few = (int)(made_noise() % TENTHS) < tenths;
        uint32_t which = made_noise() % VALUES;
        to[i] = of_few ? 3 + 0.1 * which : 3 + sin((double)i * 0.001) + 1e-9 * (double)(made_noise() % 1000);
    }
}

static void predictions_or_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = {7500, 8192, 30000};
    static const double shares[] = {0, 0.5, 0.8};
    struct sk_buf text = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int tenths = 0; tenths <= TENTHS; tenths += tenths > 3 && tenths < 8 ? 1 : 2) {
            struct sk_ska_segment segment = {.box = {1, 1, sizes[s]}};
            struct sk_part p = {.type = SAIKAI_F64, .segments = &segment, .count = 1, .size_bytes = 8 * sizes[s]};
            p.raw = malloc(p.size_bytes);
            values((double *)(void *)p.raw, sizes[s], tenths);
            sk_buf_printf(&text, "%zu values, %d tenths of few:", sizes[s], tenths);
            for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
                tell(&p, &(struct sk_recipe){.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .level = 3, .stencil = SK_STENCIL_X, .share = shares[k]}, &text);
            sk_buf_printf(&text, "\n");
            free(p.raw);
        }
    made_expect("samples/choice-values", &text);
    sk_buf_free(&text);
}

static void numbers_of_text_or_bytes(void **state)
{
    (void)state;
    static const int forms[] = {SK_FORM_TEXT, SK_FORM_LABELLED, SK_FORM_ROWS, SK_FORM_WIDE, SK_FORM_RECORDS, SK_FORM_BYTES};
    struct sk_buf text = {0};
    for (int tenths = 0; tenths <= TENTHS; tenths += tenths > 3 && tenths < 9 ? 1 : 2) {
        struct sk_buf b = {0};
        lines(&b, 100000, tenths);
        struct sk_ska_segment segment = {.box = {1, 1, b.len}};
        struct sk_part p = {.type = SAIKAI_U8, .segments = &segment, .count = 1, .size_bytes = b.len, .raw = b.data};
        sk_buf_printf(&text, "lines, %d tenths again:", tenths);
        for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
            tell(&p, &(struct sk_recipe){.form = forms[k], .backend = SK_BACKEND_ZSTD, .level = 3}, &text);
        sk_buf_printf(&text, "\n");
        sk_buf_free(&b);
    }
    made_expect("samples/choice-lines", &text);
    sk_buf_free(&text);
}

/* Bytes that a recipe leaves of a part. */
static size_t left_by(struct sk_part *p, const struct sk_recipe *r)
{
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    struct saikai_error err = {0};
    if (sk_block_encode(&c, p, 1, r, &out, &err))
        fail_msg("%s", err.text);
    size_t n = out.len;
    sk_buf_free(&out);
    sk_coder_free(&c);
    return n;
}

/* Base 64 of what does not shrink, as VTK files have it: LZMA leaves more of it than zstd does. */
static void digits_of_base_64(void **state)
{
    (void)state;
    enum { BYTES = 512 << 10 };
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct sk_ska_segment segment = {.box = {1, 1, BYTES}};
    struct sk_part p = {.type = SAIKAI_U8, .segments = &segment, .count = 1, .size_bytes = BYTES, .raw = malloc(BYTES)};
    if (sk_backend_here(SK_BACKEND_LZMA) < 0 || sk_backend_here(SK_BACKEND_ZSTD) < 0)
        skip();
    made_seed = 22;
    for (size_t i = 0; i < BYTES; i++)
        p.raw[i] = (uint8_t)digits[made_noise() >> 8 & 63];
    size_t by_zstd = left_by(&p, &(struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD, .level = 3}),
           best = left_by(&p, &(struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_LZMA, .level = SK_PACK_LEVELS});
    if (best > by_zstd + by_zstd / 1000)
        fail_msg("%zu bytes, by zstd %zu", best, by_zstd);
    free(p.raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(predictions_or_bytes), cmocka_unit_test(numbers_of_text_or_bytes), cmocka_unit_test(digits_of_base_64)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
