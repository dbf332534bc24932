/* The bytes of each form, of relations and of zeros; and what damaged ones are answered with. All that is coded here without a
 * general compressor is the same wherever it is made. */
#include "archive/coding/block.h"
#include "archive/coding/block_case.h"
#include "archive/coding/symbols.h"
#include "archive/coding/zeros.h"
#include "base/hash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static uint32_t seed;
static uint32_t noise(void)
{
    return (seed = seed * 1664525u + 1013904223u) >> 8;
}

/* ---- relations ---- */

static void a_relation_is_evaluated(void **state)
{
    (void)state;
    enum { MOST = 1500 };
    static double a[MOST], P[MOST + 1];
    static float b[MOST];
    const struct sk_field fields[] = {{a, 64}, {b, 32}};
    struct sk_relation r = {.kind = SK_RELATION_QUOTIENT, .num = 3};
    r.term[0] = (struct sk_term){2, 0, -1};
    r.term[1] = (struct sk_term){-3, 0, 1};
    r.term[2] = (struct sk_term){0.5, -1, -1};
    r.under[0] = (struct sk_term){4, -1, 1};
    r.under[1] = (struct sk_term){1, -1, -1};
    for (int i = 0; i < MOST; i++) {
        a[i] = 1 + i * 0.25;
        b[i] = (float)(3 + i % 7);
    }
    static const size_t lengths[] = {1, 2, 511, 512, 513, 1024, 1025, 1400};
    for (r.den = 0; r.den < 3; r.den++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            size_t n = lengths[k], at = k * 10;
            P[n] = 77;
            sk_relation_eval(&r, fields, at, n, P);
            for (size_t i = 0; i < n; i++) {
                double x = a[at + i], y = b[at + i], over = 2 * x - 3 * x * y + 0.5;
                double under = r.den == 0 ? 1 : r.den == 1 ? 4 * y : 4 * y + 1;
                assert_true(fabs(P[i] - over / under) <= 1e-12 * fabs(over / under));
            }
            assert_true(P[n] == 77);
        }
}

/* Weights that are others in each column, and the same in all planes, are learnt from two planes. */
static void columns_are_learnt(void **state)
{
    (void)state;
    enum { NY = 3, NX = 401, PLANE = NY * NX, PLANES = 4 };
    static double a[PLANES * PLANE], b[PLANES * PLANE], x[PLANES * PLANE], P[PLANE], sums[5 * PLANE];
    static float single[PLANES * PLANE];
    const struct sk_field fields[] = {{x, 64}, {a, 64}, {b, 64}};
    struct sk_relation r = {.kind = SK_RELATION_COLUMNS, .num = 2, .term = {{1, 1, -1}, {1, 2, -1}}};
    assert_int_equal(sk_columns_scratch((struct sk_stencil_box){PLANES, NY, NX}), sizeof sums);
    seed = 1;
    for (int width = 32; width <= 64; width += 32) {
        memset(sums, 0, sizeof sums);
        for (int i = 0; i < PLANES * PLANE; i++) {
            double angle = 0.01 * (i % PLANE);
            a[i] = 1 + noise() % 1000 * 0.001;
            b[i] = noise() % 1000 * 0.001 - 0.3;
            x[i] = cos(angle) * a[i] + sin(angle) * b[i];
            single[i] = (float)x[i];
        }
        for (size_t z = 0; z < PLANES; z++) {
            if (z >= 2) {
                sk_columns_eval(&r, fields, z * PLANE, PLANE, sums, P);
                for (int i = 0; i < PLANE; i++)
                    assert_true(fabs(P[i] - x[z * PLANE + (size_t)i]) < (width == 64 ? 1e-6 : 1e-2));
            }
            const void *now = width == 64 ? (void *)(x + z * PLANE) : (void *)(single + z * PLANE);
            sk_columns_learn(&r, fields, z * PLANE, PLANE, now, width, sums);
        }
    }
}

