/* Encodes a block after the one of the previous archive that it resembles. Seats bound how much
 * memory these comparisons take at a time. */
#include "archive/write/delta.h"
#include "archive/coding/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What one comparison at a time works with. */
struct seat {
    int taken;
    struct sk_unpacker unpacker;
    struct sk_coder coder;
    struct sk_buf out;
    struct sk_recipe *recipes;
};

struct sk_archive_delta {
    struct sk_ska_plan *p;
    int count;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    struct seat seats[];
};

/* A seat holds what unpacking takes, the block below once more in the order of a filter, tables of
 * the compressor, and one block of ours filtered and packed; the rest of the pipeline holds
 * 4 × threads + 6 blocks. */
int sk_archive_delta_share(uint64_t memory, int threads, const struct sk_unpack_need *largest,
                           uint64_t *unit)
{
    uint64_t seat = largest->work_bytes + 2 * largest->raw_bytes + SK_PACK_TABLES;
    for (int n = threads; n > 0; n--)
        if ((uint64_t)n * seat <= memory / 4 * 3) {
            *unit = (memory - (uint64_t)n * seat) / (uint64_t)(4 * threads + 6 + 2 * n);
            return n;
        }
    return 0;
}

int sk_archive_delta_new(struct sk_ska_plan *p, int count, struct sk_archive_delta **out,
                         struct saikai_error *err)
{
    struct sk_archive_delta *g = calloc(1, sizeof *g + (size_t)count * sizeof *g->seats);
    if (!g)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to build on %s", p->previous->path);
    g->p = p;
    g->count = count;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->freed, NULL);
    *out = g;
    return 0;
}

