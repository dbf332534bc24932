/* For tests and fuzz seeds: states of a little program, and generations of them, full or with changes only. */
#ifndef SK_STORE_LINEAGE_TESTING_H
#define SK_STORE_LINEAGE_TESTING_H

#include "capture/delta.h"
#include "base/file/io.h"
#include "store/form/lineage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TESTING_CELLS /* of the largest variable */
#define TESTING_CELLS 330000
#endif
enum { TESTING_VARS = 4 };

/* "a" and "b": tracked; "grows": tracked when its size stayed; "text": always in the file. */
struct testing_state {
    double *a;
    int32_t b[500];
    uint8_t grows[4096];
    size_t grown;
    char text[300];
};

static inline struct testing_state *testing_state_new(void)
{
    struct testing_state *s = calloc(1, sizeof *s);
    s->a = calloc(TESTING_CELLS, sizeof *s->a);
    return s;
}

static inline void testing_state_free(struct testing_state *s)
{
    free(s->a);
    free(s);
}

static inline void testing_state_copy(struct testing_state *to, const struct testing_state *from)
{
    double *a = to->a;
    *to = *from;
    to->a = a;
    memcpy(a, from->a, TESTING_CELLS * sizeof *a);
}

static inline void testing_state_step(struct testing_state *s, int step)
{
    unsigned seed = (unsigned)step;
    for (int k = 0; k < 12; k++) {
        int from = rand_r(&seed) % TESTING_CELLS, n = rand_r(&seed) % (k < 11 ? 900 : 70000);
        for (int i = from; i < from + n && i < TESTING_CELLS; i++)
            s->a[i] = step + i * 1e-3;
    }
    s->b[rand_r(&seed) % 500] = step;
    s->grown = step < 3 ? 1000 : 1000 + 77 * (size_t)(step / 2);
    memset(s->grows + step * 10, step, 100);
    snprintf(s->text, sizeof s->text, "step %d of %*d", step, step * 9, step);
}

struct testing_generation {
    const char *root;
    struct sk_gen gen, base; /* base.incarnation 0: full */
    int rank, nranks;
    size_t spare; /* bytes behind the changes */
    void (*lie)(struct sk_skc_index *index, uint8_t *map); /* changes what is written, before the file gets its checksums */
};

static inline void testing_pieces(const struct testing_state *s, struct sk_piece p[TESTING_VARS + 1])
{
    memset(p, 0, (TESTING_VARS + 1) * sizeof *p);
    p[0] = (struct sk_piece){.name = "a", .type = SAIKAI_F64, .ndims = 2, .dims = {10, TESTING_CELLS / 10}, .data = s->a,
                             .size_bytes = TESTING_CELLS * sizeof *s->a, .scope = SK_SKC_GLOBAL,
                             .tile = {{20, TESTING_CELLS / 10}, {10, 0}}};
    p[1] = (struct sk_piece){.name = "text", .type = SAIKAI_U8, .ndims = 1, .kind = SK_SKC_STREAM,
                             .dims = {strlen(s->text)}, .data = s->text, .size_bytes = strlen(s->text)};
    p[2] = (struct sk_piece){.name = "b", .type = SAIKAI_I32, .ndims = 1, .dims = {500}, .data = s->b,
                             .size_bytes = sizeof s->b};
    p[3] = (struct sk_piece){.name = "grows", .type = SAIKAI_U8, .ndims = 1, .dims = {s->grown}, .data = s->grows,
                             .size_bytes = s->grown};
}

/* Cells that differ, in lumps. */
static inline void testing_diff(struct sk_ranges *r, uint32_t region, const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i += 512) {
        size_t m = n - i < 512 ? n - i : 512;
        if (memcmp(a + i, b + i, m))
            sk_ranges_add(r, region, i, m);
    }
}

