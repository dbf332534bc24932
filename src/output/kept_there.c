/* Reading the names at an output as generations of stores. */
#include "output/kept_there.h"

#include "base/file/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sk_kept_there_name(const char *base, struct sk_id store, char name[SK_OUTLET_NAME], struct saikai_error *err, const char *fmt, ...)
{
    char rest[SK_OUTLET_NAME], id[SK_ID_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(rest, sizeof rest, fmt, ap);
    va_end(ap);
    return sk_io_path(name, SK_OUTLET_NAME, err, "%s/%s%s%s", base, sk_id_print(store, id), *rest ? "/" : "", rest);
}

/* The generation of "ID/GENERATION/FILE" or "ID/GENERATION.complete"; 0: it is none of those. */
static int parse(const char *name, struct sk_kept_gen *g)
{
    char id[SK_ID_TEXT], gen[64];
    const char *rest = name + SK_ID_TEXT;
    if (strlen(name) <= SK_ID_TEXT || name[SK_ID_TEXT - 1] != '/')
        return 0;
    memcpy(id, name, SK_ID_TEXT - 1);
    id[SK_ID_TEXT - 1] = 0;
    const char *slash = strchr(rest, '/'), *whole = slash ? NULL : strstr(rest, SK_KEPT_WHOLE);
    size_t n = slash ? (size_t)(slash - rest) : whole && !whole[sizeof SK_KEPT_WHOLE - 1] ? (size_t)(whole - rest) : sizeof gen;
    if (n >= sizeof gen)
        return 0;
    memcpy(gen, rest, n);
    gen[n] = 0;
    *g = (struct sk_kept_gen){.whole = whole != NULL};
    return !sk_id_parse(id, &g->store) && !sk_gen_parse(gen, &g->gen);
}

static int is_same(const struct sk_kept_gen *g, struct sk_id store, struct sk_gen gen)
{
    return sk_id_same(g->store, store) && sk_gen_key(g->gen) == sk_gen_key(gen);
}

static struct sk_kept_gen *find(const struct sk_kept_there *k, struct sk_id store, struct sk_gen gen)
{
    for (size_t i = k->n; i-- > 0;) /* names come in order: it is the last one, mostly */
        if (is_same(&k->at[i], store, gen))
            return &k->at[i];
    return NULL;
}

static int count(struct sk_kept_there *k, const struct sk_kept_gen *g, uint64_t size_bytes)
{
    struct sk_kept_gen *x = find(k, g->store, g->gen);
    if (!x && k->n == k->cap) {
        size_t cap = k->cap ? 2 * k->cap : 16;
        struct sk_kept_gen *p = realloc(k->at, cap * sizeof *p);
        if (!p)
            return -1;
        k->at = p;
        k->cap = cap;
    }
    if (!x) {
        x = &k->at[k->n++];
        *x = (struct sk_kept_gen){.store = g->store, .gen = g->gen};
    }
    x->whole |= g->whole;
    x->files += !g->whole;
    x->size_bytes += g->whole ? 0 : size_bytes;
    return 0;
}

static int by_store_newest_first(const void *a, const void *b)
{
    const struct sk_kept_gen *x = a, *y = b;
    int64_t i = sk_gen_key(x->gen), j = sk_gen_key(y->gen);
    int c = memcmp(x->store.b, y->store.b, sizeof x->store.b);
    return c ? c : i < j ? 1 : i > j ? -1 : 0;
}

int sk_kept_there_list(const struct sk_outlet *o, const char *base, struct sk_kept_there *out, struct saikai_error *err)
{
    struct sk_kept_there k = {0};
    char begins[SK_OUTLET_NAME];
    int rc = sk_io_path(begins, sizeof begins, err, "%s/", base);
    if (!rc)
        rc = sk_outlet_list(o, begins, &k.names, err);
    for (size_t i = 0; !rc && i < k.names.n; i++) {
        struct sk_kept_gen g;
        if (parse(k.names.at[i].name + strlen(begins), &g) && count(&k, &g, k.names.at[i].size_bytes))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %.200s", o->label);
    }
    if (rc) {
        sk_kept_there_free(&k);
        return rc;
    }
    if (k.n)
        qsort(k.at, k.n, sizeof *k.at, by_store_newest_first);
    *out = k;
    return 0;
}

void sk_kept_there_free(struct sk_kept_there *k)
{
    sk_outlet_names_free(&k->names);
    free(k->at);
    *k = (struct sk_kept_there){0};
}

const struct sk_kept_gen *sk_kept_there_find(const struct sk_kept_there *k, struct sk_id store, struct sk_gen gen)
{
    return find(k, store, gen);
}

int sk_kept_there_remove(const struct sk_outlet *o, const char *base, const struct sk_kept_there *k, const struct sk_kept_gen *g,
                         struct saikai_error *err)
{
    char gen[48], name[SK_OUTLET_NAME];
    int rc = sk_kept_there_name(base, g->store, name, err, "%s" SK_KEPT_WHOLE, sk_gen_name(g->gen, gen));
    if (!rc)
        rc = sk_outlet_remove(o, name, err);
    if (!rc)
        rc = sk_kept_there_name(base, g->store, name, err, "%s/", gen);
    for (size_t i = 0; !rc && i < k->names.n; i++)
        if (!strncmp(k->names.at[i].name, name, strlen(name)))
            rc = sk_outlet_remove(o, k->names.at[i].name, err);
    return rc;
}

int sk_kept_there_newest_store(const struct sk_outlet *o, const char *base, const char *dir, struct sk_id *out, struct saikai_error *err)
{
    char name[SK_OUTLET_NAME];
    void *text = NULL;
    size_t n = 0;
    int rc = sk_io_path(name, sizeof name, err, "%s/" SK_KEPT_POINTER, base);
    if (!rc)
        rc = sk_outlet_get_bytes(o, name, SK_ID_TEXT + 1, dir, &text, &n, err);
    if (rc)
        return rc;
    ((char *)text)[strcspn(text, "\n")] = 0;
    if (sk_id_parse(text, out))
        rc = sk_fail(err, SAIKAI_EDAMAGED, "output %.120s: %.200s is damaged", o->label, name);
    free(text);
    return rc;
}
