/* Made files with known variables, for tests of what becomes of them: bytes in memory, and where a reader would have found
 * variables in them. */
#ifndef SK_ARCHIVE_PLAN_MADE_TESTING_H
#define SK_ARCHIVE_PLAN_MADE_TESTING_H

#include "reader/scan.h"
#include "archive/plan/listing.h"
#include "archive/plan/plan.h"
#include "base/buf.h"
#include "base/file/io.h"
#include "base/types.h"

#include <lz4.h>
#include <lzma.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#define MADE __attribute__((unused)) static

enum { MADE_FILES = 8 };

struct made {
    int count;
    char name[MADE_FILES][64];
    struct sk_buf data[MADE_FILES];
    struct sk_scan scan[MADE_FILES];
    struct sk_archive_input in[MADE_FILES];
};

MADE uint32_t made_seed = 1;
MADE uint32_t made_noise(void)
{
    return (made_seed = made_seed * 1664525u + 1013904223u) >> 8;
}

/* Begin another file; form: the reader that knows it, NULL: none does. */
MADE int made_file(struct made *m, const char *name, const char *form)
{
    int i = m->count++;
    assert_true(i < MADE_FILES);
    snprintf(m->name[i], sizeof m->name[i], "%s", name);
    m->scan[i].form = form;
    return i;
}

/* Bytes of the file that are of no variable. */
MADE void made_bytes(struct made *m, size_t n, uint8_t (*byte)(size_t i))
{
    for (size_t i = 0; i < n; i++)
        sk_buf_put_u8(&m->data[m->count - 1], byte(i));
}

struct made_variable {
    const char *name;
    int type, big_endian, fields, ndims;
    size_t dims[4];
    double (*value)(size_t z, size_t y, size_t x);
};

MADE void made_put(struct sk_buf *out, const struct made_variable *v, double value)
{
    uint8_t b[16] = {0};
    size_t n = sk_type_size(v->type);
    if (v->type == SAIKAI_F64)
        memcpy(b, &value, 8);
    else if (v->type == SAIKAI_F32)
        memcpy(b, &(float){(float)value}, 4);
    else
        memcpy(b, &(int64_t){(int64_t)value}, n < 8 ? n : 8);
    for (size_t k = 0; k < n; k++)
        sk_buf_put_u8(out, b[v->big_endian ? n - 1 - k : k]);
}

/* A variable, at the end of the last file. */
MADE void made_variable(struct made *m, struct made_variable v)
{
    struct sk_buf *out = &m->data[m->count - 1];
    struct sk_extent e = {.offset = out->len, .type = v.type, .big_endian = v.big_endian, .fields = v.fields, .ndims = v.ndims};
    size_t n[3] = {1, 1, 1};
    for (int i = 0; i < v.ndims; i++) {
        e.dims[i] = v.dims[i];
        int k = i + 3 - v.ndims; /* what is more than three is planes */
        n[k < 0 ? 0 : k] *= v.dims[i];
    }
    for (size_t z = 0; z < n[0]; z++)
        for (size_t y = 0; y < n[1]; y++)
            for (size_t x = 0; x < n[2]; x++)
                made_put(out, &v, v.value(z, y, x));
    e.length = out->len - e.offset;
    assert_int_equal(sk_scan_add(&m->scan[m->count - 1], &e, v.name), 0);
}

MADE void made_free(struct made *m)
{
    for (int i = 0; i < m->count; i++) {
        sk_buf_free(&m->data[i]);
        sk_scan_free(&m->scan[i]);
    }
    *m = (struct made){0};
}

/* A plan of all files, not cut yet; the scans are the plan's from now on. */
MADE void made_plan(struct made *m, const struct sk_archive_options *o, struct sk_feed_local *feed, struct sk_ska_plan *p)
{
    for (int i = 0; i < m->count; i++) {
        assert_true(sk_buf_ok(&m->data[i]));
        m->in[i] = (struct sk_archive_input){m->name[i], m->name[i], m->data[i].data ? (void *)m->data[i].data : (void *)"", m->data[i].len};
    }
    *p = (struct sk_ska_plan){.opt = *o, .threads = o->threads};
    p->opt.memory_bytes = (uint64_t)1 << 30;
    p->opt.first_bytes = o->first_bytes ? o->first_bytes : 100;
    p->opt.backend = o->backend ? o->backend : SK_BACKEND_ZSTD;
    assert_int_equal(sk_feed_local_init(feed, m->in, (size_t)m->count, NULL), 0);
    p->feed = &feed->feed;
    for (int i = 0; i < m->count; i++) {
        struct sk_listed l = {.name = strdup(m->name[i]), .size_bytes = m->data[i].len, .mode = 0640, .scan = m->scan[i]};
        assert_int_equal(sk_ska_plan_add(p, &l, NULL), 0);
        m->scan[i] = (struct sk_scan){0};
    }
}

/* ---- a plan as text ---- */