/* Write one rank's file of `now` as the engine does. 0 on success. */
static inline int testing_write(const struct testing_generation *g, const struct testing_state *before,
                                const struct testing_state *now, int step)
{
    struct sk_piece p[TESTING_VARS + 1];
    struct sk_ranges changed = {0};
    struct sk_memory memory[TESTING_VARS];
    struct sk_skc_index *index = NULL;
    struct sk_container *base = NULL;
    size_t count = TESTING_VARS, regions = 0;
    uint64_t bytes = 0;
    char path[256];
    int rc = 0;
    testing_pieces(now, p);
    if (g->base.incarnation) {
        const uint8_t *old[TESTING_VARS] = {(const uint8_t *)before->a, NULL, (const uint8_t *)before->b, before->grows};
        for (uint32_t i = 0; i < TESTING_VARS; i++) {
            if (!old[i] || (i == 3 && before->grown != now->grown))
                continue;
            p[i].changes_only = 1;
            memory[regions++] = (struct sk_memory){i, (uint8_t *)p[i].data, p[i].size_bytes};
            testing_diff(&changed, i, old[i], p[i].data, p[i].size_bytes);
        }
        strcpy(p[count].name, SK_LINEAGE_VAR);
        p[count].type = SAIKAI_U8;
        p[count].ndims = 1;
        p[count].kind = SK_SKC_CHANGES;
        p[count].dims[0] = p[count].size_bytes = sk_delta_size(regions, &changed) + g->spare;
        count++;
        rc = sk_gen_file(g->root, g->base, g->rank, path, sizeof path, NULL);
        if (!rc)
            rc = sk_container_open(path, &base, NULL);
    }
    if (!rc)
        rc = sk_container_layout(p, count, &index, &bytes, NULL);
    uint8_t *map = rc ? NULL : malloc(bytes), *payload;
    for (size_t i = 0; map && i < TESTING_VARS; i++)
        if (!p[i].changes_only && p[i].size_bytes)
            memcpy(map + index->chunks[index->vars[i].first_chunk].offset, p[i].data, p[i].size_bytes);
    if (map && base) {
        uint8_t *delta = map + index->chunks[index->vars[TESTING_VARS].first_chunk].offset;
        rc = sk_delta_start(0, memory, regions, &changed, delta, p[TESTING_VARS].size_bytes, &payload, NULL);
        for (size_t i = 0; !rc && i < changed.n; i++) {
            const struct sk_range *x = &changed.v[i];
            memcpy(payload, (const uint8_t *)p[x->region].data + x->offset, x->size_bytes);
            payload += x->size_bytes;
        }
        sk_delta_set_from(delta, base->trailer.index_hash);
        sk_delta_seal(delta);
    }
    if (map && g->lie)
        g->lie(index, map);
    struct sk_skc_header h = {.run_id = 5, .iteration = g->gen.iteration, .place = g->gen.place,
                              .incarnation = g->gen.incarnation, .rank = (uint32_t)g->rank,
                              .nranks = (uint32_t)g->nranks, .created_ms = step,
                              .base_iteration = g->base.iteration, .base_place = g->base.place,
                              .base_incarnation = g->base.incarnation};
    if (!rc)
        rc = sk_container_seal(map, bytes, &h, index, NULL, NULL);
    if (!rc)
        rc = sk_io_mkdirs(g->root, NULL);
    snprintf(path, sizeof path, "%s/tmp", g->root);
    if (!rc)
        rc = sk_io_replace(path, map, bytes, NULL);
    if (!rc)
        rc = sk_gen_commit(g->root, g->gen, g->rank, path, 0, NULL);
    free(map);
    sk_skc_index_free(index);
    sk_container_close(base);
    sk_ranges_free(&changed);
    return rc;
}

/* 1: the open generation holds s; 0: something else; -1: it cannot be read. */
static inline int testing_compare(struct sk_container *c, const struct testing_state *s)
{
    struct sk_piece p[TESTING_VARS + 1];
    int same = 1;
    testing_pieces(s, p);
    for (int i = 0; same > 0 && i < TESTING_VARS; i++) {
        const struct sk_skc_var *v = sk_skc_find(c->index, p[i].name);
        void *out = v ? malloc(v->raw_bytes + 1) : NULL;
        if (!v || sk_container_read(c, v, out, NULL))
            same = -1;
        else if (v->raw_bytes != p[i].size_bytes || memcmp(out, p[i].data, v->raw_bytes))
            same = 0;
        free(out);
    }
    return same;
}

#endif