void sk_archive_delta_free(struct sk_archive_delta *g)
{
    if (!g)
        return;
    for (int i = 0; i < g->count; i++) {
        sk_unpacker_free(&g->seats[i].unpacker);
        sk_coder_free(&g->seats[i].coder);
        sk_buf_free(&g->seats[i].out);
        free(g->seats[i].recipes);
    }
    pthread_cond_destroy(&g->freed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static struct seat *take_seat(struct sk_archive_delta *g)
{
    struct seat *s = NULL;
    pthread_mutex_lock(&g->lock);
    while (!s) {
        for (int i = 0; i < g->count && !s; i++)
            s = g->seats[i].taken ? NULL : &g->seats[i];
        if (!s)
            pthread_cond_wait(&g->freed, &g->lock);
    }
    s->taken = 1;
    pthread_mutex_unlock(&g->lock);
    return s;
}

static void leave_seat(struct sk_archive_delta *g, struct seat *s)
{
    pthread_mutex_lock(&g->lock);
    s->taken = 0;
    pthread_cond_signal(&g->freed);
    pthread_mutex_unlock(&g->lock);
}

/* The block's recipes, with a compressor that knows what to do with what comes before. */
static int set_recipes(struct seat *s, const struct sk_recipe *from, size_t n,
                       struct saikai_error *err)
{
    enum { LEVEL = 9, STRONG = 19 };
    struct sk_recipe *more = realloc(s->recipes, (n + 1) * sizeof *more);
    if (!more)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a block's parts");
    s->recipes = more;
    memcpy(more, from, n * sizeof *more);
    for (size_t i = 0; i < n; i++)
        if (more[i].backend != SK_BACKEND_ZSTD || sk_form_apart(more[i].form)) {
            more[i].backend = SK_BACKEND_ZSTD;
            more[i].level = more[i].level >= SK_PACK_BEST ? STRONG : LEVEL;
            /* numbers of text and of rows are told from others of their piece alone */
            more[i].form = sk_form_apart(more[i].form) ? SK_FORM_BYTES : more[i].form;
        }
    return 0;
}

/* 1: forms whose streams come after those of the part below; others are what they are alone. */
static int builds(const struct sk_recipe *r)
{
    return r->form == SK_FORM_BYTES || r->form == SK_FORM_RECORDS || sk_form_apart(r->form);
}

/* About what a piece from the middle of a part leaves of all of it, after the part below: anywhere in that, since what was taken out as a
 * repeat, here or there, has moved the rest. */
static double about(struct seat *s, const struct sk_part *p, const struct sk_part *below)
{
    enum { PIECE = 96 << 10, MOST = 32 << 20, LEVEL = 3 };
    size_t n = p->size_bytes < PIECE ? p->size_bytes : PIECE, at = (p->size_bytes - n) / 2, stored;
    size_t beside = below->size_bytes < MOST ? below->size_bytes : MOST;
    int backend = SK_BACKEND_ZSTD;
    void *to = sk_coder_room(&s->coder.packed, sk_pack_bound(n));
    if (!to || !n || !beside)
        return (double)p->size_bytes;
    sk_stream_after(&s->coder, below->raw + (below->size_bytes - beside) / 2, beside);
    if (sk_pack(&s->coder.packer, &backend, LEVEL, p->raw + at, n, to, &stored, NULL))
        return 0;
    return (double)stored / (double)n * (double)p->size_bytes;
}

/* Whether it is worth the while to encode all of a block once more. What filters and records make of bytes is not told by a piece. */
static int may_gain(struct seat *s, const struct sk_part *parts, const struct sk_recipe *r, uint32_t count, size_t alone)
{
    double left = 0;
    for (uint32_t k = 0; k < count; k++) {
        const struct sk_part *below = s->coder.previous[k];
        if (!below || !builds(&r[k]))
            continue;
        if (r[k].form == SK_FORM_RECORDS || (r[k].form == SK_FORM_BYTES && r[k].filter))
            return 1;
        left += about(s, &parts[k], below);
    }
    return left < 1.1 * (double)alone;
}

int sk_archive_delta_encode(struct sk_archive_delta *g, size_t i, struct sk_part *parts,
                            struct sk_buf *alone, struct saikai_error *err)
{
    struct sk_ska_plan *p = g->p;
    struct sk_ska_block *b = &p->a.blocks[i];
    const struct sk_recipe *recipes = &p->recipes[b->first];
    uint32_t built = 0;
    while (built < b->count && !builds(&recipes[built]))
        built++;
    if (built == b->count) {
        b->previous = 0;
        return 0;
    }
    struct seat *s = take_seat(g);
    int rc = sk_unpack_alike(&s->unpacker, p->previous, &p->a, i, &s->coder.previous, err);
    if (rc)
        sk_error_prefix(err, "cannot build on %s (without it, this archive stands alone)",
                        p->previous->path);
    s->out.len = 0;
    if (!rc)
        rc = set_recipes(s, recipes, b->count, err);
    int again = !rc && may_gain(s, parts, recipes, b->count, alone->len);
    if (again)
        rc = sk_block_encode(&s->coder, parts, (int)b->count, s->recipes, &s->out, err);
    s->coder.previous = NULL;
    if (!rc && again && s->out.len < alone->len - alone->len / 16) {
        struct sk_buf longer = *alone;
        *alone = s->out;
        s->out = longer;
    } else {
        b->previous = 0;
    }
    leave_seat(g, s);
    return rc;
}

static int same_bytes(const struct sk_part *p, const struct sk_recipe *r, const struct sk_part *below)
{
    size_t at = 0;
    for (size_t k = 0; k < r->take_count; k++) {
        const struct sk_take *t = &r->takes[k];
        if (memcmp(p->raw + at, below[t->part].raw + t->at, t->bytes))
            return 0;
        at += t->bytes;
    }
    return 1;
}

int sk_archive_delta_take(struct sk_archive_delta *g, size_t i, struct sk_part *parts, struct sk_buf *out,
                          struct saikai_error *err)
{
    struct sk_ska_plan *p = g->p;
    struct sk_ska_block *b = &p->a.blocks[i];
    struct sk_recipe plain = {.form = SK_FORM_BYTES, .backend = SK_BACKEND_ZSTD};
    const struct sk_recipe *r = &p->recipes[b->first];
    const struct sk_part *const *alike;
    struct seat *s = take_seat(g);
    int same = 1, rc = sk_unpack_alike(&s->unpacker, p->previous, &p->a, i, &alike, err);
    if (rc)
        sk_error_prefix(err, "cannot build on %s (without it, this archive stands alone)", p->previous->path);
    for (uint32_t k = 0; k < b->count && !rc; k++)
        same = same && same_bytes(&parts[k], &r[k], s->unpacker.below.parts);
    if (!rc && same)
        rc = sk_block_encode(&s->coder, parts, (int)b->count, r, out, err);
    for (uint32_t k = 0; k < b->count && !rc && !same; k++)
        rc = sk_block_encode(&s->coder, parts + k, 1, &plain, out, err);
    if (!same)
        b->previous = 0;
    leave_seat(g, s);
    return rc;
}

/* ---- which archive ---- */

/* The directory of a file, as the disk knows it. */
static int directory_of(const char *path, struct stat *st)
{
    const char *slash = strrchr(path, '/');
    char dir[4096];
    if (!slash)
        return stat(".", st);
    if ((size_t)(slash - path) + 2 > sizeof dir)
        return -1;
    memcpy(dir, path, (size_t)(slash - path) + 1);
    dir[slash - path + 1] = 0;
    return stat(dir, st);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int sk_ska_plan_previous(struct sk_ska_plan *p, const char *out, const char *previous,
                         struct saikai_error *err)
{
    struct stat a, b;
    int rc = sk_opened_new(previous, &p->previous, err);
    if (rc)
        return rc;
    if (directory_of(previous, &a) || directory_of(out, &b))
        return sk_fail_errno(err, errno, "cannot read the directories of %s and %s", previous, out);
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino || !strcmp(name_of(previous), name_of(out)))
        return sk_fail(err, SAIKAI_EINVAL,
                       "%s cannot build on %s: that must be another archive in the same directory",
                       out, previous);
    int most = p->opt.chain > 0 ? p->opt.chain : SK_CHAIN;
    if (most > SK_SKA_MAX_DEPTH)
        most = SK_SKA_MAX_DEPTH;
    if (p->previous->a->depth >= (uint32_t)most) {
        sk_opened_free(p->previous); /* enough in a row: this one stands alone */
        p->previous = NULL;
    }
    return 0;
}
