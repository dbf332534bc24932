/* What becomes of an encoded part when any byte of it is another one, or it is cut short anywhere: how often that is told, and by which
 * words. As text in tests/golden/plan; SAIKAI_WRITE_PLANS=DIR writes that of now. */
#include "archive/coding/block.h"
#include "archive/coding/part.h"
#include "archive/plan/made_testing.h"
#include "base/hash.h"
#include "codec/residual/residual.h"

enum { PARTS = 3, MESSAGES = 64 };

/* ---- what is told ---- */

static struct {
    char text[200];
    int times;
} heard[MESSAGES];

static void hear(const char *text)
{
    int i = 0;
    while (*heard[i].text && strcmp(heard[i].text, text))
        i++;
    assert_true(i < MESSAGES - 1);
    snprintf(heard[i].text, sizeof heard[i].text, "%s", text);
    heard[i].times++;
}

static int by_text(const void *x, const void *y)
{
    return strcmp((const char *)x, (const char *)y);
}

static void tell(const char *what, struct sk_buf *out)
{
    int n = 0;
    while (*heard[n].text)
        n++;
    qsort(heard, (size_t)n, sizeof *heard, by_text);
    for (int i = 0; i < n; i++)
        sk_buf_printf(out, " %s: %d × %s\n", what, heard[i].times, heard[i].text);
    memset(heard, 0, sizeof heard);
}

/* ---- parts ---- */

struct block {
    struct sk_ska_segment segments[PARTS][2];
    struct sk_part parts[PARTS];
    int count;
};

static void add(struct block *b, int type, struct sk_stencil_box one, struct sk_stencil_box two)
{
    struct sk_part *p = &b->parts[b->count];
    b->segments[b->count][0].box = one;
    b->segments[b->count][1].box = two;
    *p = (struct sk_part){.type = type, .segments = b->segments[b->count], .count = sk_box_count(two) ? 2 : 1};
    p->size_bytes = (sk_box_count(one) + sk_box_count(two)) * sk_type_size(type);
    p->raw = calloc(1, p->size_bytes + 16);
    b->count++;
}

static void drop(struct block *b)
{
    for (int i = 0; i < b->count; i++)
        free(b->parts[i].raw);
}

