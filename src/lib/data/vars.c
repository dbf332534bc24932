/* The list of variables: checks each as it is protected, makes pieces of them for a checkpoint, and
 * puts saved bytes back. */
#include "lib/data/vars.h"

#include "base/host/memory.h"
#include "base/types.h"
#include "codec/quality/bound.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sk_var *sk_vars_find(struct sk_vars *l, const char *name)
{
    ptrdiff_t i = sk_lookup_find(&l->names, l->v, sizeof *l->v, l->count, name);
    return i < 0 ? NULL : &l->v[i];
}

static int check_tile(const struct sk_var *v, struct saikai_error *err)
{
    size_t end, n = sk_type_size(v->type);
    if (v->form != SK_VAR_FIXED || !v->ndims)
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': a global array needs 1 to %d dimensions", v->name,
                       SAIKAI_MAX_DIMS);
    for (int d = 0; d < v->ndims; d++) {
        size_t global = v->tile.global[d];
        if (__builtin_add_overflow(v->tile.offset[d], v->dims[d], &end) || end > global)
            return sk_fail(err, SAIKAI_EINVAL,
                           "variable '%.60s': in dimension %d its block of %zu at offset %zu ends behind the global array "
                           "of %zu",
                           v->name, d, v->dims[d], (size_t)v->tile.offset[d], global);
        if (__builtin_mul_overflow(n, global ? global : 1, &n))
            return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': its global array has more than 2^64 bytes", v->name);
    }
    return 0;
}

static int check(const struct sk_var *v, struct saikai_error *err)
{
    size_t n;
    if (!*v->name)
        return sk_fail(err, SAIKAI_EINVAL, "a protected variable needs a name");
    if (!sk_type_size(v->type))
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': type %d is none of Saikai's", v->name, v->type);
    if (v->ndims < 0 || v->ndims > SAIKAI_MAX_DIMS)
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': %d dimensions; 0 to %d are possible", v->name,
                       v->ndims, SAIKAI_MAX_DIMS);
    if (sk_dims_count(v->ndims, v->dims, &n) || n > SIZE_MAX / sk_type_size(v->type))
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s' is larger than memory can be", v->name);
    if ((v->form == SK_VAR_FIXED && n && !v->data) || (v->form == SK_VAR_ARRAY && (!v->array.pdata || !v->array.pcount) && (!v->array.look || !v->array.resize)) ||
        (v->form == SK_VAR_STREAM && (!v->stream.write || !v->stream.read)))
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': a pointer is NULL", v->name);
    return v->scope == SK_SKC_GLOBAL ? check_tile(v, err) : 0;
}

/* Strides that have no gaps between them are none: what is in one piece can be tracked and copied behind the program. */
static int has_gaps(const struct sk_var *v)
{
    ptrdiff_t width = (ptrdiff_t)sk_type_size(v->type);
    for (int d = v->ndims - 1; d >= 0; width *= (ptrdiff_t)v->dims[d--])
        if (v->dims[d] > 1 && v->layout.strides[d] != width)
            return 1;
    return 0;
}

/* A variable that is told anew keeps what was set of it, as far as that still means something. */
static int keep_attributes(struct sk_var *v, const struct sk_var *old, struct saikai_error *err)
{
    v->bound = old->bound;
    v->constant = old->constant;
    int rc = 0;
    memcpy(v->codec, old->codec, sizeof v->codec);
    if (old->scope == SK_SKC_REPLICATED && v->scope == SK_SKC_OWN)
        v->scope = SK_SKC_REPLICATED;
    if (old->layout.halo == SK_HALO_SET && !v->layout.halo && !v->layout.strided && v->form == SK_VAR_FIXED && v->ndims == old->ndims)
        rc = sk_var_set_halo(v, old->layout.low, old->layout.high, err);
    if (v->layout.halo && old->layout.halo == SK_HALO_SET)
        v->layout.halo = SK_HALO_SET;
    return rc;
}

/* Without memory for it, the next one tries again. */
static void know_all(struct sk_vars *l)
{
    while (l->names.count < l->count && !sk_lookup_add(&l->names, l->v, sizeof *l->v))
        ;
}

