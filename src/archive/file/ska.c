/* The index of an archive: building it up, and its bytes. What is read is checked before anything
 * relies on it: names, numbers, and that segments tile the files. */
#include "archive/file/ska.h"

#include "archive/file/names.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

void sk_ska_free(struct sk_ska *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->file_count; i++)
        free(a->files[i].name);
    for (size_t i = 0; i < a->class_count; i++)
        free(a->classes[i].key);
    for (size_t i = 0; i < a->entry_count; i++) {
        free(a->entries[i].name);
        free(a->entries[i].target);
    }
    free(a->previous);
    free(a->entries);
    free(a->files);
    free(a->classes);
    free(a->class_table);
    free(a->segments);
    free(a->parts);
    free(a->blocks);
    *a = (struct sk_ska){0};
}

void sk_ska_clear_blocks(struct sk_ska *a)
{
    for (size_t i = 0; i < a->class_count; i++)
        free(a->classes[i].key);
    free(a->class_table);
    a->class_table = NULL;
    a->class_slots = 0;
    a->class_count = a->segment_count = a->part_count = a->block_count = 0;
    free(a->previous);
    a->previous = NULL;
    a->depth = 0;
}

/* Room for one more; NULL: no memory. */
static void *more(void *items, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return items;
    size_t n = *cap ? 2 * *cap : 16;
    if (n > INT32_MAX)
        return NULL;
    void *grown = realloc(items, n * size);
    if (grown)
        *cap = n;
    return grown;
}
#define MORE(list, n, cap)                                                                         \
    void *grown = more(a->list, a->n, &a->cap, sizeof *a->list);                                   \
    if (!grown)                                                                                    \
        return SAIKAI_ENOMEM;                                                                      \
    a->list = grown

int sk_ska_add_file(struct sk_ska *a, const struct sk_ska_file *f)
{
    MORE(files, file_count, file_cap);
    char *name = strdup(f->name);
    if (!name)
        return SAIKAI_ENOMEM;
    a->files[a->file_count] = *f;
    a->files[a->file_count].name = name;
    return (int)a->file_count++;
}

int sk_ska_add_entry(struct sk_ska *a, const struct sk_ska_entry *e)
{
    MORE(entries, entry_count, entry_cap);
    char *name = strdup(e->name), *target = strdup(e->target ? e->target : "");
    if (!name || !target) {
        free(name);
        free(target);
        return SAIKAI_ENOMEM;
    }
    a->entries[a->entry_count] = *e;
    a->entries[a->entry_count].name = name;
    a->entries[a->entry_count].target = target;
    return (int)a->entry_count++;
}

/* Where a class is in the table, or is to be. */
static uint32_t *class_place(const struct sk_ska *a, const struct sk_ska_class *c)
{
    size_t mask = a->class_slots - 1, k = (size_t)sk_hash64(c->key, strlen(c->key)) & mask;
    for (; a->class_table[k]; k = (k + 1) & mask) {
        const struct sk_ska_class *o = &a->classes[a->class_table[k] - 1];
        if (o->type == c->type && o->big_endian == c->big_endian && o->fields == c->fields &&
            !strcmp(o->key, c->key))
            break;
    }
    return &a->class_table[k];
}

/* A table of so many slots of all classes. */
static int set_class_table(struct sk_ska *a, size_t slots)
{
    uint32_t *table = calloc(slots, sizeof *table);
    if (!table)
        return SAIKAI_ENOMEM;
    free(a->class_table);
    a->class_table = table;
    a->class_slots = slots;
    for (size_t i = 0; i < a->class_count; i++)
        *class_place(a, &a->classes[i]) = (uint32_t)i + 1;
    return 0;
}

int sk_ska_drop_classes(struct sk_ska *a, size_t first)
{
    for (size_t i = first; i < a->class_count; i++)
        free(a->classes[i].key);
    a->class_count = first;
    return set_class_table(a, a->class_slots ? a->class_slots : 64);
}

int64_t sk_ska_find_class(const struct sk_ska *a, const struct sk_ska_class *c)
{
    return a->class_slots ? (int64_t)*class_place(a, c) - 1 : -1;
}