static int decode(struct block *b, const struct sk_part *below, const uint8_t *bytes, size_t n, uint64_t *hash)
{
    struct sk_coder c = {.below = below, .below_count = below != NULL};
    struct sk_buf in = {0};
    struct saikai_error err = {0};
    sk_buf_put(&in, bytes, n);
    sk_buf_put(&in, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (int i = 0; i < b->count; i++) {
        memset(b->parts[i].raw, 0, b->parts[i].size_bytes);
        b->parts[i].native = 0;
    }
    int rc = sk_block_decode(&c, in.data, n, b->parts, b->count, &err);
    assert_true(!rc || rc == SAIKAI_EDAMAGED || rc == SAIKAI_ENOTSUP);
    assert_int_equal(err.code, rc);
    *hash = 0;
    for (int i = 0; i < b->count && !rc; i++)
        *hash = *hash * 31 + sk_hash64(b->parts[i].raw, b->parts[i].size_bytes);
    if (rc)
        hear(err.text);
    sk_buf_free(&in);
    sk_coder_free(&c);
    return rc;
}

/* Encode it, and look what is said of each change. */
static void damage(const char *what, struct block *b, const struct sk_part *below, const struct sk_recipe *r, struct sk_buf *text)
{
    static const uint8_t flips[] = {1, 0x80, 0xff, 2};
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    struct saikai_error err = {0};
    uint64_t right, hash;
    if (sk_block_encode(&c, b->parts, b->count, r, &out, &err))
        fail_msg("%s: %s", what, err.text);
    sk_coder_free(&c);
    assert_int_equal(decode(b, below, out.data, out.len, &right), 0);
    sk_buf_printf(text, "%s: %zu bytes %016llx\n", what, out.len, (unsigned long long)sk_hash64(out.data, out.len));
    for (size_t f = 0; f < sizeof flips; f++)
        for (size_t at = 0; at < out.len; at++) {
            out.data[at] ^= flips[f];
            if (!decode(b, below, out.data, out.len, &hash))
                hear(hash == right ? "nothing, and the same" : "nothing, and others");
            out.data[at] ^= flips[f];
        }
    tell("changed", text);
    for (size_t n = 0; n < out.len; n++)
        if (!decode(b, below, out.data, n, &hash))
            hear("nothing");
    tell("cut", text);
    sk_buf_free(&out);
    drop(b);
}

static double wave(size_t i)
{
    return i / 9 % 4 == 1 ? 0 : 3 + sin((double)i * 0.21);
}

static void every_change_is_told_or_harmless(void **state)
{
    (void)state;
    struct sk_buf text = {0};
    struct sk_stencil_box none = {0, 0, 0}, deep = {3, 4, 5}, flat = {1, 6, 7}, line = {1, 1, 40};
    for (int kind = 0; kind < 4; kind++) { /* predictions: alone, of others, by columns, of 32 bits */
        static const char *const names[] = {"predictions", "a quotient", "columns", "floats"};
        struct block b = {.count = 0};
        struct sk_recipe r[PARTS] = {{0}};
        int type = kind == 3 ? SAIKAI_F32 : SAIKAI_F64;
        for (int i = 0; i < PARTS; i++) {
            add(&b, type, deep, kind == 2 ? deep : flat);
            for (size_t v = 0; v < b.parts[i].size_bytes / sk_type_size(type); v++) {
                double x = wave(v) * (i + 1) + (i == 2 ? 1e-3 * (double)(v * 7919 % 101) : 0);
                memcpy(b.parts[i].raw + v * sk_type_size(type), type == SAIKAI_F64 ? (void *)&x : (void *)&(float){(float)x}, sk_type_size(type));
            }
            r[i] = (struct sk_recipe){.form = SK_FORM_PREDICT, .backend = SK_BACKEND_STORE, .stencil = i == 1 ? SK_STENCIL_FITTED : SK_STENCIL_XYZ};
            for (int k = 0; k < SK_NEIGHBOURS; k++)
                r[i].weights[k] = k < 3 ? 1 : k < 6 ? -1 : 1;
        }
        if (kind == 1)
            r[2].relation = (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 2, .den = 1, .term = {{2, 0, -1}, {1, 1, 0}}, .under = {{1, 1, -1}}};
        if (kind == 2)
            r[2].relation = (struct sk_relation){.kind = SK_RELATION_COLUMNS, .num = 2, .term = {{1, 0, -1}, {1, 1, -1}}};
        damage(names[kind], &b, NULL, r, &text);
    }
    struct block fields = {.count = 0}, bytes = {.count = 0}, records = {.count = 0}, taken = {.count = 0};
    add(&fields, SAIKAI_F64, (struct sk_stencil_box){1, 30, 4}, (struct sk_stencil_box){1, 10, 4});
    for (size_t v = 0; v < 160; v++)
        ((double *)(void *)fields.parts[0].raw)[v] = v % 4 == 0 ? (double)v : v % 4 == 1 ? 4.5 : v % 4 == 2 ? sin((double)v) : (double)(v * v % 7);
    damage("fields", &fields, NULL, &(struct sk_recipe){.form = SK_FORM_FIELDS, .backend = SK_BACKEND_STORE}, &text);
    add(&bytes, SAIKAI_U8, line, none);
    for (size_t v = 0; v < 40; v++)
        bytes.parts[0].raw[v] = (uint8_t)(v * v);
    damage("bytes", &bytes, NULL, &(struct sk_recipe){.form = SK_FORM_BYTES, .backend = SK_BACKEND_STORE, .filter = SK_FILTER_DELTA4}, &text);
    add(&records, SAIKAI_U8, (struct sk_stencil_box){1, 1, 100}, (struct sk_stencil_box){1, 1, 30});
    for (size_t at = 0; at + 20 <= 130; at += 20) {
        memcpy(records.parts[0].raw + at, &(uint32_t){12}, 4);
        for (uint32_t k = 0; k < 12; k++)
            records.parts[0].raw[at + 4 + k] = (uint8_t)(at + k / 4);
        memcpy(records.parts[0].raw + at + 16, &(uint32_t){12}, 4);
    }
    damage("records", &records, NULL, &(struct sk_recipe){.form = SK_FORM_RECORDS, .backend = SK_BACKEND_STORE}, &text);
    uint8_t source[100];
    for (size_t v = 0; v < 100; v++)
        source[v] = (uint8_t)(v * 3);
    const struct sk_part below = {.type = SAIKAI_U8, .raw = source, .size_bytes = 100};
    const struct sk_take takes[] = {{0, 10, 20}, {0, 90, 10}, {0, 0, 10}};
    add(&taken, SAIKAI_U8, line, none);
    damage("taken", &taken, &below, &(struct sk_recipe){.form = SK_FORM_TAKE, .backend = SK_BACKEND_ZSTD, .takes = takes, .take_count = 3}, &text);
    made_expect("damage", &text);
    sk_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_change_is_told_or_harmless)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
