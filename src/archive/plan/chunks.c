/* Chunks: a file is cut where its content says so, so that the same content is cut the same way wherever
 * it stands. Whoever has a file's bytes cuts them: the lists are short, and one can compare those of many ranks. */
#include "archive/plan/chunks.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_LEAST = 1 << 10, CHUNK_USUAL = 5 << 10, CUT_BITS = 12, WINDOW = 4 << 20 };
/* of a chunk in all: in its list and in the table that finds it */
enum { CHUNK_ROOM = 72 };

int sk_chunks_coarse(uint64_t bytes, uint64_t memory)
{
    for (int coarse = 0; coarse <= SK_CHUNKS_COARSEST; coarse++)
        if (bytes / ((uint64_t)CHUNK_USUAL << coarse) <= memory / 16 / CHUNK_ROOM)
            return coarse;
    return -1;
}

void sk_chunks_free(struct sk_chunks *c)
{
    free(c->list);
    *c = (struct sk_chunks){0};
}

int sk_chunks_add(struct sk_chunks *c, const struct sk_file_chunk *x)
{
    if (c->count == c->cap) {
        size_t cap = c->cap ? c->cap + c->cap / 2 : 64;
        struct sk_file_chunk *more = realloc(c->list, cap * sizeof *more);
        if (!more)
            return SAIKAI_ENOMEM;
        c->list = more;
        c->cap = cap;
    }
    c->list[c->count++] = *x;
    return 0;
}

/* ---- marks ---- */

enum { MARK_BITS = 7, SLOT_BITS_LEAST = 10, SLOT_BITS_MOST = 17 };

void sk_marks_begin(struct sk_marks *m, uint64_t bytes)
{
    int bits = SLOT_BITS_LEAST;
    *m = (struct sk_marks){0};
    while (bits < SLOT_BITS_MOST && bytes >> MARK_BITS > (uint64_t)1 << (bits - 1))
        bits++;
    for (int k = 0; k < 24 && bytes >> MARK_BITS >> k > (uint64_t)1 << (bits - 1); k++)
        m->rare = m->rare << 1 | 1;
    m->slots = (size_t)1 << bits;
    m->seen = calloc(m->slots, sizeof *m->seen);
}

void sk_marks_end(struct sk_marks *m)
{
    free(m->seen);
    m->seen = NULL;
}

/* The hash of the bytes before a place. */
static void mark(struct sk_marks *m, uint64_t h)
{
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    if (h >> 20 & m->rare)
        return;
    uint32_t *slot = &m->seen[h >> 44 & (m->slots - 1)], tag = (uint32_t)(h >> 12) | 1;
    m->again += *slot == tag;
    m->all++;
    *slot = tag;
}

/* ---- chunks ---- */

struct cutter {
    uint64_t gear[256];
    size_t least, most;
    uint64_t mask, few; /* few: bits of it that are zero at a mark */
    uint8_t *window;
    struct sk_marks *marks; /* NULL: nobody asks */
};

static int cutter_new(struct cutter *t, int coarse, uint8_t **window)
{
    uint64_t s = 1;
    for (int i = 0; i < 256; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        t->gear[i] = s ^ s >> 29;
    }
    t->least = (size_t)CHUNK_LEAST << coarse;
    t->most = (size_t)SK_CHUNK_MOST >> (SK_CHUNKS_COARSEST - coarse);
    t->mask = (((uint64_t)1 << (CUT_BITS + coarse)) - 1) << (64 - CUT_BITS - coarse);
    t->few = (((uint64_t)1 << MARK_BITS) - 1) << (64 - MARK_BITS);
    if (!*window)
        *window = malloc(WINDOW);
    t->window = *window;
    return t->window ? 0 : -1;
}

/* Bytes of the next chunk of data[n]: to where the hash of the 64 bytes before says so. */
static size_t next_chunk(const struct cutter *t, const uint8_t *data, size_t n)
{
    enum { AT_A_TIME = 4 };
    uint64_t h = 0, few = t->few;
    size_t most = n < t->most ? n : t->most, i = t->least < most ? t->least - 64 : most;
    for (; i < t->least && i < most; i++)
        h = (h << 1) + t->gear[data[i]];
    while (i < most) {
        size_t end = most - i < AT_A_TIME ? most : i + AT_A_TIME;
        if (end - i == AT_A_TIME) { /* mostly none of these is a mark, and they are asked together */
            uint64_t a = (h << 1) + t->gear[data[i]], b = (a << 1) + t->gear[data[i + 1]], c = (b << 1) + t->gear[data[i + 2]], d = (c << 1) + t->gear[data[i + 3]];
            if (__builtin_expect((a & few) && (b & few) && (c & few) && (d & few), 1)) {
                h = d;
                i = end;
                continue;
            }
        }
        for (; i < end; i++) {
            h = (h << 1) + t->gear[data[i]];
            if (h & few)
                continue;
            if (t->marks)
                mark(t->marks, h);
            if (!(h & t->mask))
                return i + 1;
        }
    }
    return most;
}

/* A word again and again costs nothing anyhow. */
static int is_plain(const uint8_t *p, size_t n)
{
    return n > 8 && !memcmp(p, p + 8, n - 8);
}

int sk_chunks_cut(struct sk_ska_feed *feed, uint32_t file, uint64_t bytes, int coarse, struct sk_chunks *out, struct sk_marks *marks, uint8_t **window,
                  struct saikai_error *err)
{
    struct cutter t = {.marks = marks && marks->seen ? marks : NULL};
    int rc = cutter_new(&t, coarse, window) ? sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats") : 0;
    for (uint64_t from = 0; from < bytes && !rc;) {
        size_t n = bytes - from < WINDOW ? (size_t)(bytes - from) : WINDOW, at = 0;
        struct sk_ska_range r = {file, from, n, t.window};
        rc = sk_feed_fetch(feed, &r, 1, err);
        /* the last chunk of a window may go on behind it */
        while (!rc && at < n && (from + n == bytes || n - at >= t.most)) {
            struct sk_file_chunk x = {.bytes = (uint32_t)next_chunk(&t, t.window + at, n - at)};
            x.hash = sk_hash64(t.window + at, x.bytes);
            x.plain = (uint32_t)is_plain(t.window + at, x.bytes);
            if (sk_chunks_add(out, &x))
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats");
            at += x.bytes;
        }
        from += at;
    }
    return rc;
}
