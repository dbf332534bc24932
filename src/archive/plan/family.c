/* Families: which variables of a file stand together, and which of all files are the same. */
#include "archive/plan/family.h"

#include "base/order.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 32, SMALLEST_ARRAY = 512 };

static void *grown(void *items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return items;
    size_t n = *cap ? 2 * *cap : 64;
    void *more = realloc(items, n * size);
    if (more)
        *cap = n;
    return more;
}
#define GROW(p, list, n, cap)                                                                      \
    do {                                                                                           \
        void *more_ = grown((p)->list, (p)->n, &(p)->cap, sizeof *(p)->list);                      \
        if (!more_)                                                                                \
            return SAIKAI_ENOMEM;                                                                  \
        (p)->list = more_;                                                                         \
    } while (0)

struct item {
    const struct sk_extent *e;
    struct sk_stencil_box box;
    size_t group, nth; /* length of the group's name; number among equals */
};

static size_t group_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

/* Group, type, shape: what the fields of a bundle share. */
static int by_bundle(const struct item *a, const struct item *b)
{
    int c = SK_ORDER(a->group, b->group);
    if (!c)
        c = memcmp(a->e->name, b->e->name, a->group);
    if (!c)
        c = SK_ORDER(a->e->type * 4 + a->e->big_endian * 2 + a->e->fields, b->e->type * 4 + b->e->big_endian * 2 + b->e->fields);
    if (!c)
        c = SK_ORDER(a->box.nz, b->box.nz);
    if (!c)
        c = SK_ORDER(a->box.ny, b->box.ny);
    return c ? c : SK_ORDER(a->box.nx, b->box.nx);
}

static int by_name(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    int c = by_bundle(a, b);
    if (!c)
        c = strcmp(a->e->name, b->e->name);
    return c ? c : SK_ORDER(a->e->offset, b->e->offset);
}

static int by_nth(const void *x, const void *y)
{
    const struct item *a = x, *b = y;
    int c = by_bundle(a, b);
    if (!c)
        c = SK_ORDER(a->nth, b->nth);
    return c ? c : strcmp(a->e->name, b->e->name);
}

int sk_ska_plan_class(struct sk_ska_plan *p, const struct sk_key_rule *rule,
                      const struct sk_extent *e)
{
    char key[768];
    sk_key_make(rule, e->name, e->type, e->length > sk_type_size(e->type), key, sizeof key);
    struct sk_ska_class c = {key, e->type, e->big_endian, e->fields};
    return sk_ska_add_class(&p->a, &c);
}

static int family_of(struct sk_ska_plan *p, const uint32_t *classes, size_t fields)
{
    for (size_t i = p->family_count; i-- > 0;)
        if (p->families[i].fields == fields &&
            !memcmp(p->families[i].classes, classes, fields * sizeof *classes))
            return (int)i;
    GROW(p, families, family_count, family_cap);
    struct sk_family *f = &p->families[p->family_count];
    *f = (struct sk_family){.fields = fields, .classes = malloc(fields * sizeof *classes)};
    if (!f->classes)
        return SAIKAI_ENOMEM;
    memcpy(f->classes, classes, fields * sizeof *classes);
    return (int)p->family_count++;
}

/* items[0…n) of one file become a bundle. */
static int add_bundle(struct sk_ska_plan *p, const struct sk_key_rule *rule, uint32_t file,
                      const struct item *items, size_t n)
{
    uint32_t classes[MAX_FIELDS];
    struct sk_bundle b = {.file = file, .box = items[0].box, .first = p->offset_count};
    for (size_t i = 0; i < n; i++) {
        int c = sk_ska_plan_class(p, rule, items[i].e);
        if (c < 0)
            return c;
        classes[i] = (uint32_t)c;
        GROW(p, offsets, offset_count, offset_cap);
        p->offsets[p->offset_count++] = items[i].e->offset;
    }
    int f = family_of(p, classes, n);
    if (f < 0)
        return f;
    b.family = (uint32_t)f;
    GROW(p, bundles, bundle_count, bundle_cap);
    p->bundles[p->bundle_count++] = b;
    p->families[f].members++;
    return 0;
}

static int alone(const struct sk_extent *e)
{
    return e->fields || !sk_type_is_float(e->type);
}

static int bundle_file(struct sk_ska_plan *p, const struct sk_key_rule *rule, uint32_t file,
                       size_t smallest)
{
    const struct sk_scan *scan = &p->scans[file];
    struct item *items = malloc((scan->count + 1) * sizeof *items);
    size_t n = 0;
    int rc = 0;
    if (!items)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < scan->count; i++) {
        const struct sk_extent *e = &scan->extents[i];
        if (e->length >= smallest && !e->repeat)
            items[n++] = (struct item){e, sk_box_of(e->ndims, e->dims), group_of(e->name), 0};
    }
    if (n)
        qsort(items, n, sizeof *items, by_name);
    for (size_t i = 1; i < n; i++)
        if (!by_bundle(&items[i - 1], &items[i]) && !strcmp(items[i - 1].e->name, items[i].e->name))
            items[i].nth = items[i - 1].nth + 1;
    if (n)
        qsort(items, n, sizeof *items, by_nth);
    for (size_t i = 0, k; i < n && !rc; i = k) {
        for (k = i + 1; k < n && k - i < MAX_FIELDS && !alone(items[i].e) &&
                        !by_bundle(&items[i], &items[k]) && items[k].nth == items[i].nth;)
            k++;
        rc = add_bundle(p, rule, file, &items[i], k - i);
    }
    free(items);
    return rc;
}

static int by_family(const void *x, const void *y)
{
    const struct sk_bundle *a = x, *b = y;
    return SK_ORDER_BY(a->family, b->family, a->first, b->first); /* in order of the files */
}

int sk_ska_plan_families(struct sk_ska_plan *p, struct saikai_error *err)
{
    struct sk_key_rule rule;
    char why[160];
    size_t smallest = p->opt.scheme == SK_SCHEME_AUTO ? SMALLEST_ARRAY : 1;
    int rc = 0;
    if (p->opt.first_bytes > smallest)
        smallest = (size_t)p->opt.first_bytes;
    if (sk_key_rule_set(&rule, p->opt.pattern, why, sizeof why))
        return sk_fail(err, SAIKAI_EINVAL, "the pattern '%s' for names: %s", p->opt.pattern, why);
    for (size_t i = 0; i < p->a.file_count && !rc; i++)
        rc = bundle_file(p, &rule, (uint32_t)i, smallest);
    sk_key_rule_free(&rule);
    if (rc)
        return sk_fail(err, rc, "no memory for the list of variables");
    if (p->bundle_count)
        qsort(p->bundles, p->bundle_count, sizeof *p->bundles, by_family);
    for (size_t i = p->bundle_count; i-- > 0;)
        p->families[p->bundles[i].family].first = i;
    return 0;
}
