/* Finds repeats. Files are cut into chunks where their content says so (chunks.c), at any distance and place: a
 * chunk whose hash is known is compared with the one before it. Of the previous archive, segments are
 * compared with the same place of the file of the same name, else of a file of the same size. */
#include "archive/plan/repeats.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 4096, WINDOW = 4 << 20, LOOKED_AT = 64 << 10, NEARLY_NOTHING = 4 };

void sk_repeats_free(struct sk_repeats *r)
{
    free(r->list);
    *r = (struct sk_repeats){0};
}

/* Append; one that goes on where the last one ended, also at its source, makes that longer. -1: no memory. */
static int add(struct sk_repeats *r, const struct sk_repeat *x)
{
    struct sk_repeat *last = r->count ? &r->list[r->count - 1] : NULL;
    if (last && !x->block && !last->block && last->file == x->file && last->offset + last->bytes == x->offset &&
        last->from_file == x->from_file && last->from + last->bytes == x->from) {
        last->bytes += x->bytes;
        return 0;
    }
    if (last && !last->block && last->bytes < SHORTEST)
        r->count--;
    if (r->count == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 256;
        struct sk_repeat *more = realloc(r->list, cap * sizeof *more);
        if (!more)
            return -1;
        r->list = more;
        r->cap = cap;
    }
    r->list[r->count++] = *x;
    return 0;
}

/* ---- within the set ---- */

/* Where a chunk is. */
struct seen {
    uint32_t file, chunk; /* chunk + 1, 0: a free slot */
    uint64_t offset;
};

/* Chunks that were seen: as many as the room is for. */
struct table {
    struct sk_ska_plan *p;
    struct seen *slots;
    size_t mask, used;
    struct seen next; /* of the source of the last repeat: what follows it */
};

static int table_new(struct table *t, struct sk_ska_plan *p)
{
    uint64_t chunks = 0;
    size_t n = 1024;
    for (size_t f = 0; f < p->a.file_count; f++)
        chunks += p->chunks[f].count;
    while (n < chunks / 3 * 4 && n * 2 * sizeof *t->slots <= p->opt.memory_bytes / 16)
        n *= 2;
    *t = (struct table){.p = p, .mask = n - 1};
    t->slots = calloc(n, sizeof *t->slots);
    return t->slots ? 0 : -1;
}

static const struct sk_file_chunk *chunk_of(const struct table *t, const struct seen *s)
{
    return &t->p->chunks[s->file].list[s->chunk - 1];
}

static int same_chunk(const struct sk_file_chunk *a, const struct sk_file_chunk *b)
{
    return a->hash == b->hash && a->bytes == b->bytes;
}

/* The chunk like this one that was seen first; else this one is seen from now on, and NULL. */
static const struct seen *look_up(struct table *t, const struct seen *at)
{
    const struct sk_file_chunk *x = chunk_of(t, at);
    size_t k = x->hash & t->mask;
    for (; t->slots[k].chunk; k = (k + 1) & t->mask)
        if (same_chunk(chunk_of(t, &t->slots[k]), x))
            return &t->slots[k];
    if (t->used < t->mask / 4 * 3) {
        t->slots[k] = *at;
        t->used++;
    }
    return NULL;
}

/* Whether the last repeat goes on with a chunk that is not worth being known by itself. */
static const struct seen *goes_on(struct table *t, const struct sk_repeats *r, const struct seen *at)
{
    const struct sk_repeat *last = r->count ? &r->list[r->count - 1] : NULL;
    const struct seen *s = &t->next;
    /* what follows the source is stored, unless the archive before has it */
    if (t->p->previous || !last || last->file != at->file || last->offset + last->bytes != at->offset)
        return NULL;
    if (s->chunk > t->p->chunks[s->file].count || !same_chunk(chunk_of(t, s), chunk_of(t, at)))
        return NULL;
    return s->file != at->file || s->offset + chunk_of(t, s)->bytes <= at->offset ? s : NULL;
}

/* Chunks of a file that lie in [from, end), from number at->chunk on. */
static int look_through(struct table *t, struct seen *at, uint64_t from, uint64_t end, struct sk_repeats *out,
                        struct saikai_error *err)
{
    const struct sk_chunks *c = &t->p->chunks[at->file];
    for (; at->chunk <= c->count && at->offset + chunk_of(t, at)->bytes <= end; at->offset += chunk_of(t, at)->bytes, at->chunk++) {
        const struct sk_file_chunk *x = chunk_of(t, at);
        const struct seen *s = at->offset < from ? NULL : x->plain ? goes_on(t, out, at) : look_up(t, at);
        if (!s)
            continue;
        struct sk_repeat found = {.file = at->file, .from_file = s->file, .offset = at->offset, .bytes = x->bytes, .from = s->offset};
        if (add(out, &found))
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for repeats");
        t->next = (struct seen){s->file, s->chunk + 1, s->offset + x->bytes};
    }
    return 0;
}

