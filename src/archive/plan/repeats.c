/* Finds repeats. Files are cut into chunks where their content says so, at any distance and place: a
 * chunk whose hash is known is compared with the one before it. Of the previous archive, segments are
 * compared with the same place of the file of the same name, else of a file of the same size. */
#include "archive/plan/repeats.h"

#include "base/hash.h"
#include "base/file/io.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_LEAST = 1 << 10, CHUNK_MOST = 16 << 10, CUT_BITS = 12, SHORTEST = 4096, WINDOW = 4 << 20 };

void sk_repeats_free(struct sk_repeats *r)
{
    free(r->list);
    *r = (struct sk_repeats){0};
}

/* Append; one that goes on where the last one ended, also at its source, makes that longer. */
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
            return SAIKAI_ENOMEM;
        r->list = more;
        r->cap = cap;
    }
    r->list[r->count++] = *x;
    return 0;
}

/* ---- within the set ---- */

struct chunk {
    uint64_t hash, offset;
    uint32_t file, bytes; /* bytes 0: free */
};

/* Chunks that were seen: as many as the room is for. */
struct table {
    struct chunk *slots;
    size_t mask, used;
    uint64_t gear[256];
    uint8_t *window, *other;
    size_t sources; /* of the repeats: those from this one on are of the set itself */
};

static void table_free(struct table *t)
{
    free(t->slots);
    free(t->window);
    free(t->other);
}

static int table_new(struct table *t, uint64_t memory, uint64_t all)
{
    size_t n = 1024;
    while (n < all / (CHUNK_LEAST * 2) && n * 2 * sizeof *t->slots <= memory / 16)
        n *= 2;
    *t = (struct table){.mask = n - 1};
    t->slots = calloc(n, sizeof *t->slots);
    t->window = malloc(WINDOW);
    t->other = malloc(CHUNK_MOST);
    uint64_t s = 1;
    for (int i = 0; i < 256; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        t->gear[i] = s ^ s >> 29;
    }
    return t->slots && t->window && t->other ? 0 : SAIKAI_ENOMEM;
}

/* Bytes of the next chunk of data[n]: to where the hash of the 64 bytes before says so. */
static size_t next_chunk(const struct table *t, const uint8_t *data, size_t n)
{
    const uint64_t mask = (((uint64_t)1 << CUT_BITS) - 1) << (64 - CUT_BITS);
    uint64_t h = 0;
    size_t most = n < CHUNK_MOST ? n : CHUNK_MOST;
    for (size_t i = CHUNK_LEAST < most ? CHUNK_LEAST - 64 : most; i < most; i++) {
        h = (h << 1) + t->gear[data[i]];
        if (i >= CHUNK_LEAST && !(h & mask))
            return i + 1;
    }
    return most;
}

/* A word again and again costs nothing anyhow. */
static int is_plain(const uint8_t *p, size_t n)
{
    return n > 8 && !memcmp(p, p + 8, n - 8);
}

/* Whether the chunk is known: then *x is a repeat; else it is known from now on. */
static int look_up(struct sk_ska_plan *p, struct table *t, const uint8_t *data, struct sk_repeat *x, int *found, struct saikai_error *err)
{
    uint64_t h = sk_hash64(data, x->bytes);
    size_t k = h & t->mask;
    *found = 0;
    for (; t->slots[k].bytes; k = (k + 1) & t->mask) {
        const struct chunk *c = &t->slots[k];
        if (c->hash != h || c->bytes != x->bytes)
            continue;
        struct sk_ska_range r = {c->file, c->offset, c->bytes, t->other};
        int rc = sk_feed_fetch(p->feed, &r, 1, err);
        *found = !rc && !memcmp(data, t->other, c->bytes);
        x->from_file = c->file;
        x->from = c->offset;
        return rc;
    }
    if (t->used < t->mask / 4 * 3) {
        t->slots[k] = (struct chunk){h, x->offset, x->file, (uint32_t)x->bytes};
        t->used++;
    }
    return 0;
}