int sk_vars_put(struct sk_vars *l, const struct sk_var *given, struct saikai_error *err)
{
    struct sk_var new = *given;
    const struct sk_var *v = &new;
    int rc = check(v, err);
    if (rc)
        return rc;
    new.layout.strided = new.layout.strided && has_gaps(v);
    struct sk_var *old = sk_vars_find(l, v->name);
    if (old) {
        if ((rc = keep_attributes(&new, old, err)))
            return rc;
        new.id = old->id;
        new.moves = old->moves || old->data != new.data;
        *old = new;
        return 0;
    }
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct sk_var *p = realloc(l->v, cap * sizeof *p);
        if (!p)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory to protect '%.60s'", v->name);
        l->v = p;
        l->cap = cap;
    }
    l->v[l->count] = *v;
    l->v[l->count++].id = l->next_id++;
    know_all(l);
    return 0;
}

int sk_vars_remove(struct sk_vars *l, const char *name, struct saikai_error *err)
{
    struct sk_var *v = sk_vars_find(l, name);
    if (!v)
        return sk_fail(err, SAIKAI_ENOENT, "no variable '%.60s' is protected", name);
    memmove(v, v + 1, (size_t)(l->v + --l->count - v) * sizeof *v);
    sk_lookup_forget(&l->names);
    know_all(l);
    return 0;
}

int sk_var_set_halo(struct sk_var *v, const size_t *low, const size_t *high, struct saikai_error *err)
{
    size_t width = sk_type_size(v->type), before = 0, memory;
    int bad = !width;
    for (int d = v->ndims - 1; !bad && d >= 0; d--) {
        bad = __builtin_add_overflow(v->dims[d], low[d], &memory) || __builtin_add_overflow(memory, high[d], &memory);
        v->layout.strides[d] = (ptrdiff_t)width;
        before += low[d] * width;
        bad |= __builtin_mul_overflow(width, memory, &width) || width > PTRDIFF_MAX;
    }
    if (bad)
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s' is larger than memory can be", v->name);
    v->layout.strided = 1;
    v->layout.halo = SK_HALO_GIVEN;
    v->layout.halo_bytes = before;
    memcpy(v->layout.low, low, sizeof *low * (size_t)v->ndims);
    memcpy(v->layout.high, high, sizeof *high * (size_t)v->ndims);
    if (v->data)
        v->data = (char *)v->data + before;
    return 0;
}

void sk_vars_free(struct sk_vars *l)
{
    sk_vars_release(l);
    free(l->v);
    sk_lookup_forget(&l->names);
    *l = (struct sk_vars){0};
}

/* Where an array is now, and its length. */
static int look_up(const struct sk_var *v, void **data, size_t *count, struct saikai_error *err)
{
    int rc = v->array.look ? v->array.look(v->arg, data, count) : 0;
    if (rc)
        return sk_fail(err, SAIKAI_ESTATE, "variable '%.60s': the program's function returned %d when it was asked where it is",
                       v->name, rc);
    if (!v->array.look) {
        *data = *v->array.pdata;
        *count = *v->array.pcount;
    }
    return 0;
}

/* Make it hold what was saved. */
static int resize(struct sk_var *v, const struct sk_skc_var *s, void **data, struct saikai_error *err)
{
    size_t count;
    int rc = look_up(v, data, &count, err);
    if (rc || s->dims[0] == count)
        return rc;
    if (v->array.resize) {
        rc = v->array.resize(v->arg, s->dims[0], data);
    } else {
        *data = realloc(*v->array.pdata, s->raw_bytes ? s->raw_bytes : 1);
        rc = !*data;
    }
    if (rc)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the %llu bytes of '%.60s'", (unsigned long long)s->raw_bytes, v->name);
    if (!v->array.resize) {
        *v->array.pdata = *data;
        *v->array.pcount = s->dims[0];
    }
    return 0;
}

uint64_t sk_vars_bytes(const struct sk_vars *l)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct sk_var *v = &l->v[i];
        size_t dims[SAIKAI_MAX_DIMS], n;
        memcpy(dims, v->dims, sizeof dims);
        void *data;
        if (v->form == SK_VAR_ARRAY && look_up(v, &data, &dims[0], NULL))
            continue;
        if (v->form != SK_VAR_STREAM && !sk_dims_count(v->ndims, dims, &n))
            sum += (uint64_t)n * sk_type_size(v->type);
    }
    return sum;
}