/* Lists of the chunks of all files, where those who have them did not make them. */
static int cut_chunks(struct sk_ska_plan *p, const struct sk_repeats *before, struct saikai_error *err)
{
    uint64_t all = 0;
    uint8_t *window = NULL;
    size_t k = 0;
    int rc = 0;
    for (size_t f = 0; f < p->a.file_count; f++)
        all += p->a.files[f].size_bytes;
    int coarse = sk_chunks_coarse(all, p->opt.memory_bytes);
    sk_marks_begin(&p->marks, all);
    for (uint32_t f = 0; f < p->a.file_count && !rc && !p->chunked && coarse >= 0; f++) {
        uint64_t known = 0;
        for (; k < before->count && before->list[k].file == f; k++)
            known += before->list[k].bytes;
        if (known < p->a.files[f].size_bytes)
            rc = sk_chunks_cut(p->feed, f, p->a.files[f].size_bytes, coarse, &p->chunks[f], &p->marks, &window, err);
    }
    free(window);
    sk_marks_end(&p->marks);
    return rc;
}

/* ---- hashes alone are not believed ---- */

/* What a comparison needs: two windows, and a compressor. */
struct check {
    struct sk_packer packer;
    uint8_t *room, *packed;
};

static int check_new(struct check *c)
{
    *c = (struct check){.room = malloc(2 * (size_t)WINDOW), .packed = malloc(sk_pack_bound(LOOKED_AT))};
    return c->room && c->packed ? 0 : -1;
}

static void check_free(struct check *c)
{
    sk_packer_free(&c->packer);
    free(c->room);
    free(c->packed);
}

/* Records of which an end is missing are none: a repeat in a file of records tears what is around it apart, which
 * only pays for bytes that do not shrink to nearly nothing among their like. data: the first n of its bytes. */
static int is_worth_it(struct sk_ska_plan *p, struct check *c, const struct sk_repeat *x, const uint8_t *data, size_t n)
{
    const char *form = p->scans[x->file].form;
    int backend = SK_BACKEND_ZSTD;
    size_t looked = n < LOOKED_AT ? n : LOOKED_AT, stored = 0;
    if (!form || strcmp(form, sk_reader_fortran.name) || x->bytes == p->a.files[x->file].size_bytes)
        return 1;
    int rc = sk_pack(&c->packer, &backend, 1, data, looked, c->packed, &stored, NULL);
    return rc || stored > looked / NEARLY_NOTHING;
}

/* Whether a repeat is to be kept: its bytes are those of its source, and worth it. */
static int check(struct sk_ska_plan *p, struct check *c, const struct sk_repeat *x, int *keep, struct saikai_error *err)
{
    int rc = 0;
    *keep = 1;
    for (uint64_t done = 0; done < x->bytes && *keep && !rc;) {
        size_t n = x->bytes - done < WINDOW ? (size_t)(x->bytes - done) : WINDOW;
        struct sk_ska_range r[] = {{x->file, x->offset + done, n, c->room}, {x->from_file, x->from + done, n, c->room + WINDOW}};
        rc = sk_feed_fetch(p->feed, r, 2, err);
        *keep = !rc && !memcmp(c->room, c->room + WINDOW, n) && (done || is_worth_it(p, c, x, c->room, n));
        done += n;
    }
    return rc;
}

/* Keep what is the same and worth it; the list may be in any order. */
static int check_all(struct sk_ska_plan *p, struct sk_repeats *r, struct saikai_error *err)
{
    struct check c;
    int rc = check_new(&c) ? sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats") : 0, keep = 1;
    size_t n = 0;
    for (size_t i = 0; i < r->count && !rc; i++) {
        if (!r->list[i].block)
            rc = check(p, &c, &r->list[i], &keep, err);
        if (r->list[i].block || keep)
            r->list[n++] = r->list[i];
    }
    if (!rc)
        r->count = n;
    check_free(&c);
    return rc;
}

/* ---- in the previous archive ---- */