MADE void made_terms(struct sk_buf *out, const char *before, const struct sk_term *t, int n)
{
    for (int i = 0; i < n; i++) /* what rounding leaves of nothing is not told */
        sk_buf_printf(out, "%s%.6g*%d*%d", i ? " + " : before, fabs(t[i].c) < 1e-12 ? 0 : t[i].c, t[i].a, t[i].b);
}

MADE void made_recipe(struct sk_buf *out, const struct sk_recipe *r)
{
    sk_buf_printf(out, "form %d backend %d level %d filter %d", r->form, r->backend, r->level, r->filter);
    if (r->form == SK_FORM_CODEC)
        sk_buf_printf(out, " codec %s", r->codec);
    if (r->form == SK_FORM_PREDICT) {
        sk_buf_printf(out, " stencil %d", r->stencil);
        for (int i = 0; r->stencil == SK_STENCIL_FITTED && i < SK_NEIGHBOURS; i++)
            sk_buf_printf(out, "%s%.4f", i ? "," : " ", r->weights[i]);
        made_terms(out, r->relation.kind == SK_RELATION_COLUMNS ? " columns " : " of ", r->relation.term, r->relation.num);
        made_terms(out, " / ", r->relation.under, r->relation.den);
    }
    for (size_t i = 0; i < r->take_count; i++)
        sk_buf_printf(out, " take %u@%llu+%llu", r->takes[i].part, (unsigned long long)r->takes[i].at,
                      (unsigned long long)r->takes[i].bytes);
}

MADE void made_describe(const struct sk_ska_plan *p, struct sk_buf *out)
{
    const struct sk_ska *a = &p->a;
    for (size_t i = 0; i < a->class_count; i++)
        sk_buf_printf(out, "class %zu %s type %d%s%s\n", i, a->classes[i].key, a->classes[i].type, a->classes[i].big_endian ? " big" : "",
                      a->classes[i].fields ? " fields" : "");
    for (size_t i = 0; i < a->block_count; i++) {
        const struct sk_ska_block *b = &a->blocks[i];
        sk_buf_printf(out, "block %zu of %llu bytes", i, (unsigned long long)b->size_bytes);
        if (b->previous)
            sk_buf_printf(out, " after %u", b->previous - 1);
        if (b->own)
            sk_buf_printf(out, " from %u", b->own - 1);
        sk_buf_printf(out, "\n");
        for (uint32_t k = b->first; k < b->first + b->count; k++) {
            const struct sk_ska_part *part = &a->parts[k];
            sk_buf_printf(out, "  part of class %u, %llu bytes: ", part->class, (unsigned long long)part->size_bytes);
            made_recipe(out, &p->recipes[k]);
            sk_buf_printf(out, "\n   ");
            for (uint32_t s = part->first; s < part->first + part->count; s++)
                sk_buf_printf(out, " %u@%llu:%zux%zux%zu", a->segments[s].file, (unsigned long long)a->segments[s].offset,
                              a->segments[s].box.nz, a->segments[s].box.ny, a->segments[s].box.nx);
            sk_buf_printf(out, "\n");
        }
    }
    sk_buf_printf(out, "variables %llu, skeleton %llu, near %llu, dense %llu\n", (unsigned long long)p->variables,
                  (unsigned long long)p->skeleton_bytes, (unsigned long long)p->near_bytes, (unsigned long long)p->dense_bytes);
}

/* 1: the libraries that compress are those that tests/golden/plan was written with: other releases make other bytes of the same, and so other
 * choices, which are as good. */
MADE int made_is_comparable(void)
{
    static const char written_with[] = "zstd 1.5.4, lz4 1.9.4, lzma 5.4.1";
    char here[100];
    static int told;
    snprintf(here, sizeof here, "zstd %s, lz4 %s, lzma %s", ZSTD_versionString(), LZ4_versionString(), lzma_version_string());
    int same = !strcmp(here, written_with);
    if (!same && !told++)
        printf("skip: comparing plans with those that were written with %s: this machine has %s\n", written_with, here);
    return same;
}

/* The text is that of tests/golden/plan; SAIKAI_WRITE_PLANS=DIR: it is written there instead. */
MADE void made_expect(const char *name, const struct sk_buf *text)
{
    char path[512];
    const char *source = getenv("SAIKAI_SOURCE_DIR"), *write = getenv("SAIKAI_WRITE_PLANS");
    void *golden = NULL;
    size_t n = 0;
    assert_true(sk_buf_ok(text));
    snprintf(path, sizeof path, "%s/%s.txt", write ? write : "", name);
    if (write) {
        assert_int_equal(sk_io_replace(path, text->data, text->len, NULL), 0);
        return;
    }
    if (!made_is_comparable())
        return;
    snprintf(path, sizeof path, "%s/tests/golden/plan/%s.txt", source ? source : ".", name);
    assert_int_equal(sk_io_slurp(path, 1 << 22, &golden, &n, NULL), 0);
    if (n != text->len || memcmp(golden, text->data, n))
        fail_msg("the plan %s is another one now:\n%s", name, (const char *)text->data);
    free(golden);
}

#endif