int sk_ska_add_class(struct sk_ska *a, const struct sk_ska_class *c)
{
    if (a->class_count >= a->class_slots / 2 && set_class_table(a, a->class_slots ? 2 * a->class_slots : 64))
        return SAIKAI_ENOMEM;
    uint32_t *place = class_place(a, c);
    if (*place)
        return (int)*place - 1;
    MORE(classes, class_count, class_cap);
    char *key = strdup(c->key);
    if (!key)
        return SAIKAI_ENOMEM;
    a->classes[a->class_count] = *c;
    a->classes[a->class_count].key = key;
    *place = (uint32_t)++a->class_count;
    return (int)a->class_count - 1;
}

int sk_ska_add_segment(struct sk_ska *a, const struct sk_ska_segment *s)
{
    MORE(segments, segment_count, segment_cap);
    a->segments[a->segment_count] = *s;
    return (int)a->segment_count++;
}

int sk_ska_add_part(struct sk_ska *a, uint32_t class_index)
{
    MORE(parts, part_count, part_cap);
    a->parts[a->part_count] =
        (struct sk_ska_part){.class = class_index, .first = (uint32_t)a->segment_count};
    return (int)a->part_count++;
}

int sk_ska_add_block(struct sk_ska *a)
{
    MORE(blocks, block_count, block_cap);
    a->blocks[a->block_count] = (struct sk_ska_block){.first = (uint32_t)a->part_count};
    return (int)a->block_count++;
}

uint64_t sk_ska_segment_bytes(const struct sk_ska *a, const struct sk_ska_part *p,
                              const struct sk_ska_segment *s)
{
    return (uint64_t)sk_box_count(s->box) * sk_type_size(a->classes[p->class].type);
}

void sk_ska_close_part(struct sk_ska *a)
{
    struct sk_ska_part *p = &a->parts[a->part_count - 1];
    p->count = (uint32_t)a->segment_count - p->first;
    p->size_bytes = 0;
    for (uint32_t i = 0; i < p->count; i++)
        p->size_bytes += sk_ska_segment_bytes(a, p, &a->segments[p->first + i]);
}

void sk_ska_close_block(struct sk_ska *a)
{
    struct sk_ska_block *b = &a->blocks[a->block_count - 1];
    b->count = (uint32_t)a->part_count - b->first;
    b->size_bytes = 0;
    for (uint32_t i = 0; i < b->count; i++)
        b->size_bytes += a->parts[b->first + i].size_bytes;
}

/* ---- writing ---- */

static void put_int(struct sk_buf *out, uint64_t v)
{
    for (; v > 127; v >>= 7)
        sk_buf_put_u8(out, (uint8_t)(v | 128));
    sk_buf_put_u8(out, (uint8_t)v);
}

static void put_parts(struct sk_buf *out, const struct sk_ska *a, const struct sk_ska_block *b)
{
    uint64_t file = 0;
    put_int(out, b->count);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct sk_ska_part *p = &a->parts[b->first + i];
        put_int(out, p->class);
        put_int(out, p->count);
        for (uint32_t k = 0; k < p->count; k++) {
            const struct sk_ska_segment *s = &a->segments[p->first + k];
            /* most segments are in the file of the one before, or the next */
            put_int(out, (s->file - file) << 1 ^ (s->file < file ? ~(uint64_t)0 : 0));
            file = s->file;
            put_int(out, s->offset);
            put_int(out, s->box.nz);
            put_int(out, s->box.ny);
            put_int(out, s->box.nx);
            sk_buf_put_u64(out, s->hash);
        }
    }
}

static void put_previous(struct sk_buf *out, const struct sk_ska *a)
{
    sk_buf_put_str(out, a->previous);
    sk_buf_put_u64(out, a->previous_hash);
    put_int(out, a->depth);
    for (size_t i = 0; i < a->block_count; i++)
        put_int(out, a->blocks[i].previous);
}

static void put_own(struct sk_buf *out, const struct sk_ska *a)
{
    int any = 0;
    for (size_t i = 0; i < a->block_count; i++)
        any |= a->blocks[i].own != 0;
    sk_buf_put_u8(out, (uint8_t)any);
    for (size_t i = 0; i < a->block_count && any; i++)
        put_int(out, a->blocks[i].own);
}

