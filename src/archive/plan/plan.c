/* Planning: scan the files, cut everything into blocks. */
#include "archive/plan/family.h"
#include "archive/plan/listing.h"
#include "archive/plan/plan.h"
#include "archive/plan/repeats.h"
#include "archive/plan/sample/sample.h"
#include "archive/plan/sample/sample_bytes.h"
#include "archive/plan/small.h"
#include "archive/plan/takes.h"

#include "base/file/io.h"
#include "base/order.h"
#include "base/types.h"
#include "reader/scan.h"

#include <stdlib.h>
#include <string.h>

enum { OWN_BLOCK = 1 << 20, LOOKED_UP = 4 << 10 };

void sk_ska_plan_uncut(struct sk_ska_plan *p)
{
    for (size_t i = 0; i < p->family_count; i++) {
        free(p->families[i].classes);
        free(p->families[i].recipes);
        free(p->families[i].order);
    }
    free(p->takes);
    p->takes = NULL;
    free(p->recipes);
    p->recipes = NULL; /* its length is that of the parts, whose room starts anew */
    p->family_count = p->bundle_count = p->offset_count = 0;
    p->skeleton_bytes = p->near_bytes = p->dense_bytes = 0;
    sk_ska_clear_blocks(&p->a);
}

void sk_ska_plan_free(struct sk_ska_plan *p)
{
    if (!p)
        return;
    sk_ska_plan_uncut(p);
    for (size_t i = 0; p->scans && i < p->a.file_count; i++)
        sk_scan_free(&p->scans[i]);
    free(p->scans);
    sk_repeats_forget_chunks(p);
    free(p->families);
    free(p->bundles);
    free(p->offsets);
    sk_opened_free(p->previous);
    sk_ska_free(&p->a);
    *p = (struct sk_ska_plan){0};
}

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
/* ---- scanning ---- */

int sk_ska_plan_add(struct sk_ska_plan *p, struct sk_listed *l, struct saikai_error *err)
{
    struct sk_ska_file f = {.name = l->name,
                            .size_bytes = l->size_bytes,
                            .mode = l->mode,
                            .mtime_ns = l->mtime_ns,
                            .origin = l->origin};
    if (!sk_ska_safe_name(l->name))
        return sk_fail(err, SAIKAI_EINVAL, "'%.200s' cannot be the name of a file in an archive",
                       l->name);
    struct sk_scan *more = grown(p->scans, p->a.file_count, &p->scan_cap, sizeof *more);
    if (!more)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    p->scans = more;
    struct sk_chunks *cut = grown(p->chunks, p->a.file_count, &p->chunks_cap, sizeof *cut);
    if (!cut)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of files");
    p->chunks = cut;
    int i = sk_ska_add_file(&p->a, &f);
    if (i < 0)
        return sk_fail(err, i, "no memory for the list of files");
    p->scans[i] = l->scan;
    p->chunks[i] = l->chunks;
    p->variables += l->scan.count;
    l->scan = (struct sk_scan){0};
    l->chunks = (struct sk_chunks){0};
    sk_listed_free(l);
    return 0;
}

int sk_ska_plan_list(struct sk_ska_plan *p, struct sk_feed_local *feed, struct saikai_error *err)
{
    int rc = 0;
    sk_raw_describe_shipped();
    for (size_t i = 0; i < feed->count && !rc; i++) {
        struct sk_listed l = {0};
        rc = sk_list_input(&feed->inputs[i], &feed->seen[i], sk_scheme_looks(p->opt.scheme), &l,
                           err);
        if (!rc)
            rc = sk_ska_plan_add(p, &l, err);
        if (rc)
            sk_listed_free(&l);
        if (rc && rc != SAIKAI_ENOMEM)
            sk_feed_local_failed(feed, i);
    }
    return rc;
}

/* ---- cutting ---- */

int sk_ska_plan_strong(const struct sk_ska_plan *p)
{
    return (p->opt.level & ~SK_PACK_LONG) >= SK_PACK_BEST && sk_backend_here(SK_BACKEND_LZMA) >= 0;
}

/* What the user asks for goes before what samples say: the general compressor of every part, and
 * its level. */