/* A segment of the previous archive. */
struct stored {
    uint32_t file, block, part;
    uint64_t offset, bytes, at, hash;
};

static int by_file(const void *x, const void *y)
{
    const struct stored *a = x, *b = y;
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

static struct stored *list_stored(const struct sk_ska_plan *p)
{
    const struct sk_ska *a = p->previous->a;
    struct stored *s = malloc((a->segment_count + 1) * sizeof *s);
    size_t n = 0;
    for (size_t b = 0; s && b < a->block_count; b++)
        for (uint32_t k = 0; k < a->blocks[b].count; k++) {
            const struct sk_ska_part *part = &a->parts[a->blocks[b].first + k];
            uint64_t at = 0;
            for (uint32_t i = 0; i < part->count; i++) {
                const struct sk_ska_segment *g = &a->segments[part->first + i];
                uint64_t bytes = sk_ska_segment_bytes(a, part, g);
                s[n++] = (struct stored){g->file, (uint32_t)b, k, g->offset, bytes, at, g->hash};
                at += bytes;
            }
        }
    if (s)
        qsort(s, n, sizeof *s, by_file);
    return s;
}

static int hash_of(struct sk_ska_plan *p, uint32_t file, uint64_t offset, uint64_t bytes, uint64_t *hash, struct saikai_error *err)
{
    struct sk_ska_range r = {file, offset, (size_t)bytes, NULL};
    return sk_feed_hash(p->feed, &r, hash, err);
}

/* A stretch of a file, and its hash. */
struct stretch {
    uint64_t offset, bytes, hash;
};

/* What file f has at the same places as segments s[0…n), which are one file's; known: NULL, or a stretch of f that is known. */
static int compare(struct sk_ska_plan *p, uint32_t f, const struct stored *s, size_t n,
                   const struct stretch *known, struct sk_repeats *out, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        struct sk_unpack_need need = {0};
        uint64_t hash;
        if (s[i].bytes > p->a.files[f].size_bytes || s[i].offset > p->a.files[f].size_bytes - s[i].bytes)
            break;
        rc = sk_unpack_need(p->previous, s[i].block, &need, err);
        if (rc || need.raw_bytes > p->seat.raw_bytes || need.work_bytes > p->seat.work_bytes)
            continue;
        if (known && known->offset == s[i].offset && known->bytes == s[i].bytes)
            hash = known->hash;
        else
            rc = hash_of(p, f, s[i].offset, s[i].bytes, &hash, err);
        if (rc)
            break;
        struct sk_repeat x = {f, 0, s[i].offset, s[i].bytes, 0, s[i].block + 1, s[i].part, s[i].at};
        if (hash == s[i].hash && add(out, &x))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for repeats");
    }
    return rc;
}

/* The longest segment of a file of the previous archive. */
struct longest {
    uint64_t size; /* of the file */
    struct stretch at;
    uint32_t file;
};

/* The files of the previous archive. first[f] … first[f + 1]: the segments of file f; named: their numbers in the order of names. */
struct before {
    const struct sk_ska *a;
    struct stored *s;
    size_t *first, count;
    struct longest *longest;
    const struct sk_ska_file **named;
};

static void before_free(struct before *b)
{
    free(b->s);
    free(b->first);
    free(b->longest);
    free(b->named);
}

static int by_place_and_hash(const void *x, const void *y)
{
    const struct longest *a = x, *b = y;
    uint64_t left[] = {a->size, a->at.offset, a->at.bytes, a->at.hash, a->file}, right[] = {b->size, b->at.offset, b->at.bytes, b->at.hash, b->file};
    for (size_t k = 0; k < sizeof left / sizeof *left; k++)
        if (left[k] != right[k])
            return SK_ORDER(left[k], right[k]);
    return 0;
}