static int get(const void *bytes, size_t n, struct sk_relation *r, int parts, size_t *left)
{
    struct sk_rd in = sk_rd_init(bytes, n);
    int rc = sk_relation_get(&in, r, parts);
    *left = sk_rd_left(&in);
    return rc;
}

static void relations_are_written_and_read(void **state)
{
    (void)state;
    struct sk_relation r = {.kind = SK_RELATION_QUOTIENT, .num = 2, .den = 1}, back;
    static const uint8_t expected[] = {1, 2, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 4, 1,
                                       1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 2, 0, 3, 0};
    struct sk_buf out = {0};
    size_t left;
    r.term[0] = (struct sk_term){1.5, 0, -1};
    r.term[1] = (struct sk_term){-2, -1, 259};
    r.under[0] = (struct sk_term){1, 1, 2};
    sk_relation_put(&out, &r);
    assert_int_equal(out.len, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    assert_int_equal(get(out.data, out.len, &back, 260, &left), 0);
    assert_int_equal(left, 0);
    assert_memory_equal(&back, &r, sizeof r);
    for (size_t n = 0; n < out.len; n++) /* cut short anywhere */
        assert_int_equal(get(out.data, n, &back, 260, &left), SAIKAI_EDAMAGED);
    /* a part that does not come before */
    assert_int_equal(get(out.data, out.len, &back, 259, &left), SAIKAI_EDAMAGED);
    r.term[1] = (struct sk_term){-2, 4, 3};
    out.len = 0;
    sk_relation_put(&out, &r);
    assert_int_equal(get(out.data, out.len, &back, 5, &left), 0);
    assert_int_equal(get(out.data, out.len, &back, 4, &left), SAIKAI_EDAMAGED);
    for (int p = 0; p < 6; p++)
        assert_int_equal(sk_relation_uses(&r, p), p < 5);
    sk_buf_free(&out);
    /* none, and no such kind */
    r = (struct sk_relation){0};
    sk_relation_put(&out, &r);
    assert_int_equal(out.len, 1);
    assert_int_equal(get(out.data, 1, &back, 0, &left), 0);
    assert_int_equal(get("\3\0\0", 3, &back, 9, &left), SAIKAI_EDAMAGED);
    assert_int_equal(get("\1\0\0", 3, &back, 9, &left), 0);
    sk_buf_free(&out);
}

static void a_relation_has_its_bounds(void **state)
{
    (void)state;
    struct sk_relation r = {.kind = SK_RELATION_QUOTIENT}, back;
    struct sk_buf out = {0};
    size_t left;
    r.num = r.den = SK_TERMS;
    for (int i = 0; i < SK_TERMS; i++)
        r.term[i] = r.under[i] = (struct sk_term){i, i, -1};
    sk_relation_put(&out, &r);
    assert_int_equal(get(out.data, out.len, &back, SK_TERMS, &left), 0);
    assert_int_equal(back.den, SK_TERMS);
    out.data[1] = SK_TERMS + 1;
    assert_int_equal(get(out.data, out.len, &back, SK_TERMS, &left), SAIKAI_EDAMAGED);
    /* columns need two fields and nothing below them */
    static const struct sk_relation columns[] = {
        {.kind = SK_RELATION_COLUMNS, .num = 2, .term = {{1, 0, -1}, {1, 1, -1}}},
        {.kind = SK_RELATION_COLUMNS, .num = 1, .term = {{1, 0, -1}}},
        {.kind = SK_RELATION_COLUMNS, .num = 3, .term = {{1, 0, -1}, {1, 1, -1}, {1, 0, -1}}},
        {.kind = SK_RELATION_COLUMNS, .num = 2, .den = 1, .term = {{1, 0, -1}, {1, 1, -1}}, .under = {{1, 0, -1}}},
        {.kind = SK_RELATION_COLUMNS, .num = 2, .term = {{1, -1, -1}, {1, 1, -1}}},
        {.kind = SK_RELATION_COLUMNS, .num = 2, .term = {{1, 0, -1}, {1, -1, 0}}}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        out.len = 0;
        sk_relation_put(&out, &columns[i]);
        assert_int_equal(get(out.data, out.len, &back, 2, &left), i ? SAIKAI_EDAMAGED : 0);
    }
    sk_buf_free(&out);
}

/* ---- zeros ---- */

static void zeros_are_told_by_what_changes(void **state)
{
    (void)state;
    struct sk_ska_segment segments[] = {{.box = {1, 1, 5}}, {.box = {1, 2, 3}}, {.box = {2, 2, 2}}};
    struct sk_part p = {.type = SAIKAI_F64, .segments = segments, .count = 3, .size_bytes = 19 * 8};
    /* where a value before, a row before, and a plane before says the same */
    static const uint8_t zero[] = {1, 1, 0, 0, 1, /* rows */ 1, 0, 1, 1, 1, 1, /* planes */ 0, 1, 1, 0, 0, 1, 0, 0},
                         change[] = {1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0};
    uint8_t symbols[19], bits[4] = {0};
    double source[19];
    const struct sk_field f = {source, 64};
    for (int i = 0; i < 19; i++) {
        symbols[i] = zero[i] ? SK_SYMBOL_ZERO : (uint8_t)i;
        source[i] = zero[i] == (i != 3 && i != 16) ? 0.0 : -0.0; /* -0 is no zero */
    }
    sk_zeros_find(&p, symbols, 19, NULL, bits);
    for (int i = 0; i < 19; i++)
        assert_int_equal(bits[i / 8] >> i % 8 & 1, change[i]);
    assert_int_equal(bits[2] >> 3, 0);
    assert_int_equal(sk_zeros_restore(&p, NULL, bits, 19), 8);
    for (int i = 0; i < 19; i++)
        assert_int_equal(bits[i / 8] >> i % 8 & 1, zero[i]);
    sk_zeros_find(&p, symbols, 19, &f, bits);
    for (int i = 0; i < 19; i++)
        assert_int_equal(bits[i / 8] >> i % 8 & 1, i == 3 || i == 16);
    assert_int_equal(sk_zeros_restore(&p, &f, bits, 19), 8);
    for (int i = 0; i < 19; i++)
        assert_int_equal(bits[i / 8] >> i % 8 & 1, zero[i]);
}

/* The field before whose zeros are most like these, if fewer than one in 64 are not. */
static void zeros_are_known_from_another_field(void **state)
{
    (void)state;
    enum { N = 640 };
    static double all[4][N];
    static float single[N];
    static uint8_t symbols[N];
    struct sk_part parts[6];
    static const int wrong[] = {12, 9, 8, 8};
    for (int i = 0; i < N; i++) {
        symbols[i] = i % 3 ? 7 : SK_SYMBOL_ZERO;
        for (int k = 0; k < 4; k++)
            all[k][i] = (i % 3 == 0) == (i >= wrong[k]) ? 0 : 1;
        single[i] = i % 3 ? 1 : 0;
    }
    for (int k = 0; k < 4; k++)
        parts[k] = (struct sk_part){.type = SAIKAI_F64, .raw = (void *)all[k], .size_bytes = sizeof all[k], .native = 1};
    parts[4] = (struct sk_part){.type = SAIKAI_F32, .raw = (void *)single, .size_bytes = sizeof single, .native = 1};
    assert_int_equal(sk_zeros_source(parts, 0, symbols, N), -1);
    assert_int_equal(sk_zeros_source(parts, 1, symbols, N), -1); /* too many are others */
    assert_int_equal(sk_zeros_source(parts, 2, symbols, N), 1);
    assert_int_equal(sk_zeros_source(parts, 3, symbols, N), 2);
    assert_int_equal(sk_zeros_source(parts, 4, symbols, N), 2); /* the first of equal ones */
    assert_int_equal(sk_zeros_source(parts, 5, symbols, N), 4);
    parts[4].native = 0;
    assert_int_equal(sk_zeros_source(parts, 5, symbols, N), 2);
    parts[2].type = SAIKAI_I64;
    parts[3].size_bytes -= 8;
    assert_int_equal(sk_zeros_source(parts, 5, symbols, N), 1);
    assert_int_equal(sk_zeros_source(parts, 5, symbols, 63), -1);
}

/* ---- the bytes of each form ---- */

static double value(int kind, size_t i)
{
    switch (kind) {
    case 0: /* smooth, with noise of a size that changes from place to place */
        return 100 + (double)(i % 97) + (double)(i / 97 % 89) * 0.5 + noise() * (i / 5000 % 2 ? 0x1p-30 : 0x1p-40);
    case 1: /* mostly zero in stretches */
        return i / 23 % 3 ? 0 : 1 + (double)(i % 23);
    case 2:
        return (double)noise() * (noise() % 2 ? 1 : -1e-200);
    default:
        return 42;
    }
}

static void fill(struct block_case *b, int type, int kind, struct sk_stencil_box box, int parts)
{
    memset(b, 0, sizeof *b);
    b->count = parts;
    seed = (uint32_t)kind + 1;
    for (int i = 0; i < parts; i++) {
        struct sk_part *p = &b->parts[i];
        size_t n = sk_box_count(box);
        *p = (struct sk_part){.type = type, .segments = b->segments[i], .count = 1, .size_bytes = n * sk_type_size(type)};
        b->segments[i][0].box = box;
        p->raw = malloc(p->size_bytes);
        for (size_t v = 0; v < n; v++) {
            double x = value(kind, v) + (i && kind != 1 ? 3 * i : 0);
            if (type == SAIKAI_F64)
                ((double *)(void *)p->raw)[v] = x;
            else if (type == SAIKAI_F32)
                ((float *)(void *)p->raw)[v] = (float)x;
            else
                p->raw[v] = (uint8_t)noise();
        }
    }
}

/* Encode, hash, decode and compare. */
static uint64_t coded(struct block_case *b, const struct sk_recipe *r, size_t *n)
{
    struct sk_coder c = {0};
    struct sk_buf out = {0};
    uint8_t *copy[CASE_PARTS];
    for (int i = 0; i < b->count; i++) {
        copy[i] = malloc(b->parts[i].size_bytes);
        memcpy(copy[i], b->parts[i].raw, b->parts[i].size_bytes);
    }
    assert_int_equal(sk_block_encode(&c, b->parts, b->count, r, &out, NULL), 0);
    uint64_t hash = sk_hash64(out.data, out.len);
    *n = out.len;
    sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    for (int i = 0; i < b->count; i++) {
        memset(b->parts[i].raw, 0x5a, b->parts[i].size_bytes);
        b->parts[i].native = 0;
    }
    assert_int_equal(sk_block_decode(&c, out.data, *n, b->parts, b->count, NULL), 0);
    for (int i = 0; i < b->count; i++) {
        assert_memory_equal(copy[i], b->parts[i].raw, b->parts[i].size_bytes);
        free(copy[i]);
    }
    sk_buf_free(&out);
    sk_coder_free(&c);
    return hash;
}

static const struct sk_stencil_box boxes[] = {{4, 100, 100}, {1, 1, 1000}, {1, 30, 1}, {10, 1, 1}, {2, 3, 2}};

struct digest {
    size_t bytes;
    uint64_t hash;
};

static void count(struct digest *d, size_t n, uint64_t hash)
{
    d->bytes += n;
    d->hash = (d->hash ^ hash) * 0x9e3779b97f4a7c15u;
}

static void compare(const struct digest *now, const struct digest *expected, int n)
{
    int same = 1;
    for (int i = 0; i < n; i++)
        same = same && now[i].bytes == expected[i].bytes && now[i].hash == expected[i].hash;
    for (int i = 0; i < n && !same; i++)
        print_message("{%zu, 0x%llx},\n", now[i].bytes, (unsigned long long)now[i].hash);
    assert_true(same);
}

static void predictions_do_not_drift(void **state)
{
    (void)state;
    static const struct digest expected[SK_STENCILS] = {
        {638467, 0x2e117f890347e29}, {454795, 0xe633a0b5a7204e17}, {410638, 0xa13d3f20c1b37338},
        {392803, 0x8107c4bb3ce86fdf}, {470141, 0x118bedbf0ffb7b86}, {456299, 0x654a60ed57d96a6a},
        {465176, 0x19e656f7af423936}, {415732, 0x3fac1513f9ac9927}, {454849, 0x54525632c40e8c4a}};
    struct digest now[SK_STENCILS] = {{0}};
    for (int s = 0; s < SK_STENCILS; s++)
        for (int kind = 0; kind < 4; kind++)
            for (int box = 0; box < 5; box++) {
                struct block_case b;
                struct sk_recipe r = {.form = SK_FORM_PREDICT, .stencil = s, .weights = {0.5, 0.25, 0.25, 0.125, -0.125, 0.25, -0.25}};
                size_t n;
                fill(&b, box % 2 || kind == 2 ? SAIKAI_F64 : SAIKAI_F32, kind, boxes[box], 1);
                uint64_t h = coded(&b, &r, &n);
                count(&now[s], n, h);
                case_free(&b);
            }
    compare(now, expected, SK_STENCILS);
}

static void relations_do_not_drift(void **state)
{
    (void)state;
    static const struct digest expected[4] = {
        {682697, 0x429a4323c2c18070}, {668645, 0x3175f425487aacaa}, {751439, 0x88599b772eb875c2}, {1239539, 0xd4bfd09e9d8384a9}};
    struct digest now[4] = {{0}};
    for (int relation = 0; relation < 4; relation++)
        for (int kind = 0; kind < 4; kind++)
            for (int box = 0; box < 5; box++) {
                struct block_case b;
                struct sk_recipe r[3];
                size_t n;
                for (int i = 0; i < 3; i++)
                    r[i] = (struct sk_recipe){.form = SK_FORM_PREDICT, .stencil = SK_STENCIL_XYZ};
                r[2].stencil = relation % 2 ? SK_STENCIL_NONE : SK_STENCIL_XY;
                r[2].relation = (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 2, .den = relation, .term = {{2, 1, -1}, {-1, 0, -1}}};
                r[2].relation.under[0] = (struct sk_term){1, -1, -1};
                r[2].relation.under[1] = (struct sk_term){0.5, 0, 1};
                if (relation == 3) {
                    r[2].relation.kind = SK_RELATION_COLUMNS;
                    r[2].relation.den = 0;
                    r[1].form = SK_FORM_BYTES;
                }
                fill(&b, box % 2 ? SAIKAI_F64 : SAIKAI_F32, kind, boxes[box], 3);
                uint64_t h = coded(&b, r, &n);
                count(&now[relation], n, h);
                case_free(&b);
            }
    compare(now, expected, 4);
}

static void records_do_not_drift(void **state)
{
    (void)state;
    static const struct digest expected[3] = {{363759, 0xc33f026e36a3be0c}, {243787, 0x6fbea299af8b337e}, {8176, 0xf6a0658509f61691}};
    struct digest now[3] = {{0}};
    for (int kind = 0; kind < 4; kind++)
        for (int fields = 1; fields <= 64; fields += fields == 1 ? 6 : 57) {
            struct block_case b;
            size_t n;
            fill(&b, SAIKAI_F64, kind, (struct sk_stencil_box){1, 300, (size_t)fields}, 1);
            uint64_t h = coded(&b, &(struct sk_recipe){.form = SK_FORM_FIELDS}, &n);
            count(&now[0], n, h);
            case_free(&b);
        }
    for (uint32_t length = 0; length < 900; length += length < 16 ? 1 : 33) {
        struct block_case b;
        size_t n;
        fill(&b, SAIKAI_U8, 0, (struct sk_stencil_box){1, 1, 3000}, 2);
        for (int i = 0; i < 2; i++) /* whole to the end, or not */
            for (size_t at = 0; at + length + 8 <= 3000u - (i ? 1000 : 0); at += length + 8) {
                memcpy(b.parts[i].raw + at, &length, 4);
                for (uint32_t k = 0; k + 4 <= length; k += 4)
                    memcpy(b.parts[i].raw + at + 4 + k, &(uint32_t){0x10101 * (k / (i ? 4 : 64)) + 0x7000000}, 4);
                memcpy(b.parts[i].raw + at + 4 + length, &length, 4);
            }
        uint64_t h = coded(&b, (struct sk_recipe[]){{.form = SK_FORM_RECORDS}, {.form = SK_FORM_RECORDS}}, &n);
        count(&now[1], n, h);
        case_free(&b);
    }
    for (int filter = 0; filter < SK_FILTERS; filter++) {
        struct block_case b;
        size_t n;
        fill(&b, SAIKAI_U8, 0, (struct sk_stencil_box){1, 1, 1003}, 1);
        uint64_t h = coded(&b, &(struct sk_recipe){.form = SK_FORM_BYTES, .filter = filter}, &n);
        count(&now[2], n, h);
        case_free(&b);
    }
    compare(now, expected, 3);
}

/* ---- which form is stored ---- */

/* Where prediction is worse than the bytes, these are stored; where they repeat, through a compressor. */
static void the_shorter_form_is_stored(void **state)
{
    (void)state;
    static const struct {
        size_t values;
        int kind, form, backend, stored;
    } cases[] = {{640, 5, SK_FORM_FIELDS, SK_BACKEND_STORE, SK_FORM_BYTES}, {2000, 0, SK_FORM_PREDICT, SK_BACKEND_STORE, SK_FORM_PREDICT},
                 /* a piece is looked at of what is large enough */
                 {8191, 4, SK_FORM_PREDICT, SK_BACKEND_ZSTD, SK_FORM_PREDICT}, {8192, 4, SK_FORM_PREDICT, SK_BACKEND_ZSTD, SK_FORM_BYTES},
                 {8192, 4, SK_FORM_PREDICT, SK_BACKEND_STORE, SK_FORM_PREDICT}, {8192, 0, SK_FORM_PREDICT, SK_BACKEND_ZSTD, SK_FORM_PREDICT},
                 {8192, 4, SK_FORM_FIELDS, SK_BACKEND_ZSTD, SK_FORM_BYTES}, {8191, 4, SK_FORM_FIELDS, SK_BACKEND_ZSTD, SK_FORM_FIELDS}};
    if (sk_backend_here(SK_BACKEND_ZSTD) < 0)
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct block_case b;
        struct sk_coder c = {0};
        struct sk_buf out = {0};
        struct sk_recipe r = {.form = cases[i].form, .backend = cases[i].backend, .level = 1, .stencil = SK_STENCIL_X};
        struct sk_stencil_box box = {1, 1, cases[i].values};
        if (cases[i].form == SK_FORM_FIELDS)
            box = i ? (struct sk_stencil_box){1, cases[i].values, 1} : (struct sk_stencil_box){1, cases[i].values / 64, 64};
        fill(&b, SAIKAI_F64, cases[i].kind > 3 ? 3 : cases[i].kind, box, 1);
        for (size_t v = 0; cases[i].kind == 4 && v < cases[i].values; v++) /* four values that say nothing of each other */
            ((double *)(void *)b.parts[0].raw)[v] = (double[]){0.1, 2e30, -7e-8, 33.3}[v * v / 3 % 4];
        for (size_t v = 0; cases[i].kind == 5 && v < cases[i].values * 8; v++)
            b.parts[0].raw[v] = (uint8_t)noise();
        assert_int_equal(sk_block_encode(&c, b.parts, 1, &r, &out, NULL), 0);
        if (out.data[8] != cases[i].stored)
            fail_msg("case %zu: form %d", i, out.data[8]);
        assert_true(out.len <= b.parts[0].size_bytes + 64);
        uint64_t n;
        memcpy(&n, out.data, 8);
        assert_int_equal(n, out.len - 8);
        sk_buf_free(&out);
        sk_coder_free(&c);
        case_free(&b);
    }
}