void sk_ska_put_raw_index(struct sk_buf *out, const struct sk_ska *a)
{
    put_int(out, a->file_count);
    for (size_t i = 0; i < a->file_count; i++) {
        sk_buf_put_str(out, a->files[i].name);
        put_int(out, a->files[i].size_bytes);
        sk_buf_put_u32(out, a->files[i].mode);
        sk_buf_put_u64(out, (uint64_t)a->files[i].mtime_ns);
        put_int(out, a->files[i].origin);
    }
    put_int(out, a->class_count);
    for (size_t i = 0; i < a->class_count; i++) {
        sk_buf_put_str(out, a->classes[i].key);
        sk_buf_put_u8(out, (uint8_t)a->classes[i].type);
        sk_buf_put_u8(out, (uint8_t)(a->classes[i].big_endian | a->classes[i].fields << 1));
    }
    put_int(out, a->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const struct sk_ska_block *b = &a->blocks[i];
        put_int(out, b->offset);
        put_int(out, b->stored_bytes);
        sk_buf_put_u64(out, b->hash);
        put_parts(out, a, b);
    }
    sk_buf_put_u8(out, a->previous != NULL);
    if (a->previous)
        put_previous(out, a);
    put_int(out, a->entry_count);
    for (size_t i = 0; i < a->entry_count; i++) {
        sk_buf_put_u8(out, (uint8_t)a->entries[i].kind);
        sk_buf_put_str(out, a->entries[i].name);
        sk_buf_put_str(out, a->entries[i].target);
        sk_buf_put_u32(out, a->entries[i].mode);
        sk_buf_put_u64(out, (uint64_t)a->entries[i].mtime_ns);
    }
    sk_buf_put(out, a->store.b, sizeof a->store.b);
    put_own(out, a);
}

/* ---- reading ---- */

static uint64_t get_int(struct sk_rd *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t b = sk_rd_u8(r);
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return v;
    }
    r->bad = 1;
    return 0;
}

int sk_ska_safe_name(const char *name)
{
    if (!*name || strlen(name) >= SK_SKA_MAX_NAME)
        return 0;
    for (const char *p = name; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return 0;
        p += n;
        if (*p && !*++p)
            return 0;
    }
    return 1;
}

static int parse_files(struct sk_rd *r, struct sk_ska *a)
{
    char name[SK_SKA_MAX_NAME];
    uint64_t n = get_int(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        struct sk_ska_file f = {.name = name};
        sk_rd_str(r, name, sizeof name);
        f.size_bytes = get_int(r);
        f.mode = sk_rd_u32(r) & 07777;
        f.mtime_ns = (int64_t)sk_rd_u64(r);
        uint64_t origin = get_int(r);
        f.origin = (uint32_t)origin;
        if (r->bad || origin > INT32_MAX || !sk_ska_safe_name(name) || f.size_bytes > INT64_MAX)
            return SAIKAI_EDAMAGED;
        if (sk_ska_add_file(a, &f) < 0)
            return SAIKAI_ENOMEM;
    }
    return r->bad ? SAIKAI_EDAMAGED : 0;
}

static int parse_classes(struct sk_rd *r, struct sk_ska *a)
{
    char key[1024];
    uint64_t n = get_int(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        sk_rd_str(r, key, sizeof key);
        struct sk_ska_class c = {.key = key, .type = sk_rd_u8(r)};
        unsigned flags = sk_rd_u8(r);
        c.big_endian = flags & 1;
        c.fields = flags >> 1 & 1;
        if (r->bad || !sk_type_size(c.type))
            return SAIKAI_EDAMAGED;
        int at = sk_ska_add_class(a, &c);
        if (at != (int)i)
            return at < 0 ? SAIKAI_ENOMEM : SAIKAI_EDAMAGED;
    }
    return r->bad ? SAIKAI_EDAMAGED : 0;
}

