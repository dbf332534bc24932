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

struct cutter {
    uint64_t gear[256];
    size_t least, most;
    uint64_t mask;
    uint8_t *window;
};

static int cutter_new(struct cutter *t, int coarse)
{
    uint64_t s = 1;
    for (int i = 0; i < 256; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        t->gear[i] = s ^ s >> 29;
    }
    t->least = (size_t)CHUNK_LEAST << coarse;
    t->most = (size_t)SK_CHUNK_MOST >> (SK_CHUNKS_COARSEST - coarse);
    t->mask = (((uint64_t)1 << (CUT_BITS + coarse)) - 1) << (64 - CUT_BITS - coarse);
    t->window = malloc(WINDOW);
    return t->window ? 0 : -1;
}

/* Bytes of the next chunk of data[n]: to where the hash of the 64 bytes before says so. */
static size_t next_chunk(const struct cutter *t, const uint8_t *data, size_t n)
{
    uint64_t h = 0;
    size_t most = n < t->most ? n : t->most;
    for (size_t i = t->least < most ? t->least - 64 : most; i < most; i++) {
        h = (h << 1) + t->gear[data[i]];
        if (i >= t->least && !(h & t->mask))
            return i + 1;
    }
    return most;
}

/* A word again and again costs nothing anyhow. */
static int is_plain(const uint8_t *p, size_t n)
{
    return n > 8 && !memcmp(p, p + 8, n - 8);
}

int sk_chunks_cut(struct sk_ska_feed *feed, uint32_t file, uint64_t bytes, int coarse, struct sk_chunks *out,
                  struct saikai_error *err)
{
    struct cutter t = {0};
    int rc = cutter_new(&t, coarse) ? sk_fail(err, SAIKAI_ENOMEM, "no memory to look for repeats") : 0;
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
    free(t.window);
    return rc;
}
