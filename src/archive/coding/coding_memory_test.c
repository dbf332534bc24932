/* Wherever memory runs out while a part is coded or decoded: SAIKAI_ENOMEM and a sentence, or the part comes back as it was. */
#include "archive/coding/block.h"
#include "archive/coding/part.h"
#include "base/host/no_memory_testing.h"
#include "codec/residual/residual.h"

#include <math.h>
#include <stdio.h>

/* How a part is coded. */
struct way {
    const char *name;
    struct sk_recipe recipe;
    int type;
    struct sk_stencil_box box;
    int zeros, after; /* every fifth value is 0; it comes after a part of the same bytes */
};

struct task {
    const struct way *way;
    struct sk_part part;
    struct sk_ska_segment segment;
    uint8_t *right; /* what it holds */
    const struct sk_part *before;
};

static int code_and_decode(void *arg, struct saikai_error *err)
{
    struct task *t = arg;
    struct sk_coder one = {.previous = t->before ? &t->before : NULL}, another = one;
    struct sk_buf out = {0};
    memcpy(t->part.raw, t->right, t->part.size_bytes);
    t->part.native = 0;
    int rc = sk_block_encode(&one, &t->part, 1, &t->way->recipe, &out, err);
    size_t n = out.len;
    sk_buf_put(&out, (uint8_t[SK_BITS_SLACK]){0}, SK_BITS_SLACK);
    if (!rc && !sk_buf_ok(&out))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the test");
    memset(t->part.raw, 0xa5, t->part.size_bytes);
    t->part.native = 0;
    if (!rc)
        rc = sk_block_decode(&another, out.data, n, &t->part, 1, err);
    sk_coder_free(&one);
    sk_coder_free(&another);
    sk_buf_free(&out);
    return rc;
}

static void it_is_as_it_was(void *arg)
{
    struct task *t = arg;
    if (memcmp(t->part.raw, t->right, t->part.size_bytes))
        fail_msg("%s: the part is another one", t->way->name);
}

/* Waves, columns of records, records of Fortran, lines of words. */
static void fill(struct task *t)
{
    size_t n = t->part.size_bytes;
    double *v = (double *)(void *)t->right;
    for (size_t i = 0; t->way->type == SAIKAI_F64 && i < n / 8; i++)
        v[i] = t->way->zeros && i % 5 == 0 ? 0 : 3 + sin((double)i * 0.01) + (double)(i % t->way->box.nx);
    if (t->way->recipe.form == SK_FORM_RECORDS)
        for (uint32_t at = 0, length = 40; at + length + 8 <= n; at += length + 8) {
            memcpy(t->right + at, &length, 4);
            for (uint32_t k = 0; k < length; k += 4)
                memcpy(t->right + at + 4 + k, &(uint32_t){1000 + at + k}, 4);
            memcpy(t->right + at + 4 + length, &length, 4);
        }
    else if (t->way->type == SAIKAI_U8)
        for (size_t i = 0; i < n; i++)
            t->right[i] = (uint8_t)"step 17 residual 0.125 time 3.5\n"[i % 32];
}

/* Buffers of all kinds grow at the same place: each time is one by itself. */
static void each_single_one(struct task *t)
{
    struct saikai_error err = {0};
    assert_int_equal(no_memory_run(code_and_decode, t, 0, &err), 0);
    for (long n = 1, all = no_memory.asked; n <= all; n++) {
        memset(&err, 0, sizeof err);
        int rc = no_memory_run(code_and_decode, t, n, &err);
        if (rc && (rc != SAIKAI_ENOMEM || err.code != rc || !strstr(err.text, "memory")))
            fail_msg("%s, allocation %ld of %ld: %d, %s", t->way->name, n, all, rc, err.text);
        if (!rc)
            it_is_as_it_was(t);
    }
}

static void parts_are_coded_or_memory_is_out(void **state)
{
    (void)state;
    static const struct way ways[] = {
        {"bytes", {.form = SK_FORM_BYTES, .filter = SK_FILTER_DELTA4}, SAIKAI_U8, {1, 1, 4096}, 0, 0},
        {"predictions", {.form = SK_FORM_PREDICT, .stencil = SK_STENCIL_XYZ}, SAIKAI_F64, {5, 20, 30}, 0, 0},
        {"predictions, compressed", {.form = SK_FORM_PREDICT, .backend = SK_BACKEND_ZSTD, .stencil = SK_STENCIL_X}, SAIKAI_F64, {1, 1, 9000}, 0, 0},
        {"fields", {.form = SK_FORM_FIELDS}, SAIKAI_F64, {1, 400, 7}, 0, 0},
        {"records", {.form = SK_FORM_RECORDS, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 4096}, 0, 0},
        {"text", {.form = SK_FORM_TEXT, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, 0, 0},
        {"labelled text", {.form = SK_FORM_LABELLED, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, 0, 0},
        {"rows", {.form = SK_FORM_ROWS, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, 0, 0},
        {"wide rows", {.form = SK_FORM_WIDE, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, 0, 0},
        {"steps", {.form = SK_FORM_FRAMES, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, 0, 0},
        {"predictions with zeros", {.form = SK_FORM_PREDICT, .stencil = SK_STENCIL_X}, SAIKAI_F64, {1, 30, 100}, .zeros = 1},
        {"a codec", {.form = SK_FORM_CODEC, .codec = "zstd"}, SAIKAI_F64, {1, 1, 500}, 0, 0},
        {"bytes after others", {.form = SK_FORM_BYTES, .filter = SK_FILTER_DELTA4, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 4096}, .after = 1},
        {"records after others", {.form = SK_FORM_RECORDS, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 4096}, .after = 1},
        {"text after another", {.form = SK_FORM_TEXT_AFTER, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, .after = 1},
        {"labels after others", {.form = SK_FORM_LABELLED_AFTER, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, .after = 1},
        {"rows after others", {.form = SK_FORM_ROWS_AFTER, .backend = SK_BACKEND_ZSTD}, SAIKAI_U8, {1, 1, 8192}, .after = 1},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct task one = {.way = &ways[i]}, *t = &one;
        if (t->way->recipe.backend == SK_BACKEND_ZSTD && sk_backend_here(SK_BACKEND_ZSTD) < 0)
            continue;
        t->segment.box = t->way->box;
        t->part = (struct sk_part){.type = t->way->type, .segments = &t->segment, .count = 1, .fields = t->way->recipe.form == SK_FORM_FIELDS,
                                   .size_bytes = sk_box_count(t->way->box) * (t->way->type == SAIKAI_F64 ? 8 : 1)};
        t->part.raw = aligned_alloc(16, (t->part.size_bytes + 15) / 16 * 16);
        t->right = aligned_alloc(16, (t->part.size_bytes + 15) / 16 * 16);
        fill(t);
        struct sk_part before = t->part;
        before.raw = t->right;
        t->before = t->way->after ? &before : NULL;
        if (!no_memory_sweep(code_and_decode, it_is_as_it_was, NULL, t))
            fail_msg("%s: asks for no memory", t->way->name);
        each_single_one(t);
        free(t->part.raw);
        free(t->right);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_are_coded_or_memory_is_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