/* Whether the last repeat goes on with a chunk that is not worth being known by itself. */
static int goes_on(struct sk_ska_plan *p, struct table *t, const struct sk_repeats *r, const uint8_t *data, struct sk_repeat *x,
                   int *found, struct saikai_error *err)
{
    const struct sk_repeat *last = r->count ? &r->list[r->count - 1] : NULL;
    /* what follows the source is stored, unless the archive before has it */
    if (p->previous || !last || last->file != x->file || last->offset + last->bytes != x->offset)
        return 0;
    x->from_file = last->from_file;
    x->from = last->from + last->bytes;
    uint64_t end = x->from_file == x->file ? x->offset : p->a.files[x->from_file].size_bytes;
    if (x->from > end || x->bytes > end - x->from)
        return 0;
    struct sk_ska_range source = {x->from_file, x->from, (size_t)x->bytes, t->other};
    int rc = sk_feed_fetch(p->feed, &source, 1, err);
    *found = !rc && !memcmp(data, t->other, x->bytes);
    return rc;
}

static int look_through(struct sk_ska_plan *p, struct table *t, uint32_t file, uint64_t from, uint64_t end,
                        struct sk_repeats *out, struct saikai_error *err)
{
    int rc = 0;
    while (from < end && !rc) {
        size_t n = end - from < WINDOW ? (size_t)(end - from) : WINDOW, at = 0;
        struct sk_ska_range r = {file, from, n, t->window};
        rc = sk_feed_fetch(p->feed, &r, 1, err);
        /* the last chunk of a window may go on behind it */
        while (!rc && at < n && (from + n == end || n - at >= CHUNK_MOST)) {
            struct sk_repeat x = {.file = file, .offset = from + at, .bytes = next_chunk(t, t->window + at, n - at)};
            int found = 0;
            if (is_plain(t->window + at, x.bytes))
                rc = goes_on(p, t, out, t->window + at, &x, &found, err);
            else if (x.bytes >= CHUNK_LEAST || from + at + x.bytes == end)
                rc = look_up(p, t, t->window + at, &x, &found, err);
            if (!rc && found && add(out, &x))
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for repeats");
            at += x.bytes;
        }
        from += at;
    }
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
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
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

/* The hash of a stretch of a file; window: WINDOW bytes of room. */
static int hash_of(struct sk_ska_plan *p, struct sk_hasher *h, uint8_t *window, uint32_t file, uint64_t offset,
                   uint64_t bytes, uint64_t *hash, struct saikai_error *err)
{
    int rc = 0;
    sk_hasher_reset(h);
    for (uint64_t done = 0; done < bytes && !rc;) {
        size_t n = bytes - done < WINDOW ? (size_t)(bytes - done) : WINDOW;
        struct sk_ska_range r = {file, offset + done, n, window};
        rc = sk_feed_fetch(p->feed, &r, 1, err);
        if (!rc)
            sk_hasher_add(h, window, n);
        done += n;
    }
    *hash = sk_hasher_value(h);
    return rc;
}

/* Whether file f has the longest of segments s[0…n), which are one file's, where that had it. */
static int same_longest(struct sk_ska_plan *p, struct sk_hasher *h, uint8_t *window, uint32_t f, const struct stored *s,
                        size_t n, int *same, struct saikai_error *err)
{
    size_t k = 0;
    uint64_t hash = 0;
    for (size_t i = 1; i < n; i++)
        k = s[i].bytes > s[k].bytes ? i : k;
    int rc = hash_of(p, h, window, f, s[k].offset, s[k].bytes, &hash, err);
    *same = hash == s[k].hash;
    return rc;
}

/* What file f has at the same places as segments s[0…n), which are one file's. */
static int compare(struct sk_ska_plan *p, struct sk_hasher *h, uint8_t *window, uint32_t f, const struct stored *s, size_t n,
                   struct sk_repeats *out, struct saikai_error *err)
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
        rc = hash_of(p, h, window, f, s[i].offset, s[i].bytes, &hash, err);
        if (rc)
            break;
        struct sk_repeat x = {f, 0, s[i].offset, s[i].bytes, 0, s[i].block + 1, s[i].part, s[i].at};
        if (hash == s[i].hash && add(out, &x))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for repeats");
    }
    return rc;
}

