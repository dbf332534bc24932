/* Blocks of repeats: each takes from one other block, of this archive or of the previous one. Variables
 * keep their classes there, so that they are found by their names. */
#include "archive/plan/takes.h"

#include "archive/plan/family.h"
#include "base/order.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a file, and where another block has them. */
struct piece {
    uint32_t previous, block, class_index, file, part;
    uint64_t offset, bytes, at;
    struct sk_stencil_box box;
};

struct pieces {
    struct sk_ska_plan *p;
    struct sk_key_rule rule;
    struct piece *list;
    size_t count, cap;
};

/* A segment of this archive, and where it is in its part. */
struct source {
    uint32_t file, block, part;
    uint64_t offset, bytes, at;
};

static int by_source(const void *x, const void *y)
{
    const struct source *a = x, *b = y;
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

static struct source *list_sources(const struct sk_ska *a)
{
    struct source *s = malloc((a->segment_count + 1) * sizeof *s);
    size_t n = 0;
    for (size_t b = 0; s && b < a->block_count; b++)
        for (uint32_t k = 0; k < a->blocks[b].count; k++) {
            const struct sk_ska_part *part = &a->parts[a->blocks[b].first + k];
            uint64_t at = 0;
            for (uint32_t i = 0; i < part->count; i++) {
                const struct sk_ska_segment *g = &a->segments[part->first + i];
                uint64_t bytes = sk_ska_segment_bytes(a, part, g);
                s[n++] = (struct source){g->file, (uint32_t)b, k, g->offset, bytes, at};
                at += bytes;
            }
        }
    if (s && n)
        qsort(s, n, sizeof *s, by_source);
    return s;
}

static int put(struct pieces *l, const struct piece *x)
{
    if (l->count == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 256;
        struct piece *more = realloc(l->list, cap * sizeof *more);
        if (!more)
            return SAIKAI_ENOMEM;
        l->list = more;
        l->cap = cap;
    }
    l->list[l->count++] = *x;
    return 0;
}

/* The variable that holds a place of a file, or the next one; NULL: none follows. */
static const struct sk_extent *variable_at(const struct sk_scan *s, uint64_t offset)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->extents[mid].offset + s->extents[mid].length <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->count ? &s->extents[low] : NULL;
}

/* Its class, and what it is of a variable: all of it, or some of its elements; else bytes. */
static int set_class(struct pieces *l, struct piece *x, const struct sk_extent *e)
{
    struct sk_ska_class plain = {"skeleton:repeats", SAIKAI_U8, 0, 0};
    size_t width = e ? sk_type_size(e->type) : 1;
    int inside = e && e->repeat && e->offset <= x->offset && (x->offset - e->offset) % width == 0 && x->bytes % width == 0;
    int c = inside ? sk_ska_plan_class(l->p, &l->rule, e) : sk_ska_add_class(&l->p->a, &plain);
    x->box = inside && x->bytes == e->length ? sk_box_of(e->ndims, e->dims)
                                             : (struct sk_stencil_box){1, 1, inside ? x->bytes / width : x->bytes};
    x->class_index = (uint32_t)c;
    return c < 0 ? c : 0;
}

/* Cut a piece where variables begin and end, and where it is longer than a block may be. */
static int put_by_variable(struct pieces *l, struct piece x)
{
    uint64_t left = x.bytes, most = l->p->bytes_unit / 64 * 64;
    while (left) {
        const struct sk_extent *e = variable_at(&l->p->scans[x.file], x.offset);
        uint64_t n = !e ? left : e->offset > x.offset ? e->offset - x.offset : e->offset + e->length - x.offset;
        x.bytes = n < left ? n : left;
        x.bytes = x.bytes < most ? x.bytes : most;
        int rc = set_class(l, &x, e && e->offset <= x.offset ? e : NULL);
        rc = rc ? rc : put(l, &x);
        if (rc)
            return rc;
        x.offset += x.bytes;
        x.at += x.bytes;
        left -= x.bytes;
    }
    return 0;
}

/* Where this archive has the bytes of a repeat. */
static int put_own(struct pieces *l, const struct source *s, size_t n, const struct sk_repeat *r)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s[mid].file < r->from_file || (s[mid].file == r->from_file && s[mid].offset + s[mid].bytes <= r->from))
            low = mid + 1;
        else
            high = mid;
    }
    for (uint64_t done = 0; done < r->bytes; low++) {
        if (low == n || s[low].file != r->from_file || s[low].offset > r->from + done)
            return SAIKAI_EINVAL; /* every source is stored */
        uint64_t skip = r->from + done - s[low].offset, k = s[low].bytes - skip;
        struct piece x = {.block = s[low].block, .file = r->file, .part = s[low].part, .offset = r->offset + done, .at = s[low].at + skip};
        x.bytes = k < r->bytes - done ? k : r->bytes - done;
        int rc = put_by_variable(l, x);
        if (rc)
            return rc;
        done += x.bytes;
    }
    return 0;
}

