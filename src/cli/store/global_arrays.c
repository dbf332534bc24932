/* Gathers the tiles of each global array from the ranks' containers, checks that they leave no gap,
 * and copies a tile to its place. */
#include "cli/store/global_arrays.h"

#include "base/types.h"

#include <stdlib.h>
#include <string.h>

void cli_globals_free(struct cli_globals *g)
{
    for (size_t i = 0; i < g->count; i++)
        free(g->array[i].tile);
    free(g->array);
    *g = (struct cli_globals){0};
}

static int add_array(struct cli_globals *g, const struct sk_skc_var *v, size_t files,
                     struct saikai_error *err)
{
    if (g->count == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 16;
        struct cli_global_array *p = realloc(g->array, cap * sizeof *p);
        if (!p)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for %zu arrays", cap);
        g->array = p;
        g->cap = cap;
    }
    struct cli_global_array *a = &g->array[g->count];
    *a = (struct cli_global_array){.var = *v, .element_bytes = sk_type_size(v->type)};
    if (v->scope == SK_SKC_GLOBAL) {
        a->tile = calloc(files, sizeof *a->tile);
        if (!a->tile)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for the tiles of '%.60s'", v->name);
        a->var.raw_bytes = a->element_bytes;
        for (int d = 0; d < v->ndims; d++) {
            a->var.dims[d] = v->tile.global[d];
            a->var.raw_bytes *= v->tile.global[d];
        }
    }
    g->count++;
    return 0;
}

static int add_tile(struct cli_global_array *a, size_t file, const struct sk_container *c,
                    struct saikai_error *err)
{
    const struct sk_skc_var *v = sk_skc_find(c->index, a->var.name);
    size_t n = sizeof a->var.dims[0] * a->var.ndims;
    if (!v || v->scope != a->var.scope || v->type != a->var.type || v->ndims != a->var.ndims ||
        (a->tile && memcmp(v->tile.global, a->var.dims, n) != 0))
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "%s has no variable '%.60s' of the same global array as the files beside it",
                       c->path, a->var.name);
    if (!a->tile)
        return 0;
    struct sk_box *b = &a->tile[file];
    b->ndims = v->ndims;
    memcpy(b->low, v->tile.offset, n);
    memcpy(b->size, v->dims, n);
    if (v->max_error > a->var.max_error || v->max_error != v->max_error)
        a->var.max_error = v->max_error; /* the largest, or that it is not known */
    return 0;
}

static int check_gaps(const struct cli_global_array *a, const struct cli_export *x,
                      struct saikai_error *err)
{
    struct sk_box whole = {.ndims = a->var.ndims}, gap;
    char text[200];
    memcpy(whole.size, a->var.dims, sizeof whole.size);
    int rc = a->tile ? sk_box_gap(&whole, a->tile, x->count, &gap) : 0;
    if (rc < 0)
        return sk_fail(err, rc, "no memory for the tiles of '%.60s'", a->var.name);
    return rc ? sk_fail(err, SAIKAI_ENOENT,
                        "the ranks' files of %s do not have %s of '%.60s'; --partial exports "
                        "zeros there",
                        x->source, sk_box_text(&gap, text, sizeof text), a->var.name)
              : 0;
}

static int load_file(struct cli_globals *g, const struct cli_export *x, size_t file,
                     const struct sk_container *c, struct saikai_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && !file && i < c->index->var_count; i++) {
        const struct sk_skc_var *v = &c->index->vars[i];
        g->left_out += v->scope == SK_SKC_OWN;
        g->tiled += v->scope == SK_SKC_GLOBAL;
        if (v->scope != SK_SKC_OWN && cli_export_wants(x, v->name))
            rc = add_array(g, v, x->count, err);
    }
    for (size_t i = 0; !rc && i < g->count; i++)
        rc = add_tile(&g->array[i], file, c, err);
    return rc;
}

int cli_globals_load(const struct cli_export *x, struct cli_globals *out, struct saikai_error *err)
{
    int rc = 0;
    *out = (struct cli_globals){0};
    for (size_t i = 0; !rc && i < x->count; i++) {
        struct sk_container *c = NULL;
        rc = cli_export_open(x, i, &c, err);
        if (!rc)
            rc = load_file(out, x, i, c, err);
        sk_container_close(c);
    }
    for (size_t i = 0; !rc && i < out->count; i++)
        rc = x->scope == CLI_EXPORT_GLOBAL_PARTIAL ? 0 : check_gaps(&out->array[i], x, err);
    if (!rc && !out->tiled)
        rc = sk_fail(err, SAIKAI_ENOENT,
                     "%s has no variable that is a part of a global array: the program says so "
                     "with saikai_protect_global",
                     x->source);
    return rc;
}

int cli_global_copy(const struct cli_global_array *a, size_t file, struct sk_container *c,
                    uint8_t *to, struct saikai_error *err)
{
    const struct sk_skc_var *v = sk_skc_find(c->index, a->var.name);
    ptrdiff_t strides[SAIKAI_MAX_DIMS], width = (ptrdiff_t)a->element_bytes;
    if (!a->tile)
        return !file && v && v->raw_bytes == a->var.raw_bytes ? sk_container_read(c, v, to, err)
                                                              : 0;
    const struct sk_box *b = &a->tile[file];
    if (!v || v->ndims != b->ndims || memcmp(v->dims, b->size, sizeof v->dims[0] * v->ndims) ||
        memcmp(v->tile.offset, b->low, sizeof v->dims[0] * v->ndims))
        return sk_fail(err, SAIKAI_EDAMAGED, "%s changed while it was exported", c->path);
    if (!v->raw_bytes)
        return 0;
    for (int d = v->ndims - 1; d >= 0; d--) {
        strides[d] = width;
        to += b->low[d] * (uint64_t)width;
        width *= (ptrdiff_t)a->var.dims[d];
    }
    return sk_container_read_box(c, v, (uint64_t[SAIKAI_MAX_DIMS]){0}, b->size, to, strides, err);
}