static int write_stream(struct sk_var *v, struct saikai_error *err)
{
    FILE *f = open_memstream(&v->stream.text, &v->stream.text_bytes);
    if (!f)
        return sk_fail_errno(err, errno, "variable '%.60s': no memory for its stream", v->name);
    int rc = v->stream.write(f, v->arg);
    int bad = ferror(f);
    if (fclose(f))
        bad = 1;
    if (rc)
        return sk_fail(err, SAIKAI_ESTATE, "variable '%.60s': the program's writer returned %d", v->name, rc);
    return bad ? sk_fail(err, SAIKAI_ENOMEM, "variable '%.60s': no memory for its stream", v->name) : 0;
}

static int array_piece(struct sk_var *v, struct sk_piece *p, struct saikai_error *err)
{
    size_t n;
    void *data;
    int rc = look_up(v, &data, &p->dims[0], err);
    if (rc)
        return rc;
    p->data = data;
    if (sk_dims_count(p->ndims, p->dims, &n) || n > SIZE_MAX / sk_type_size(p->type) || (n && !p->data))
        return sk_fail(err, SAIKAI_EINVAL, "variable '%.60s': %zu elements at %p cannot be", v->name,
                       (size_t)p->dims[0], data);
    return 0;
}

static int not_mapped(const struct sk_var *v, const void *at, size_t bytes, struct saikai_error *err)
{
    return sk_fail(err, SAIKAI_EINVAL,
                   "variable '%.60s': the program has given back its memory of %zu bytes at %p: call saikai_unprotect before that, "
                   "or saikai_protect with the address of now",
                   v->name, bytes, at);
}

/* From the lowest to the highest of its elements. */
static int check_mapped(const struct sk_var *v, const struct sk_piece *p, struct saikai_error *err)
{
    const char *low = p->data;
    size_t bytes = p->size_bytes;
    for (int d = 0; bytes && p->strides && d < p->ndims; d++) {
        ptrdiff_t span = (ptrdiff_t)(p->dims[d] - 1) * p->strides[d];
        bytes = d ? bytes : sk_type_size(p->type);
        low += span < 0 ? span : 0;
        bytes += (size_t)(span < 0 ? -span : span);
    }
    return sk_memory_can_be_read(low, bytes) ? 0 : not_mapped(v, low, bytes, err);
}

int sk_vars_pieces(struct sk_vars *l, struct sk_piece *p, struct saikai_error *err)
{
    for (size_t i = 0; i < l->count; i++, p++) {
        struct sk_var *v = &l->v[i];
        size_t n;
        int rc = 0;
        *p = (struct sk_piece){.type = v->type, .ndims = v->ndims, .data = v->data};
        memcpy(p->name, v->name, sizeof p->name);
        memcpy(p->dims, v->dims, sizeof p->dims);
        p->scope = v->scope;
        p->tile = v->tile;
        p->strides = v->layout.strided ? v->layout.strides : NULL;
        if (v->form == SK_VAR_ARRAY) {
            rc = array_piece(v, p, err);
        } else if (v->form == SK_VAR_STREAM) {
            rc = write_stream(v, err);
            p->kind = SK_SKC_STREAM;
            p->ndims = 1;
            p->dims[0] = v->stream.text_bytes;
            p->data = v->stream.text;
        }
        if (rc)
            return rc;
        sk_dims_count(p->ndims, p->dims, &n);
        p->size_bytes = n * sk_type_size(p->type);
        if (v->form != SK_VAR_STREAM && (rc = check_mapped(v, p, err)))
            return rc;
    }
    return 0;
}

void sk_vars_release(struct sk_vars *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->v[i].stream.text);
        l->v[i].stream.text = NULL;
    }
}

int sk_var_same_tile(const struct sk_var *v, const struct sk_skc_var *s)
{
    size_t n = sizeof s->tile.global[0] * (size_t)v->ndims;
    if (v->scope != SK_SKC_GLOBAL || s->scope != SK_SKC_GLOBAL || v->ndims != s->ndims)
        return 1; /* what else differs is found when it is read */
    for (int d = 0; d < v->ndims; d++)
        if (v->dims[d] != s->dims[d])
            return 0;
    return !memcmp(v->tile.offset, s->tile.offset, n) && !memcmp(v->tile.global, s->tile.global, n);
}

/* "f64 20x30": a type's name, and a sign and up to 20 digits for each dimension. */
#define SHAPE_BYTES (16 + 21 * SAIKAI_MAX_DIMS)