static int parse_segment(struct sk_rd *r, struct sk_ska *a, const struct sk_ska_part *p,
                         uint64_t *file, uint64_t *block_bytes)
{
    struct sk_ska_segment s = {0};
    uint64_t d = get_int(r), n, bytes;
    *file += d >> 1 ^ (d & 1 ? ~(uint64_t)0 : 0);
    s.offset = get_int(r);
    s.box.nz = get_int(r);
    s.box.ny = get_int(r);
    s.box.nx = get_int(r);
    s.hash = sk_rd_u64(r);
    if (r->bad || *file >= a->file_count || __builtin_mul_overflow(s.box.nz, s.box.ny, &n) ||
        __builtin_mul_overflow(n, s.box.nx, &n) ||
        __builtin_mul_overflow(n, sk_type_size(a->classes[p->class].type), &bytes))
        return SAIKAI_EDAMAGED;
    s.file = (uint32_t)*file;
    uint64_t size = a->files[*file].size_bytes;
    if (!bytes || s.offset > size || bytes > size - s.offset ||
        bytes > SK_SKA_MAX_BLOCK - *block_bytes)
        return SAIKAI_EDAMAGED;
    *block_bytes += bytes;
    return sk_ska_add_segment(a, &s) < 0 ? SAIKAI_ENOMEM : 0;
}

static int parse_block(struct sk_rd *r, struct sk_ska *a, uint64_t data_end)
{
    int at = sk_ska_add_block(a), rc = 0;
    if (at < 0)
        return SAIKAI_ENOMEM;
    struct sk_ska_block *b = &a->blocks[at];
    uint64_t file = 0, bytes = 0;
    b->offset = get_int(r);
    b->stored_bytes = get_int(r);
    b->hash = sk_rd_u64(r);
    uint64_t parts = get_int(r);
    if (r->bad || b->offset < SK_SKA_HEADER_BYTES || b->offset > data_end ||
        b->stored_bytes > data_end - b->offset || b->stored_bytes > SK_SKA_MAX_STORED)
        return SAIKAI_EDAMAGED;
    for (uint64_t i = 0; i < parts && !rc; i++) {
        uint64_t class_index = get_int(r), segments = get_int(r);
        if (r->bad || class_index >= a->class_count || !segments)
            return SAIKAI_EDAMAGED;
        int part = sk_ska_add_part(a, (uint32_t)class_index);
        if (part < 0)
            return SAIKAI_ENOMEM;
        for (uint64_t k = 0; k < segments && !rc; k++)
            rc = parse_segment(r, a, &a->parts[part], &file, &bytes);
        sk_ska_close_part(a);
    }
    sk_ska_close_block(a);
    return rc;
}

/* What follows the blocks of an archive that builds on another one. */
static int parse_previous(struct sk_rd *r, struct sk_ska *a)
{
    char name[256];
    sk_rd_str(r, name, sizeof name);
    a->previous_hash = sk_rd_u64(r);
    uint64_t depth = get_int(r);
    if (r->bad || !sk_ska_safe_name(name) || strchr(name, '/') || !depth ||
        depth > SK_SKA_MAX_DEPTH)
        return SAIKAI_EDAMAGED;
    a->depth = (uint32_t)depth;
    for (size_t i = 0; i < a->block_count; i++) {
        uint64_t k = get_int(r);
        if (r->bad || k > UINT32_MAX)
            return SAIKAI_EDAMAGED;
        a->blocks[i].previous = (uint32_t)k;
    }
    a->previous = strdup(name);
    return a->previous ? 0 : SAIKAI_ENOMEM;
}

/* The files are only sorted where there is a hard link. */
static int holds(struct sk_names *names, const struct sk_ska *a, const char *name)
{
    if (!names->list && sk_names_init(names, a))
        return SAIKAI_ENOMEM;
    return sk_names_find(names, name) >= 0 ? 0 : SAIKAI_EDAMAGED;
}

static int parse_all_entries(struct sk_rd *r, struct sk_ska *a, struct sk_names *names)
{
    char name[SK_SKA_MAX_NAME], target[SK_SKA_MAX_NAME];
    uint64_t n = get_int(r);
    for (uint64_t i = 0; i < n && !r->bad; i++) {
        struct sk_ska_entry e = {.name = name, .target = target, .kind = sk_rd_u8(r)};
        sk_rd_str(r, name, sizeof name);
        sk_rd_str(r, target, sizeof target);
        e.mode = sk_rd_u32(r) & 07777;
        e.mtime_ns = (int64_t)sk_rd_u64(r);
        if (r->bad || e.kind < SK_ENTRY_DIRECTORY || e.kind > SK_ENTRY_HARD_LINK ||
            !sk_ska_safe_name(name) || (e.kind == SK_ENTRY_SYMLINK && !*target))
            return SAIKAI_EDAMAGED;
        int rc = e.kind == SK_ENTRY_HARD_LINK ? holds(names, a, target) : 0;
        if (rc)
            return rc;
        if (sk_ska_add_entry(a, &e) < 0)
            return SAIKAI_ENOMEM;
    }
    return r->bad ? SAIKAI_EDAMAGED : 0;
}