static struct sk_recipe as_asked(const struct sk_ska_plan *p, struct sk_recipe r)
{
    if (p->opt.backend == SK_BACKEND_GZIP && r.backend == SK_BACKEND_ZSTD) {
        r.backend = SK_BACKEND_GZIP;
        r.level = r.level > 9 ? 9 : r.level;
    }
    if (p->opt.level && r.backend != SK_BACKEND_STORE) {
        r.level = r.backend == SK_BACKEND_GZIP && p->opt.level > 9 ? 9 : p->opt.level;
        r.asked = 1;
    }
    if (sk_ska_plan_strong(p) && r.backend == SK_BACKEND_ZSTD && (r.form == SK_FORM_BYTES || r.form == SK_FORM_RECORDS || sk_form_apart(r.form)))
        r.backend = SK_BACKEND_LZMA;
    return r;
}

/* Start a part of this recipe; segments are added to it until the next one starts. */
static int new_part(struct sk_ska_plan *p, uint32_t class_index, const struct sk_recipe *r)
{
    int i = sk_ska_add_part(&p->a, class_index);
    if (i < 0)
        return i;
    struct sk_recipe *more = realloc(p->recipes, p->a.part_cap * sizeof *more);
    if (!more)
        return SAIKAI_ENOMEM;
    p->recipes = more;
    p->recipes[i] = as_asked(p, *r);
    return i;
}

struct slab {
    const struct sk_bundle *b;
    struct sk_stencil_box box;
    uint64_t skip; /* elements before it */
};

/* A block of a family: one part per field, each with all the slabs. */
static int family_block(struct sk_ska_plan *p, const struct sk_family *f, const struct slab *slabs,
                        size_t n)
{
    if (sk_ska_add_block(&p->a) < 0)
        return SAIKAI_ENOMEM;
    for (size_t i = 0; i < f->fields; i++) {
        size_t field = (size_t)f->order[i];
        const struct sk_ska_class *c = &p->a.classes[f->classes[field]];
        if (new_part(p, f->classes[field], &f->recipes[i]) < 0)
            return SAIKAI_ENOMEM;
        for (size_t s = 0; s < n; s++) {
            uint64_t at =
                p->offsets[slabs[s].b->first + field] + slabs[s].skip * sk_type_size(c->type);
            struct sk_ska_segment seg = {slabs[s].b->file, at, slabs[s].box, 0};
            if (sk_ska_add_segment(&p->a, &seg) < 0)
                return SAIKAI_ENOMEM;
        }
        sk_ska_close_part(&p->a);
    }
    sk_ska_close_block(&p->a);
    return 0;
}

/* The next slab of a bundle from element `skip` on, of at most `most` elements: whole planes, else
 * whole rows, else part of a row. */
static struct slab next_slab(const struct sk_bundle *b, uint64_t skip, uint64_t most)
{
    struct slab s = {b, b->box, skip};
    uint64_t nx = b->box.nx, plane = b->box.ny * nx, left = plane * b->box.nz - skip;
    if (skip % plane == 0 && most >= plane) {
        s.box.nz = (left < most ? left : most) / plane;
        return s;
    }
    s.box.nz = 1;
    left = plane - skip % plane;
    if (skip % nx == 0 && most >= nx) {
        s.box.ny = (left < most ? left : most) / nx;
        return s;
    }
    s.box.ny = 1;
    left = nx - skip % nx;
    s.box.nx = left < most ? left : most;
    return s;
}

static int cut_family(struct sk_ska_plan *p, const struct sk_family *f)
{
    size_t width = sk_type_size(p->a.classes[f->classes[0]].type);
    uint64_t unit = p->unit_bytes / (width * f->fields), have = 0; /* elements per field */
    struct slab *slabs = NULL;
    size_t n = 0, cap = 0;
    int rc = 0;
    for (size_t m = 0; m < f->members && !rc; m++) {
        const struct sk_bundle *b = &p->bundles[f->first + m];
        uint64_t total = sk_box_count(b->box);
        for (uint64_t skip = 0; skip < total && !rc;) {
            struct slab s = next_slab(b, skip, unit ? unit : 1);
            if (n && have + sk_box_count(s.box) > unit + unit / 4) {
                rc = family_block(p, f, slabs, n);
                n = 0;
                have = 0;
            }
            void *more = grown(slabs, n, &cap, sizeof *slabs);
            if (!more) {
                rc = SAIKAI_ENOMEM;
                break;
            }
            slabs = more;
            slabs[n++] = s;
            have += sk_box_count(s.box);
            skip += sk_box_count(s.box);
        }
    }
    if (!rc && n)
        rc = family_block(p, f, slabs, n);
    free(slabs);
    return rc;
}

/* Streams of bytes (skeletons, whole files, merged variables) go through a cutter: it opens a block
 * when it must, and a part when the class changes. */
struct cutter {
    struct sk_ska_plan *p;
    uint64_t unit, room; /* bytes of a block, and those left in the open one */
    int block_open, part_open;
};

