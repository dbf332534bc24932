/* Opens the archives that one builds on, and matches the blocks of a new archive with those of the
 * previous one. */
#include "archive/file/previous.h"

#include "base/file/io.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_SHARE = 20, LEAST_SHARE_NUMBERS = 100 };

/* One that owns what it is about. */
struct owned {
    struct sk_opened o; /* first: they are freed by it */
    char path[4096];
    struct sk_ska a;
};

void sk_opened_init(struct sk_opened *o, int fd, const char *path, const struct sk_ska *a)
{
    *o = (struct sk_opened){.fd = fd, .path = path, .a = a};
    pthread_mutex_init(&o->lock, NULL);
}

void sk_opened_done(struct sk_opened *o)
{
    if (!o->a)
        return;
    sk_opened_free(o->previous);
    pthread_mutex_destroy(&o->lock);
    *o = (struct sk_opened){.fd = -1};
}

int sk_opened_new(const char *path, struct sk_opened **out, struct saikai_error *err)
{
    struct owned *w = calloc(1, sizeof *w);
    if (!w)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", path);
    int fd = -1, rc = sk_io_path(w->path, sizeof w->path, err, "%s", path);
    if (!rc && (fd = sk_io_open(w->path, O_RDONLY, 0, err)) < 0)
        rc = fd;
    if (!rc)
        rc = sk_ska_read(fd, w->path, &w->a, err);
    sk_opened_init(&w->o, fd, w->path, &w->a);
    if (rc)
        sk_opened_free(&w->o);
    else
        *out = &w->o;
    return rc;
}

void sk_opened_free(struct sk_opened *o)
{
    if (!o)
        return;
    struct owned *w = (struct owned *)o;
    int fd = o->fd;
    sk_opened_done(o);
    if (fd >= 0)
        close(fd);
    sk_ska_free(&w->a);
    free(w);
}

static int open_previous(struct sk_opened *o, struct saikai_error *err)
{
    char path[4096];
    const char *slash = strrchr(o->path, '/');
    struct sk_opened *e = NULL;
    if (!o->a->previous)
        return sk_fail(err, SAIKAI_EDAMAGED, "%s: its blocks build on no archive", o->path);
    int rc = sk_io_path(path, sizeof path, err, "%.*s%s", slash ? (int)(slash - o->path) + 1 : 0,
                        o->path, o->a->previous);
    if (!rc && access(path, F_OK))
        rc = sk_fail(err, SAIKAI_ENOENT, "%s builds on %s, which is missing: put it back beside it",
                     o->path, path);
    if (!rc)
        rc = sk_opened_new(path, &e, err);
    /* fewer archives below each one: there is an end to them */
    if (!rc && (e->a->hash != o->a->previous_hash || e->a->depth >= o->a->depth)) {
        sk_opened_free(e);
        return sk_fail(err, SAIKAI_EDAMAGED,
                       "%s builds on another archive than the one that is called %s now: put that "
                       "one back in its place",
                       o->path, path);
    }
    if (!rc)
        o->previous = e;
    return rc;
}

int sk_opened_previous(struct sk_opened *o, struct sk_opened **previous, struct saikai_error *err)
{
    pthread_mutex_lock(&o->lock);
    int rc = o->previous ? 0 : open_previous(o, err);
    if (!rc)
        *previous = o->previous;
    pthread_mutex_unlock(&o->lock);
    return rc;
}

int sk_opened_below(struct sk_opened *o, size_t i, struct sk_opened **previous, size_t *k,
                    struct saikai_error *err)
{
    *previous = NULL;
    if (o->a->blocks[i].own) {
        *previous = o;
        *k = o->a->blocks[i].own - 1;
        return 0;
    }
    *k = o->a->blocks[i].previous;
    if (!*k)
        return 0;
    int rc = sk_opened_previous(o, previous, err);
    if (!rc && --*k >= (*previous)->a->block_count)
        rc = sk_fail(err, SAIKAI_EDAMAGED, "%s has no block %zu, which %s builds on",
                     (*previous)->path, *k, o->path);
    return rc;
}

/* ---- making one ---- */

/* The class of a block's largest part, of several the first one by name: parts may be in another order in another archive. -1: it is empty. */
static int64_t key_class(const struct sk_ska *a, size_t i)
{
    const struct sk_ska_block *b = &a->blocks[i];
    uint64_t most = 0;
    int64_t found = -1;
    for (uint32_t k = 0; k < b->count; k++) {
        const struct sk_ska_part *p = &a->parts[b->first + k];
        if (p->size_bytes > most || (p->size_bytes && p->size_bytes == most && strcmp(a->classes[p->class].key, a->classes[found].key) < 0)) {
            most = p->size_bytes;
            found = p->class;
        }
    }
    return found;
}

int sk_previous_usable(const struct sk_ska *a, size_t i)
{
    const struct sk_ska_block *b = &a->blocks[i];
    for (uint32_t k = 0; k < b->count; k++)
        if (a->classes[a->parts[b->first + k].class].type != SAIKAI_U8)
            return 0;
    return key_class(a, i) >= 0;
}

/* The block of a class that holds a place in it, else the last there is; 0: none, else its number
 * and 1. */