static int parse_entries(struct sk_rd *r, struct sk_ska *a)
{
    struct sk_names names = {0};
    int rc = parse_all_entries(r, a, &names);
    sk_names_free(&names);
    return rc;
}

/* Blocks that take from others of this archive: from such that take from none. */
static int parse_own(struct sk_rd *r, struct sk_ska *a)
{
    int any = sk_rd_u8(r);
    if (any > 1)
        return SAIKAI_EDAMAGED;
    for (size_t i = 0; i < a->block_count && any; i++) {
        uint64_t k = get_int(r);
        if (r->bad || k > a->block_count || (k && a->blocks[i].previous))
            return SAIKAI_EDAMAGED;
        a->blocks[i].own = (uint32_t)k;
    }
    for (size_t i = 0; i < a->block_count && any; i++)
        if (a->blocks[i].own && a->blocks[a->blocks[i].own - 1].own)
            return SAIKAI_EDAMAGED;
    return 0;
}

/* What follows the blocks. */
static int parse_rest(struct sk_rd *r, int version, struct sk_ska *a)
{
    if (version == 1)
        return sk_rd_left(r) ? parse_previous(r, a) : 0;
    int builds = sk_rd_u8(r), rc = builds ? parse_previous(r, a) : 0;
    rc = rc ? rc : builds > 1 ? SAIKAI_EDAMAGED : parse_entries(r, a);
    const void *id = rc || version == 2 ? NULL : sk_rd_bytes(r, sizeof a->store.b);
    if (id)
        memcpy(a->store.b, id, sizeof a->store.b);
    return rc || version < 4 ? rc : parse_own(r, a);
}

struct span {
    uint64_t offset, end;
    uint32_t file;
};

static int by_place(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

/* The segments of each file must tile it. */
static int check_tiling(const struct sk_ska *a)
{
    struct span *spans = calloc(a->segment_count, sizeof *spans);
    size_t n = 0;
    int rc = 0;
    if (!spans)
        return SAIKAI_ENOMEM;
    for (size_t p = 0; p < a->part_count; p++)
        for (uint32_t k = 0; k < a->parts[p].count; k++) {
            const struct sk_ska_segment *s = &a->segments[a->parts[p].first + k];
            spans[n++] = (struct span){
                s->offset, s->offset + sk_ska_segment_bytes(a, &a->parts[p], s), s->file};
        }
    qsort(spans, n, sizeof *spans, by_place);
    size_t at = 0;
    for (uint32_t f = 0; f < a->file_count && !rc; f++) {
        uint64_t end = 0;
        for (; at < n && spans[at].file == f && !rc; end = spans[at++].end)
            if (spans[at].offset != end)
                rc = SAIKAI_EDAMAGED;
        if (end != a->files[f].size_bytes)
            rc = SAIKAI_EDAMAGED;
    }
    free(spans);
    return rc;
}

int sk_ska_parse(const void *index, size_t n, int version, uint64_t data_end, struct sk_ska *a,
                 struct saikai_error *err)
{
    struct sk_ska out = {0};
    struct sk_rd r = sk_rd_init(index, n);
    int rc = parse_files(&r, &out);
    if (!rc)
        rc = parse_classes(&r, &out);
    uint64_t blocks = rc ? 0 : get_int(&r);
    for (uint64_t i = 0; i < blocks && !rc; i++)
        rc = parse_block(&r, &out, data_end);
    if (!rc && !r.bad)
        rc = parse_rest(&r, version, &out);
    if (!rc && (r.bad || sk_rd_left(&r)))
        rc = SAIKAI_EDAMAGED;
    if (!rc)
        rc = check_tiling(&out);
    if (rc) {
        sk_ska_free(&out);
        return sk_fail(err, rc,
                       rc == SAIKAI_ENOMEM ? "no memory for the archive's index"
                                           : "its index is damaged");
    }
    *a = out;
    return 0;
}