static void cutter_end_part(struct cutter *c)
{
    if (c->part_open)
        sk_ska_close_part(&c->p->a);
    c->part_open = 0;
}

static void cutter_end_block(struct cutter *c)
{
    cutter_end_part(c);
    if (c->block_open)
        sk_ska_close_block(&c->p->a);
    c->block_open = 0;
}

/* Bytes [offset, offset + bytes) of a file in a class whose elements have `width` bytes. */
static int cutter_add(struct cutter *c, uint32_t class_index, const struct sk_recipe *r,
                      uint32_t file, uint64_t offset, uint64_t bytes, size_t width)
{
    while (bytes) {
        /* a piece that fits into a block is not cut */
        if (!c->block_open || c->room < width || (bytes > c->room && bytes <= c->unit)) {
            cutter_end_block(c);
            if (sk_ska_add_block(&c->p->a) < 0)
                return SAIKAI_ENOMEM;
            c->room = c->unit / 8 * 8;
            c->block_open = 1;
        }
        if (!c->part_open) {
            if (new_part(c->p, class_index, r) < 0)
                return SAIKAI_ENOMEM;
            c->part_open = 1;
        }
        uint64_t n = bytes <= c->room ? bytes : c->room / width * width;
        struct sk_ska_segment s = {file, offset, {1, 1, n / width}, 0};
        if (sk_ska_add_segment(&c->p->a, &s) < 0)
            return SAIKAI_ENOMEM;
        offset += n;
        bytes -= n;
        c->room -= n;
        if (c->room < width)
            cutter_end_block(c);
    }
    return 0;
}

/* ---- skeletons ---- */

struct pieces {
    struct sk_small_piece *list;
    size_t n, cap;
};

static int add_piece(struct pieces *l, struct sk_small_piece piece)
{
    void *more = grown(l->list, l->n, &l->cap, sizeof *l->list);
    if (!more)
        return SAIKAI_ENOMEM;
    l->list = more;
    l->list[l->n++] = piece;
    return 0;
}

struct taken {
    uint64_t offset, end;
};

static int by_taken(const void *x, const void *y)
{
    return SK_ORDER(((const struct taken *)x)->offset, ((const struct taken *)y)->offset);
}

/* Repeats of the file, from number *at of the list on, appended to the spans. */
static size_t add_repeats(const struct sk_ska_plan *p, uint32_t file, size_t *at, struct taken *spans)
{
    size_t n = 0;
    for (; p->repeats && *at < p->repeats->count && p->repeats->list[*at].file == file; ++*at) {
        const struct sk_repeat *x = &p->repeats->list[*at];
        spans[n++] = (struct taken){x->offset, x->offset + x->bytes};
    }
    return n;
}

/* What no bundle of the file covers. spans: working memory. */
static int file_gaps(struct sk_ska_plan *p, uint32_t file, const struct taken *spans, size_t n,
                     struct pieces *out)
{
    char key[512];
    const struct sk_ska_file *f = &p->a.files[file];
    uint64_t at = 0;
    if (!f->size_bytes)
        return 0;
    sk_key_skeleton(p->scans[file].form, f->name, key, sizeof key);
    struct sk_ska_class c = {key, SAIKAI_U8, 0, 0};
    int class_index = sk_ska_add_class(&p->a, &c), rc = class_index < 0 ? class_index : 0;
    for (size_t i = 0; i <= n && !rc; i++) {
        uint64_t end = i < n ? spans[i].offset : f->size_bytes;
        if (end > at) {
            rc = add_piece(out, (struct sk_small_piece){(uint32_t)class_index, file, at, end - at});
            p->skeleton_bytes += end - at;
        }
        if (i < n)
            at = spans[i].end;
    }
    return rc;
}

static int by_file(const void *x, const void *y)
{
    const struct sk_bundle *a = *(struct sk_bundle *const *)x, *b = *(struct sk_bundle *const *)y;
    return SK_ORDER_BY(a->file, b->file, a->first, b->first);
}