static void show_shape(char out[SHAPE_BYTES], const char *type, int ndims, const uint64_t *dims)
{
    out += sprintf(out, "%.15s", type);
    for (int d = 0; d < ndims; d++)
        out += sprintf(out, "%c%llu", d ? 'x' : ' ', (unsigned long long)dims[d]);
}

static int compare(const struct sk_var *v, const struct sk_skc_var *s, const char *path,
                   struct saikai_error *err)
{
    int kind = v->form == SK_VAR_STREAM ? SK_SKC_STREAM : SK_SKC_MEMORY;
    int same = s->type == v->type && s->kind == kind && (kind == SK_SKC_STREAM || s->ndims == v->ndims);
    for (int d = v->form == SK_VAR_ARRAY; same && kind == SK_SKC_MEMORY && d < v->ndims; d++)
        same = s->dims[d] == v->dims[d];
    if (same)
        return 0;
    char was[SHAPE_BYTES], is[SHAPE_BYTES];
    uint64_t dims[SAIKAI_MAX_DIMS];
    for (int d = 0; d < v->ndims; d++)
        dims[d] = v->dims[d];
    show_shape(was, sk_type_name(s->type), s->ndims, s->dims);
    show_shape(is, sk_type_name(v->type), v->ndims, dims);
    return sk_fail(err, SAIKAI_ECHANGED,
                   "variable '%.60s' is %s in this program but %s in %s: start with the program and input that wrote "
                   "it, or afresh with restart.mode=never",
                   v->name, is, was, path);
}

static int read_stream(struct sk_var *v, struct sk_container *c, const struct sk_skc_var *s,
                       struct saikai_error *err)
{
    char *text = malloc(s->raw_bytes ? s->raw_bytes : 1);
    if (!text)
        return sk_fail(err, SAIKAI_ENOMEM, "variable '%.60s': no memory for its stream", v->name);
    int rc = sk_container_read(c, s, text, err);
    FILE *f = rc ? NULL : fmemopen(text, s->raw_bytes, "r"); /* an empty one is at its end at once (glibc 2.22) */
    if (!rc && !f)
        rc = sk_fail_errno(err, errno, "variable '%.60s': cannot open its stream", v->name);
    int result = f ? v->stream.read(f, v->arg) : 0;
    if (f)
        fclose(f);
    free(text);
    if (!rc && result)
        rc = sk_fail(err, SAIKAI_ECHANGED, "variable '%.60s': the program's reader returned %d", v->name,
                     result);
    return rc;
}

int sk_var_restore(struct sk_var *v, struct sk_container *c, struct saikai_error *err)
{
    const struct sk_skc_var *s = sk_skc_find(c->index, v->name);
    if (!s)
        return sk_fail(err, SAIKAI_ECHANGED,
                       "%s has no variable '%.60s': start with the program that wrote it, or afresh with "
                       "restart.mode=never",
                       c->path, v->name);
    int rc = compare(v, s, c->path, err);
    if (rc)
        return rc;
    void *to = v->data;
    if (v->form == SK_VAR_STREAM) {
        rc = read_stream(v, c, s, err);
    } else if (v->layout.strided) {
        rc = sk_container_read_box(c, s, (uint64_t[SAIKAI_MAX_DIMS]){0}, s->dims, to, v->layout.strides, err);
    } else {
        if (v->form == SK_VAR_ARRAY && (rc = resize(v, s, &to, err)))
            return rc;
        rc = sk_memory_can_be_read(to, s->raw_bytes) ? sk_container_read(c, s, to, err) : not_mapped(v, to, s->raw_bytes, err);
    }
    v->restored = !rc;
    return rc;
}

int sk_vars_inexact(const struct sk_vars *l, const struct sk_skc_index *index, char first[SK_INEXACT_TEXT])
{
    char bound[48];
    int n = 0;
    for (size_t i = 0; i < l->count; i++) {
        const struct sk_skc_var *s = sk_skc_find(index, l->v[i].name);
        if (s && s->bound_kind && !n++)
            snprintf(first, SK_INEXACT_TEXT, "'%.60s' within %s", s->name,
                     sk_bound_format(bound, sizeof bound, &(struct sk_bound){s->bound_kind, s->bound}));
    }
    return n;
}