/* first[f] … first[f + 1]: the segments of file f of the previous archive. */
static void find_files(const struct sk_ska *a, const struct stored *s, size_t *first)
{
    size_t at = 0;
    for (size_t f = 0; f <= a->file_count; f++) {
        while (at < a->segment_count && s[at].file < f)
            at++;
        first[f] = at;
    }
}

/* The file of the same size that has its longest segment, under whatever name; else the file of the same
 * name, with what it still has. */
static int compare_file(struct sk_ska_plan *p, struct sk_hasher *h, uint8_t *window, uint32_t f, const struct stored *s,
                        const size_t *first, struct sk_repeats *out, struct saikai_error *err)
{
    const struct sk_ska *a = p->previous->a;
    size_t before = out->count;
    int rc = 0;
    for (int named = 0; named < 2; named++)
        for (size_t g = 0; g < a->file_count && !rc && out->count == before; g++) {
            size_t n = first[g + 1] - first[g];
            int same = n && (named ? !strcmp(a->files[g].name, p->a.files[f].name)
                                   : a->files[g].size_bytes == p->a.files[f].size_bytes);
            if (same && !named)
                rc = same_longest(p, h, window, f, s + first[g], n, &same, err);
            if (same && !rc)
                rc = compare(p, h, window, f, s + first[g], n, out, err);
        }
    return rc;
}

static int look_before(struct sk_ska_plan *p, struct sk_repeats *out, struct saikai_error *err)
{
    struct stored *s = list_stored(p);
    size_t *first = malloc((p->previous->a->file_count + 1) * sizeof *first);
    uint8_t *window = malloc(WINDOW);
    struct sk_hasher *h = sk_hasher_new();
    int rc = s && first && window && h ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats");
    if (!rc)
        find_files(p->previous->a, s, first);
    for (uint32_t f = 0; f < p->a.file_count && !rc; f++)
        rc = compare_file(p, h, window, f, s, first, out, err);
    sk_hasher_free(h);
    free(window);
    free(first);
    free(s);
    return rc;
}

/* ---- all of it ---- */

static int by_place(const void *x, const void *y)
{
    const struct sk_repeat *a = x, *b = y;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Within the set, where the previous archive has nothing. */
static int look_within(struct sk_ska_plan *p, struct sk_repeats *out, struct saikai_error *err)
{
    struct table t;
    uint64_t all = 0;
    size_t n = out->count, k = 0;
    for (size_t f = 0; f < p->a.file_count; f++)
        all += p->a.files[f].size_bytes;
    int rc = table_new(&t, p->opt.memory_bytes, all) ? sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats") : 0;
    for (uint32_t f = 0; f < p->a.file_count && !rc; f++) {
        uint64_t at = 0;
        for (; k < n && out->list[k].file == f && !rc; k++) {
            uint64_t end = out->list[k].offset, next = end + out->list[k].bytes;
            rc = look_through(p, &t, f, at, end, out, err);
            at = next;
        }
        if (!rc)
            rc = look_through(p, &t, f, at, p->a.files[f].size_bytes, out, err);
    }
    table_free(&t);
    if (out->count && !out->list[out->count - 1].block && out->list[out->count - 1].bytes < SHORTEST)
        out->count--;
    return rc;
}

/* Cut what [from, end) of a file has out of the repeats, none of which has all of it. */
static void cut_out(struct sk_repeats *r, uint32_t file, uint64_t from, uint64_t end)
{
    for (size_t i = 0; i < r->count; i++) {
        struct sk_repeat *x = &r->list[i];
        uint64_t stop = x->offset + x->bytes;
        if (x->file != file || stop <= from || x->offset >= end)
            continue;
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
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct sk_repeat *x = &r->list[mid];
        if (x->file < file || (x->file == file && x->offset + x->bytes <= from))
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < r->count && r->list[low].file == file && r->list[low].offset < end; low++) {
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
    for (size_t i = 0; i < out->count && !rc; i++)
        if (out->list[i].bytes)
            out->list[n++] = out->list[i];
    if (!rc)
        out->count = n;
    if (n)
        qsort(out->list, n, sizeof *out->list, by_place);
    return rc;
}