static int skeletons(struct sk_ska_plan *p, struct pieces *out)
{
    struct sk_bundle **sorted = malloc((p->bundle_count + 1) * sizeof *sorted);
    struct taken *spans = malloc((p->offset_count + (p->repeats ? p->repeats->count : 0) + 1) * sizeof *spans);
    int rc = sorted && spans ? 0 : SAIKAI_ENOMEM;
    for (size_t i = 0; i < p->bundle_count && !rc; i++)
        sorted[i] = &p->bundles[i];
    if (!rc && p->bundle_count)
        qsort(sorted, p->bundle_count, sizeof *sorted, by_file);
    size_t at = 0, repeat = 0;
    for (uint32_t f = 0; f < p->a.file_count && !rc; f++) {
        size_t n = add_repeats(p, f, &repeat, spans);
        for (; at < p->bundle_count && sorted[at]->file == f; at++) {
            const struct sk_family *fam = &p->families[sorted[at]->family];
            for (size_t i = 0; i < fam->fields; i++) {
                uint64_t o = p->offsets[sorted[at]->first + i];
                size_t width = sk_type_size(p->a.classes[fam->classes[i]].type);
                spans[n++] = (struct taken){o, o + sk_box_count(sorted[at]->box) * width};
            }
        }
        if (n)
            qsort(spans, n, sizeof *spans, by_taken);
        rc = file_gaps(p, f, spans, n, out);
    }
    free(sorted);
    free(spans);
    return rc;
}

static int by_class(const void *x, const void *y)
{
    const struct sk_small_piece *a = x, *b = y;
    if (a->class_index != b->class_index)
        return SK_ORDER(a->class_index, b->class_index);
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

/* Pieces of one class: [first, first + n). */
static int cut_pieces(struct sk_ska_plan *p, struct cutter *c, const struct sk_small_piece *list, size_t n,
                      struct saikai_error *err)
{
    struct sk_recipe r = {.form = SK_FORM_BYTES, .backend = p->opt.backend, .level = p->opt.level};
    int rc = 0;
    if (p->opt.scheme == SK_SCHEME_AUTO) {
        struct sk_ska_segment *s = malloc(n * sizeof *s);
        if (!s)
            return SAIKAI_ENOMEM;
        for (size_t i = 0; i < n; i++)
            s[i] = (struct sk_ska_segment){list[i].file, list[i].offset, {1, 1, list[i].bytes}, 0};
        rc = sk_sample_bytes(p, list[0].class_index, s, n, &r, err);
        free(s);
    }
    for (size_t i = 0; i < n && !rc; i++)
        rc = cutter_add(c, list[i].class_index, &r, list[i].file, list[i].offset, list[i].bytes, 1);
    cutter_end_part(c);
    return rc;
}

static int cut_skeletons(struct sk_ska_plan *p, struct saikai_error *err)
{
    struct pieces l = {0};
    struct cutter c = {.p = p, .unit = p->bytes_unit};
    size_t first = p->a.class_count;
    uint32_t home = 0; /* the block before that the open one may build on */
    int rc = skeletons(p, &l);
    if (!rc && p->opt.scheme == SK_SCHEME_AUTO)
        rc = sk_small_merge(p, first, l.list, l.n);
    if (!rc && l.n)
        qsort(l.list, l.n, sizeof *l.list, by_class);
    for (size_t i = 0, k; i < l.n && !rc; i = k) {
        uint64_t bytes = l.list[i].bytes;
        for (k = i + 1; k < l.n && l.list[k].class_index == l.list[i].class_index; k++)
            bytes += l.list[k].bytes;
        uint32_t there = p->previous && bytes > LOOKED_UP ? sk_previous_home(p->previous->a, p->a.classes[l.list[i].class_index].key) : 0;
        /* large classes are compressed at the same time as others, and a block builds on one before alone */
        if (bytes > OWN_BLOCK || (there && home && there != home))
            cutter_end_block(&c);
        home = there ? there : home;
        rc = cut_pieces(p, &c, &l.list[i], k - i, err);
    }
    cutter_end_block(&c);
    free(l.list);
    return rc;
}

static int cut_auto(struct sk_ska_plan *p, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < p->family_count && !rc; i++) {
        rc = sk_sample_family(p, &p->families[i], err);
        if (!rc)
            rc = cut_family(p, &p->families[i]);
    }
    rc = rc ? rc : cut_skeletons(p, err);
    return rc || !p->repeats ? rc : sk_takes_cut(p, p->repeats, err);
}

/* ---- the paper's schemes ---- */

/* Streams in turn, `turn` bytes of each, until all are empty. */
static int cut_in_turn(struct cutter *c, const struct sk_recipe *r, struct sk_small_piece *list, size_t n,
                       uint64_t turn, size_t width)
{
    turn = turn < width ? width : turn / width * width;
    for (int more = 1; more;) {
        more = 0;
        for (size_t i = 0; i < n; i++) {
            uint64_t k = list[i].bytes < turn ? list[i].bytes : turn;
            int rc =
                k ? cutter_add(c, list[i].class_index, r, list[i].file, list[i].offset, k, width)
                  : 0;
            if (rc)
                return rc;
            list[i].offset += k;
            list[i].bytes -= k;
            more |= list[i].bytes > 0;
        }
    }
    cutter_end_part(c);
    return 0;
}