static int by_block(const void *x, const void *y)
{
    const struct piece *a = x, *b = y;
    int c = SK_ORDER_BY(a->previous, b->previous, a->block, b->block);
    if (!c)
        c = SK_ORDER(a->class_index, b->class_index);
    if (!c && a->previous) /* as they lie there: what did not change is one stretch, and the index has them in the same order */
        c = SK_ORDER_BY(a->part, b->part, a->at, b->at);
    return c ? c : SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

/* One more entry of a part; what goes on in the archive before where the last one ended makes that longer. */
static void put_take(struct sk_recipe *r, struct sk_take *takes, const struct piece *x)
{
    struct sk_take *last = r->take_count ? &takes[r->take_count - 1] : NULL;
    if (last && x->previous && last->part == x->part && last->at + last->bytes == x->at)
        last->bytes += x->bytes;
    else
        takes[r->take_count++] = (struct sk_take){x->part, x->at, x->bytes};
}

/* The pieces of one source as a block, with a part per class. takes: their entries. */
static int cut_block(struct sk_ska_plan *p, const struct piece *list, size_t n, struct sk_take *takes)
{
    struct sk_ska *a = &p->a;
    struct sk_take *own = takes; /* of the open part */
    int b = sk_ska_add_block(a), part = -1;
    if (b < 0)
        return b;
    a->blocks[b].previous = list->previous ? list->block + 1 : 0;
    a->blocks[b].own = list->previous ? 0 : list->block + 1;
    for (size_t i = 0; i < n; i++) {
        struct sk_ska_segment s = {list[i].file, list[i].offset, list[i].box, 0};
        if (!i || list[i].class_index != list[i - 1].class_index) {
            if (i)
                sk_ska_close_part(a);
            if ((part = sk_ska_add_part(a, list[i].class_index)) < 0)
                return part;
            struct sk_recipe *more = realloc(p->recipes, a->part_cap * sizeof *more);
            if (!more)
                return SAIKAI_ENOMEM;
            p->recipes = more;
            own = takes + i;
            more[part] = (struct sk_recipe){.form = SK_FORM_TAKE, .backend = SK_BACKEND_ZSTD, .takes = own};
        }
        if (sk_ska_add_segment(a, &s) < 0)
            return SAIKAI_ENOMEM;
        put_take(&p->recipes[part], own, &list[i]);
    }
    sk_ska_close_part(a);
    sk_ska_close_block(a);
    return 0;
}

static int cut_all(struct sk_ska_plan *p, struct pieces *l)
{
    int rc = 0;
    p->takes = malloc((l->count + 1) * sizeof *p->takes);
    if (!p->takes)
        return SAIKAI_ENOMEM;
    if (l->count)
        qsort(l->list, l->count, sizeof *l->list, by_block);
    for (size_t i = 0, k; i < l->count && !rc; i = k) {
        uint64_t bytes = l->list[i].bytes;
        for (k = i + 1; k < l->count && l->list[k].previous == l->list[i].previous && l->list[k].block == l->list[i].block &&
                        bytes + l->list[k].bytes <= p->bytes_unit;)
            bytes += l->list[k++].bytes;
        rc = cut_block(p, l->list + i, k - i, p->takes + i);
    }
    return rc;
}

int sk_takes_cut(struct sk_ska_plan *p, const struct sk_repeats *r, struct saikai_error *err)
{
    struct pieces l = {.p = p};
    char why[160];
    size_t n = p->a.segment_count;
    struct source *s = r->count ? list_sources(&p->a) : NULL;
    int rc = !r->count || s ? 0 : SAIKAI_ENOMEM;
    if (!rc && sk_key_rule_set(&l.rule, p->opt.pattern, why, sizeof why))
        rc = SAIKAI_EINVAL;
    for (size_t i = 0; i < r->count && !rc; i++) {
        const struct sk_repeat *x = &r->list[i];
        struct piece from = {1, x->block - 1, 0, x->file, x->part, x->offset, x->bytes, x->at, {0, 0, 0}};
        rc = x->block ? put_by_variable(&l, from) : put_own(&l, s, n, x);
    }
    if (!rc)
        rc = cut_all(p, &l);
    sk_key_rule_free(&l.rule);
    free(l.list);
    free(s);
    return rc ? sk_fail(err, rc, "%s", rc == SAIKAI_ENOMEM ? "no memory for repeats" : "repeats do not fit together") : 0;
}