/* ---- damage ---- */

static int decode(const void *bytes, size_t n, struct sk_part *parts, int count, struct saikai_error *err)
{
    struct sk_coder c = {0};
    struct sk_buf in = {0};
    sk_buf_put(&in, bytes, n);
    sk_buf_put(&in, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    int rc = sk_block_decode(&c, in.data, n, parts, count, err);
    sk_buf_free(&in);
    sk_coder_free(&c);
    return rc;
}

/* A part of bytes, stored: length, form, filter, compressor, length, bytes. */
static void a_stored_part_is_checked(void **state)
{
    (void)state;
    static const uint8_t good[] = {15, 0, 0, 0, 0, 0, 0, 0, SK_FORM_BYTES, SK_FILTER_NONE, SK_BACKEND_STORE, 4, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c', 'd'};
    static const struct {
        int at, value;
        const char *says;
    } cases[] = {{0, 16, "do not fit"}, {0, 14, "longer than its block"}, {8, SK_FORMS, "do not fit"}, {8, 255, "do not fit"},
                 {9, SK_FILTERS, "unknown filter"}, {10, SK_BACKENDS, ""}, {11, 5, "longer than its block"}, {11, 3, ""},
                 {8, SK_FORM_PREDICT, "predictions is damaged"}, {8, SK_FORM_FIELDS, "records is damaged"}, {8, SK_FORM_TAKE, ""},
                 {8, SK_FORM_RECORDS, ""}, {8, SK_FORM_CODEC, ""}};
    struct sk_ska_segment segment = {.box = {1, 1, 4}};
    uint8_t raw[8] __attribute__((aligned(8))), bytes[2 * sizeof good];
    struct sk_part p = {.type = SAIKAI_U8, .segments = &segment, .count = 1, .raw = raw, .size_bytes = 4}, two[2] = {p, p};
    struct saikai_error err = {0};
    assert_int_equal(decode(good, sizeof good, &p, 1, &err), 0);
    assert_memory_equal(raw, "abcd", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(bytes, good, sizeof good);
        bytes[cases[i].at] = (uint8_t)cases[i].value;
        assert_int_equal(decode(bytes, sizeof good, &p, 1, &err), cases[i].value == SK_FORM_CODEC && cases[i].at == 8 ? SAIKAI_ENOTSUP : SAIKAI_EDAMAGED);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
    }
    for (size_t n = 0; n < sizeof good; n++)
        assert_int_equal(decode(good, n, &p, 1, &err), SAIKAI_EDAMAGED);
    /* two parts where one is expected, and the other way round */
    memcpy(bytes, good, sizeof good);
    memcpy(bytes + sizeof good, good, sizeof good);
    assert_int_equal(decode(bytes, sizeof bytes, two, 2, &err), 0);
    assert_int_equal(decode(bytes, sizeof bytes, &p, 1, &err), SAIKAI_EDAMAGED);
    assert_non_null(strstr(err.text, "left over"));
    assert_int_equal(decode(good, sizeof good, two, 2, &err), SAIKAI_EDAMAGED);
    /* the filter, undone */
    bytes[9] = SK_FILTER_DELTA4;
    assert_int_equal(decode(bytes, sizeof bytes, two, 2, &err), 0);
}

static void what_is_taken_must_be_there(void **state)
{
    (void)state;
    uint8_t source[2][10] = {"0123456789", "abcdefghij"}, raw[8];
    const struct sk_part below[2] = {{.raw = source[0], .size_bytes = 10}, {.raw = source[1], .size_bytes = 10}};
    static const struct {
        struct sk_take takes[3];
        int count, rc;
        const char *gives;
    } cases[] = {{{{0, 0, 6}}, 1, 0, "012345"}, {{{1, 4, 6}}, 1, 0, "efghij"}, {{{0, 9, 1}, {1, 0, 4}, {0, 3, 1}}, 3, 0, "9abcd3"},
                 {{{0, 0, 3}, {0, 10, 0}, {1, 0, 3}}, 3, 0, "012abc"}, {{{0, 5, 6}}, 1, SAIKAI_EDAMAGED, NULL},
                 {{{0, 11, 0}, {0, 0, 6}}, 2, SAIKAI_EDAMAGED, NULL}, {{{2, 0, 6}}, 1, SAIKAI_EDAMAGED, NULL},
                 {{{0, 0, 5}}, 1, SAIKAI_EDAMAGED, NULL}, {{{0, 0, 7}}, 1, SAIKAI_EDAMAGED, NULL},
                 {{{0, 0, 4}, {1, 0, 3}}, 2, SAIKAI_EDAMAGED, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sk_coder c = {.below = below, .below_count = 2};
        struct sk_buf out = {0};
        struct sk_part p = {.type = SAIKAI_U8, .raw = raw, .size_bytes = 6};
        struct sk_recipe r = {.form = SK_FORM_TAKE, .takes = cases[i].takes, .take_count = (size_t)cases[i].count};
        assert_int_equal(sk_block_encode(&c, &p, 1, &r, &out, NULL), 0);
        assert_int_equal(out.data[8], SK_FORM_TAKE);
        memset(raw, '-', sizeof raw);
        if (sk_block_decode(&c, out.data, out.len, &p, 1, NULL) != cases[i].rc)
            fail_msg("case %zu", i);
        if (cases[i].gives)
            assert_memory_equal(raw, cases[i].gives, 6);
        assert_memory_equal(raw + 6, "--", 2);
        /* more entries than the part has bytes */
        out.data[9] = 7;
        assert_int_equal(sk_block_decode(&c, out.data, out.len, &p, 1, NULL), SAIKAI_EDAMAGED);
        sk_buf_free(&out);
        sk_coder_free(&c);
    }
}

/* Sources of a relation are floats, and as many as what they tell. */
static void sources_must_fit(void **state)
{
    (void)state;
    for (int what = 0; what < 4; what++) {
        struct block_case b;
        struct sk_coder c = {0};
        struct sk_buf out = {0};
        struct sk_recipe r[2] = {{.form = SK_FORM_BYTES}, {.form = SK_FORM_PREDICT, .stencil = SK_STENCIL_X}};
        r[1].relation = (struct sk_relation){.kind = SK_RELATION_QUOTIENT, .num = 1, .term = {{3, 0, -1}}};
        fill(&b, SAIKAI_F64, 0, (struct sk_stencil_box){1, 10, 10}, 2);
        assert_int_equal(sk_block_encode(&c, b.parts, 2, r, &out, NULL), 0);
        sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
        b.parts[0].native = b.parts[1].native = 0;
        if (what == 1)
            b.parts[0].type = SAIKAI_I64;
        if (what == 2)
            b.parts[0].type = SAIKAI_F32; /* of the same bytes, but twice as many values */
        if (what == 3)
            b.parts[1].type = SAIKAI_I64;
        assert_int_equal(sk_block_decode(&c, out.data, out.len - SK_BITS_SLACK, b.parts, 2, NULL), what ? SAIKAI_EDAMAGED : 0);
        sk_buf_free(&out);
        sk_coder_free(&c);
        case_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_relation_is_evaluated),
        cmocka_unit_test(columns_are_learnt),
        cmocka_unit_test(relations_are_written_and_read),
        cmocka_unit_test(a_relation_has_its_bounds),
        cmocka_unit_test(zeros_are_told_by_what_changes),
        cmocka_unit_test(zeros_are_known_from_another_field),
        cmocka_unit_test(predictions_do_not_drift),
        cmocka_unit_test(relations_do_not_drift),
        cmocka_unit_test(records_do_not_drift),
        cmocka_unit_test(the_shorter_form_is_stored),
        cmocka_unit_test(a_stored_part_is_checked),
        cmocka_unit_test(what_is_taken_must_be_there),
        cmocka_unit_test(sources_must_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