static uint32_t block_at(const struct sk_ska *a, const char *key, uint64_t place)
{
    uint32_t found = 0;
    uint64_t end = 0;
    for (size_t k = 0; k < a->block_count && (!found || end <= place); k++) {
        int64_t c = key_class(a, k);
        if (c >= 0 && !strcmp(a->classes[c].key, key)) {
            found = (uint32_t)k + 1;
            end += a->blocks[k].size_bytes;
        }
    }
    return found;
}

/* Classes of the archive before, in the order of their keys. */
static int by_key(const void *x, const void *y)
{
    const struct sk_ska_class *const *a = x, *const *b = y;
    return strcmp((*a)->key, (*b)->key);
}

/* The blocks of an archive before, for classes whose own blocks do not tell. */
struct shared {
    const struct sk_ska *before;
    const struct sk_ska_class **sorted; /* its classes */
    uint64_t *mine;                     /* of each of its classes the bytes of that one in the block that is asked about */
};

static int shared_new(struct shared *s, const struct sk_ska *before)
{
    *s = (struct shared){before, malloc((before->class_count + 1) * sizeof *s->sorted), calloc(before->class_count + 1, sizeof *s->mine)};
    if (!s->sorted || !s->mine)
        return SAIKAI_ENOMEM;
    for (size_t c = 0; c < before->class_count; c++)
        s->sorted[c] = &before->classes[c];
    if (before->class_count)
        qsort(s->sorted, before->class_count, sizeof *s->sorted, by_key);
    return 0;
}

static void shared_free(struct shared *s)
{
    free(s->sorted);
    free(s->mine);
}

/* What the archive before has for the class of this key; NULL: it has none. */
static uint64_t *mine_of(const struct shared *s, const char *key)
{
    const struct sk_ska_class want = {.key = (char *)(uintptr_t)key}, *one = &want,
                              **found = bsearch(&one, s->sorted, s->before->class_count, sizeof *s->sorted, by_key);
    return found ? &s->mine[*found - s->before->classes] : NULL;
}

/* Of the blocks before the one that has most of the classes of block i, as far as these are as long there; 0: none, else its number and 1. */
static uint32_t most_shared(const struct shared *s, const struct sk_ska *a, size_t i)
{
    const struct sk_ska_block *b = &a->blocks[i];
    uint32_t found = 0;
    uint64_t most = 0;
    for (int add = 1; add >= 0; add--) {
        for (uint32_t k = 0; k < b->count; k++) {
            uint64_t *mine = mine_of(s, a->classes[a->parts[b->first + k].class].key);
            if (mine)
                *mine = add ? *mine + a->parts[b->first + k].size_bytes : 0;
        }
        for (size_t n = 0; n < s->before->block_count && add; n++) {
            const struct sk_ska_block *below = &s->before->blocks[n];
            uint64_t both = 0;
            for (uint32_t k = 0; k < below->count; k++) {
                const struct sk_ska_part *p = &s->before->parts[below->first + k];
                both += p->size_bytes < s->mine[p->class] ? p->size_bytes : s->mine[p->class];
            }
            found = both > most ? (uint32_t)n + 1 : found;
            most = both > most ? both : most;
        }
    }
    return found;
}

/* A class with few of all bytes is not worth needing another archive for; variables have many classes. Where that one is needed already, few are those of what is
 * not there as it is. */
int sk_previous_match(struct sk_ska *a, const struct sk_ska *previous)
{
    struct shared shared;
    uint64_t all = 0, open = 0, *total = calloc(a->class_count + 1, sizeof *total), *before = calloc(a->class_count + 1, sizeof *before);
    int rc = shared_new(&shared, previous), needed = 0;
    rc = total && before ? rc : SAIKAI_ENOMEM;
    for (size_t i = 0; i < a->block_count && !rc; i++) {
        int64_t c = key_class(a, i);
        needed |= a->blocks[i].previous != 0;
        all += a->blocks[i].size_bytes;
        open += a->blocks[i].previous ? 0 : a->blocks[i].size_bytes;
        if (c >= 0)
            total[c] += a->blocks[i].size_bytes;
    }
    all = needed ? open : all;
    for (size_t i = 0; i < a->block_count && !rc; i++) {
        int64_t c = key_class(a, i);
        uint64_t n = a->blocks[i].size_bytes;
        if (c < 0 || a->blocks[i].previous || a->blocks[i].own) /* some take from others already */
            continue;
        if (total[c] >= all / (a->classes[c].type == SAIKAI_U8 ? LEAST_SHARE : LEAST_SHARE_NUMBERS) &&
            !(a->blocks[i].previous = block_at(previous, a->classes[c].key, before[c] + n / 2)))
            a->blocks[i].previous = most_shared(&shared, a, i);
        before[c] += n;
    }
    shared_free(&shared);
    free(total);
    free(before);
    return rc;
}

uint32_t sk_previous_home(const struct sk_ska *previous, const char *key)
{
    const struct sk_ska_class bytes = {(char *)(uintptr_t)key, SAIKAI_U8, 0, 0};
    int64_t class = sk_ska_find_class(previous, &bytes);
    uint32_t found = 0;
    uint64_t most = 0;
    for (size_t b = 0; b < previous->block_count && class >= 0; b++)
        for (uint32_t k = 0; k < previous->blocks[b].count; k++) {
            const struct sk_ska_part *p = &previous->parts[previous->blocks[b].first + k];
            if (p->class == class && p->size_bytes > most) {
                most = p->size_bytes;
                found = (uint32_t)b + 1;
            }
        }
    return found;
}