static int by_name(const void *x, const void *y)
{
    const struct sk_ska_file *const *a = x, *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

/* The longest segment of a file, the first of several; 0: it has none. */
static int longest_of(const struct before *b, uint32_t f, struct longest *out)
{
    const struct stored *k = &b->s[b->first[f]];
    for (size_t i = b->first[f]; i < b->first[f + 1]; i++)
        k = b->s[i].bytes > k->bytes ? &b->s[i] : k;
    if (b->first[f] < b->first[f + 1])
        *out = (struct longest){b->a->files[f].size_bytes, {k->offset, k->bytes, k->hash}, f};
    return b->first[f] < b->first[f + 1];
}

static int before_new(const struct sk_ska_plan *p, struct before *b)
{
    const struct sk_ska *a = p->previous->a;
    size_t at = 0;
    *b = (struct before){.a = a, .s = list_stored(p)};
    b->first = malloc((a->file_count + 1) * sizeof *b->first);
    b->longest = malloc((a->file_count + 1) * sizeof *b->longest);
    b->named = malloc((a->file_count + 1) * sizeof *b->named);
    if (!b->s || !b->first || !b->longest || !b->named)
        return -1;
    for (size_t f = 0; f <= a->file_count; f++) {
        while (at < a->segment_count && b->s[at].file < f)
            at++;
        b->first[f] = at;
    }
    for (uint32_t f = 0; f < a->file_count; f++) {
        b->named[f] = &a->files[f];
        b->count += (size_t)longest_of(b, f, &b->longest[b->count]);
    }
    if (b->count)
        qsort(b->longest, b->count, sizeof *b->longest, by_place_and_hash);
    if (a->file_count)
        qsort(b->named, a->file_count, sizeof *b->named, by_name);
    return 0;
}

/* The first of the list that is not before x. */
static size_t find_longest(const struct before *b, const struct longest *x)
{
    size_t low = 0, high = b->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (by_place_and_hash(&b->longest[mid], x) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The file of a name; -1: there is none. */
static int64_t who_is(const struct before *b, const char *name)
{
    const struct sk_ska_file key = {.name = (char *)(uintptr_t)name}, *one = &key,
                             **found = bsearch(&one, b->named, b->a->file_count, sizeof *b->named, by_name);
    return found ? *found - b->a->files : -1;
}

/* Of the files that have this stretch, the one of this name, else the first; -1: none has it. Any number may have it. */
static int64_t who_has(const struct before *b, const struct longest *x, const char *name)
{
    struct longest own, from = *x;
    from.file = 0;
    size_t i = find_longest(b, &from);
    const struct longest *first = i < b->count ? &b->longest[i] : NULL;
    if (!first || first->size != x->size || memcmp(&first->at, &x->at, sizeof x->at))
        return -1;
    int64_t is = who_is(b, name);
    return is >= 0 && longest_of(b, (uint32_t)is, &own) && own.size == x->size && !memcmp(&own.at, &x->at, sizeof x->at) ? is : first->file;
}

/* The file of the same size that has its longest segment, under whatever name. Where the longest segment lies is mostly the same in all
 * files of a size: f is read once for each such place, and for no more than a few. */
static int compare_size(struct sk_ska_plan *p, uint32_t f, const struct before *b,
                        struct sk_repeats *out, struct saikai_error *err)
{
    enum { PLACES = 8 };
    size_t before = out->count, at;
    struct longest x = {.size = p->a.files[f].size_bytes};
    for (int places = 0; places < PLACES && out->count == before; places++) {
        at = find_longest(b, &x);
        if (at == b->count || b->longest[at].size != x.size)
            break;
        x.at = b->longest[at].at;
        int rc = hash_of(p, f, x.at.offset, x.at.bytes, &x.at.hash, err);
        if (rc)
            return rc;
        int64_t g = who_has(b, &x, p->a.files[f].name);
        if (g >= 0)
            rc = compare(p, f, b->s + b->first[g], b->first[g + 1] - b->first[g], &x.at, out, err);
        if (rc)
            return rc;
        x.at.hash = UINT64_MAX; /* the next place */
        x.file = UINT32_MAX;
    }
    return 0;
}

/* That file; else the one of the same name, with what it still has. */
static int compare_file(struct sk_ska_plan *p, uint32_t f, const struct before *b,
                        struct sk_repeats *out, struct saikai_error *err)
{
    size_t before = out->count;
    int rc = compare_size(p, f, b, out, err);
    if (rc || out->count > before)
        return rc;
    int64_t g = who_is(b, p->a.files[f].name);
    if (g < 0)
        return 0;
    return compare(p, f, b->s + b->first[g], b->first[g + 1] - b->first[g], NULL, out, err);
}

static int look_before(struct sk_ska_plan *p, struct sk_repeats *out, struct saikai_error *err)
{
    struct before b;
    int rc = before_new(p, &b) ? sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats") : 0;
    for (uint32_t f = 0; f < p->a.file_count && !rc; f++)
        rc = compare_file(p, f, &b, out, err);
    before_free(&b);
    return rc;
}

/* ---- all of it ---- */

static int by_place(const void *x, const void *y)
{
    const struct sk_repeat *a = x, *b = y;
    return SK_ORDER_BY(a->file, b->file, a->offset, b->offset);
}

/* Within the set, where the previous archive has nothing. */
static int look_within(struct sk_ska_plan *p, struct sk_repeats *out, struct saikai_error *err)
{
    struct table t = {0};
    size_t n = out->count, k = 0;
    int rc = cut_chunks(p, out, err);
    if (!rc && table_new(&t, p))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats");
    for (uint32_t f = 0; f < p->a.file_count && !rc; f++) {
        struct seen at = {f, 1, 0};
        uint64_t from = 0;
        for (; k < n && out->list[k].file == f && !rc; k++) {
            uint64_t end = out->list[k].offset, next = end + out->list[k].bytes;
            rc = look_through(&t, &at, from, end, out, err);
            from = next;
        }
        if (!rc)
            rc = look_through(&t, &at, from, p->a.files[f].size_bytes, out, err);
    }
    free(t.slots);
    sk_repeats_forget_chunks(p);
    if (out->count && !out->list[out->count - 1].block && out->list[out->count - 1].bytes < SHORTEST)
        out->count--;
    return rc ? rc : check_all(p, out, err);
}

/* The first repeat of a sorted list that ends behind a place of a file. */
static size_t first_behind(const struct sk_repeats *r, uint32_t file, uint64_t from)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct sk_repeat *x = &r->list[mid];
        if (x->file < file || (x->file == file && x->offset + x->bytes <= from))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Cut what [from, end) of a file has out of the repeats, none of which has all of it. */
static void cut_out(struct sk_repeats *r, uint32_t file, uint64_t from, uint64_t end)
{
    for (size_t i = first_behind(r, file, from); i < r->count && r->list[i].file == file && r->list[i].offset < end; i++) {
        struct sk_repeat *x = &r->list[i];
        uint64_t stop = x->offset + x->bytes;
        if (x->offset < from) {
            x->bytes = from - x->offset;
            continue;
        }
        uint64_t skip = (stop < end ? stop : end) - x->offset;
        x->offset += skip;
        x->from += skip;
        x->at += skip;
        x->bytes -= skip;
    }
}

/* Bytes of [from, end) of a file that are repeats. */
static uint64_t covered(const struct sk_repeats *r, uint32_t file, uint64_t from, uint64_t end)
{
    uint64_t n = 0;
    for (size_t low = first_behind(r, file, from); low < r->count && r->list[low].file == file && r->list[low].offset < end; low++) {
        const struct sk_repeat *x = &r->list[low];
        uint64_t a = x->offset > from ? x->offset : from, b = x->offset + x->bytes < end ? x->offset + x->bytes : end;
        n += b > a ? b - a : 0;
    }
    return n;
}

/* A variable is a repeat as a whole; else what repeats in it stays. */
static void settle(struct sk_ska_plan *p, struct sk_repeats *r)
{
    for (uint32_t f = 0; f < p->a.file_count; f++)
        for (size_t i = 0; i < p->scans[f].count; i++) {
            struct sk_extent *e = &p->scans[f].extents[i];
            uint64_t n = covered(r, f, e->offset, e->offset + e->length);
            e->repeat = n && n == e->length;
            if (n && !e->repeat)
                cut_out(r, f, e->offset, e->offset + e->length);
        }
}

void sk_repeats_forget_chunks(struct sk_ska_plan *p)
{
    for (size_t i = 0; p->chunks && i < p->a.file_count; i++)
        sk_chunks_free(&p->chunks[i]);
    free(p->chunks);
    p->chunks = NULL;
    p->chunks_cap = 0;
}

int sk_repeats_find(struct sk_ska_plan *p, struct sk_repeats *out, struct saikai_error *err)
{
    int rc = p->previous ? look_before(p, out, err) : 0;
    if (!rc && out->count)
        qsort(out->list, out->count, sizeof *out->list, by_place);
    if (!rc)
        rc = look_within(p, out, err);
    if (!rc && out->count)
        qsort(out->list, out->count, sizeof *out->list, by_place);
    if (!rc)
        settle(p, out);
    size_t n = 0;
    p->taken_bytes = 0;
    for (size_t i = 0; i < out->count && !rc; i++)
        if (out->list[i].bytes) {
            p->taken_bytes += out->list[i].block ? 0 : out->list[i].bytes;
            out->list[n++] = out->list[i];
        }
    if (!rc)
        out->count = n;
    if (n)
        qsort(out->list, n, sizeof *out->list, by_place);
    return rc;
}