static int cut_agnostic(struct sk_ska_plan *p)
{
    struct sk_recipe r = {.form = SK_FORM_BYTES, .backend = p->opt.backend, .level = p->opt.level};
    struct sk_ska_class all = {SK_SKA_STREAM, SAIKAI_U8, 0, 0};
    struct cutter c = {.p = p, .unit = p->unit_bytes};
    struct pieces l = {0};
    int class_index = sk_ska_add_class(&p->a, &all), rc = class_index < 0 ? class_index : 0;
    for (uint32_t f = 0; f < p->a.file_count && !rc; f++)
        rc = add_piece(&l, (struct sk_small_piece){(uint32_t)class_index, f, 0, p->a.files[f].size_bytes});
    uint64_t turn = p->opt.scheme == SK_SCHEME_AGNOSTIC ? UINT64_MAX / 16 : p->opt.merge_bytes;
    if (!rc)
        rc = cut_in_turn(&c, &r, l.list, l.n, turn, 1);
    cutter_end_block(&c);
    free(l.list);
    return rc;
}

static struct sk_recipe paper_recipe(const struct sk_ska_plan *p, const struct sk_ska_class *c)
{
    struct sk_recipe r = {.form = SK_FORM_BYTES, .backend = p->opt.backend, .level = p->opt.level};
    const char *codec = c->type == SAIKAI_F64   ? p->opt.codec_f64
                        : c->type == SAIKAI_F32 ? p->opt.codec_f32
                                                : p->opt.codec_other;
    if (codec && *codec && strlen(codec) < sizeof r.codec) {
        r.form = SK_FORM_CODEC;
        memcpy(r.codec, codec, strlen(codec) + 1);
        if (p->opt.single_pass)
            r.backend = SK_BACKEND_STORE;
    }
    return r;
}

static int cut_aware(struct sk_ska_plan *p, struct saikai_error *err)
{
    struct pieces l = {0};
    struct cutter c = {.p = p, .unit = p->unit_bytes};
    int rc = 0;
    for (size_t i = 0; i < p->bundle_count && !rc; i++) {
        const struct sk_bundle *b = &p->bundles[i];
        const struct sk_family *f = &p->families[b->family];
        for (size_t k = 0; k < f->fields && !rc; k++) {
            size_t width = sk_type_size(p->a.classes[f->classes[k]].type);
            rc = add_piece(&l, (struct sk_small_piece){f->classes[k], b->file, p->offsets[b->first + k],
                                              sk_box_count(b->box) * width});
        }
    }
    if (!rc && l.n)
        qsort(l.list, l.n, sizeof *l.list, by_class);
    for (size_t i = 0, k; i < l.n && !rc; i = k) {
        const struct sk_ska_class *class = &p->a.classes[l.list[i].class_index];
        struct sk_recipe r = paper_recipe(p, class);
        for (k = i + 1; k < l.n && l.list[k].class_index == l.list[i].class_index;)
            k++;
        rc = cut_in_turn(&c, &r, &l.list[i], k - i,
                         p->opt.scheme == SK_SCHEME_AWARE ? UINT64_MAX / 16 : p->opt.merge_bytes,
                         sk_type_size(class->type));
    }
    cutter_end_block(&c);
    free(l.list);
    return rc ? rc : cut_skeletons(p, err);
}

int sk_ska_plan_cut(struct sk_ska_plan *p, struct saikai_error *err)
{
    int rc;
    if (p->opt.scheme == SK_SCHEME_AGNOSTIC || p->opt.scheme == SK_SCHEME_AGNOSTIC_BLOCK) {
        rc = cut_agnostic(p);
    } else {
        struct sk_repeats repeats = {0};
        rc = p->opt.scheme == SK_SCHEME_AUTO && (!p->opt.quick || p->chunked) ? sk_repeats_find(p, &repeats, err) : 0;
        p->repeats = &repeats;
        if (!rc)
            rc = sk_ska_plan_families(p, err);
        if (!rc)
            rc = p->opt.scheme == SK_SCHEME_AUTO ? cut_auto(p, err) : cut_aware(p, err);
        p->repeats = NULL;
        sk_repeats_free(&repeats);
    }
    return rc ? sk_fail(err, rc, "%s",
                        err && err->code == rc ? err->text : "no memory for the plan")
              : 0;
}
