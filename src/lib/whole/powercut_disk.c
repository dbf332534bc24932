/* Files and directories, each as it is seen now and as it is on the disk for sure. */
#include "lib/whole/powercut_disk.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096, MOST_NODES = 4096, MOST_CHANGES = 4096, NOTHING = -1, TOP = 0 };

struct bytes {
    uint8_t *p;
    size_t n;
};

struct node {
    uint64_t inode; /* the system's number, 0: removed or not known any more */
    int is_dir;
    struct bytes now, synced; /* of a file */
};

/* A name of a directory gets another node, or NOTHING. */
struct change {
    int dir, node, with; /* with: 1: the next change is part of this one */
    char *name;
};

struct names {
    struct change *c;
    int count, most;
};

struct powercut_disk {
    struct node node[MOST_NODES];
    int nodes;
    struct names now, synced, pending;
};

static int add(struct names *l, int dir, const char *name, int node, int with)
{
    if (l->count == l->most) {
        int most = l->most ? 2 * l->most : 64;
        struct change *p = realloc(l->c, (size_t)most * sizeof *p);
        if (!p)
            return -1;
        l->c = p;
        l->most = most;
    }
    l->c[l->count] = (struct change){dir, node, with, strdup(name)};
    return l->c[l->count].name ? l->count++ : -1;
}

static void drop(struct names *l, int i)
{
    free(l->c[i].name);
    memmove(&l->c[i], &l->c[i + 1], (size_t)(--l->count - i) * sizeof *l->c);
}

static int find(const struct names *l, int dir, const char *name)
{
    for (int i = 0; i < l->count; i++)
        if (l->c[i].dir == dir && !strcmp(l->c[i].name, name))
            return i;
    return -1;
}

static int set(struct names *l, int dir, const char *name, int node)
{
    int i = find(l, dir, name);
    if (i >= 0)
        drop(l, i);
    return node == NOTHING ? 0 : add(l, dir, name, node, 0);
}

static void names_free(struct names *l)
{
    while (l->count)
        drop(l, l->count - 1);
    free(l->c);
    *l = (struct names){0};
}

struct powercut_disk *powercut_disk_new(void)
{
    struct powercut_disk *d = calloc(1, sizeof *d);
    if (d) {
        d->nodes = 1;
        d->node[TOP].is_dir = 1;
    }
    return d;
}

void powercut_disk_free(struct powercut_disk *d)
{
    for (int i = 0; d && i < d->nodes; i++) {
        free(d->node[i].now.p);
        free(d->node[i].synced.p);
    }
    if (d) {
        names_free(&d->now);
        names_free(&d->synced);
        names_free(&d->pending);
    }
    free(d);
}

/* The directory and the last name of a path as things are now. */
static int resolve(const struct powercut_disk *d, const char *path, int *dir, char name[NAME_MAX + 1])
{
    *dir = TOP;
    for (;;) {
        const char *slash = strchr(path, '/');
        size_t n = slash ? (size_t)(slash - path) : strlen(path);
        if (n > NAME_MAX)
            return -1;
        memcpy(name, path, n);
        name[n] = 0;
        if (!slash)
            return 0;
        int i = find(&d->now, *dir, name);
        if (i < 0)
            return -1;
        *dir = d->now.c[i].node;
        path = slash + 1;
    }
}

static int known(const struct powercut_disk *d, uint64_t inode)
{
    for (int i = d->nodes - 1; i >= 0; i--)
        if (d->node[i].inode == inode)
            return i;
    return -1;
}

static int resize(struct bytes *b, size_t n)
{
    uint8_t *p = realloc(b->p, n + 1);
    if (!p)
        return -1;
    if (n > b->n)
        memset(p + b->n, 0, n - b->n);
    *b = (struct bytes){p, n};
    return 0;
}

static int put(struct bytes *b, size_t at, const uint8_t *data, size_t n)
{
    if (b->n < at + n && resize(b, at + n))
        return -1;
    if (n)
        memcpy(b->p + at, data, n);
    return 0;
}

static int change_name(struct powercut_disk *d, const char *path, int node, int with)
{
    char name[NAME_MAX + 1];
    int dir;
    if (resolve(d, path, &dir, name) || add(&d->pending, dir, name, node, with) < 0)
        return -1;
    return set(&d->now, dir, name, node) < 0 ? -1 : 0;
}

static int make(struct powercut_disk *d, const struct powercut_event *e)
{
    if (d->nodes == MOST_NODES)
        return -1;
    int old = known(d, e->inode); /* the system gave the number of a removed file to this one */
    if (old >= 0)
        d->node[old].inode = 0;
    d->node[d->nodes] = (struct node){.inode = e->inode, .is_dir = e->op == POWERCUT_MKDIR};
    return change_name(d, e->path, d->nodes++, 0);
}

static int rename_node(struct powercut_disk *d, const struct powercut_event *e)
{
    char name[NAME_MAX + 1];
    int dir, i = resolve(d, e->path, &dir, name) ? -1 : find(&d->now, dir, name);
    if (i < 0)
        return -1;
    int node = d->now.c[i].node;
    return change_name(d, e->path2, node, 1) || change_name(d, e->path, NOTHING, 0) ? -1 : 0;
}

/* Which changes there are with those that are marked: a change needs all earlier ones of its names, and both sides of a rename are one. */
static void close_marks(const struct names *p, char *marked)
{
    for (int more = 1; more;) {
        more = 0;
        for (int i = 0; i < p->count; i++) {
            int other = p->c[i].with ? i + 1 : i && p->c[i - 1].with ? i - 1 : i;
            if (marked[i] && !marked[other])
                marked[other] = 1, more = 1;
            for (int k = 0; marked[i] && k < i; k++)
                if (!marked[k] && p->c[k].dir == p->c[i].dir && !strcmp(p->c[k].name, p->c[i].name))
                    marked[k] = 1, more = 1;
        }
    }
}

static int sync_dir(struct powercut_disk *d, int dir)
{
    struct names *p = &d->pending;
    char *marked = calloc((size_t)p->count + 1, 1);
    int rc = marked ? 0 : -1;
    for (int i = 0; !rc && i < p->count; i++)
        marked[i] = p->c[i].dir == dir;
    if (!rc)
        close_marks(p, marked);
    for (int i = 0; !rc && i < p->count; i++)
        if (marked[i] && set(&d->synced, p->c[i].dir, p->c[i].name, p->c[i].node) < 0)
            rc = -1;
    for (int i = p->count - 1; !rc && i >= 0; i--)
        if (marked[i])
            drop(p, i);
    free(marked);
    return rc;
}

static int sync_node(struct powercut_disk *d, int i)
{
    struct node *f = &d->node[i];
    if (f->is_dir)
        return sync_dir(d, i);
    f->synced.n = 0;
    return put(&f->synced, 0, f->now.p, f->now.n);
}

int powercut_disk_apply(struct powercut_disk *d, const struct powercut_event *e)
{
    int i = e->inode ? known(d, e->inode) : -1;
    switch (e->op) {
    case POWERCUT_CREATE:
    case POWERCUT_MKDIR:
        return make(d, e);
    case POWERCUT_WRITE:
        return i < 0 ? -1 : put(&d->node[i].now, (size_t)e->at, e->data, e->n);
    case POWERCUT_CONTENT:
        return i < 0 || resize(&d->node[i].now, e->n) ? -1 : put(&d->node[i].now, 0, e->data, e->n);
    case POWERCUT_SIZE:
        return i < 0 ? -1 : resize(&d->node[i].now, (size_t)e->at);
    case POWERCUT_SYNC: /* of the top itself, which is nobody's child, when its number is not known */
        return i < 0 ? sync_node(d, TOP) : sync_node(d, i);
    case POWERCUT_RENAME:
        return rename_node(d, e);
    case POWERCUT_UNLINK:
    case POWERCUT_RMDIR:
        return change_name(d, e->path, NOTHING, 0);
    case POWERCUT_MARK:
        return 0;
    }
    return -1;
}

static int same(const struct bytes *a, const struct bytes *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

int powercut_disk_is_settled(const struct powercut_disk *d)
{
    for (int i = 0; i < d->nodes; i++)
        if (!same(&d->node[i].now, &d->node[i].synced))
            return 0;
    return !d->pending.count;
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static const struct powercut_event *content_coming(const struct powercut_choice *c, uint64_t inode)
{
    for (long i = 0; inode && i < c->coming_count; i++) {
        const struct powercut_event *e = &c->coming[i];
        if (e->inode != inode)
            continue;
        if (e->op == POWERCUT_CONTENT)
            return e;
        if (e->op == POWERCUT_CREATE || e->op == POWERCUT_MKDIR || e->op == POWERCUT_SIZE)
            return NULL;
    }
    return NULL;
}

/* What may be left of a file, in *out (to be freed). */
static int left_of(const struct node *f, const struct powercut_choice *c, uint64_t seed, struct bytes *out)
{
    const struct powercut_event *coming = content_coming(c, f->inode);
    enum powercut_data how = c->data;
    seed ^= c->seed * 0x9e3779b97f4a7c15u;
    next(&seed);
    if (how == POWERCUT_ANY_DATA)
        how = (enum powercut_data)(next(&seed) % POWERCUT_ANY_DATA);
    int as_synced = how == POWERCUT_SYNCED_DATA || (same(&f->now, &f->synced) && !coming);
    const struct bytes *from = as_synced || how != POWERCUT_ALL_DATA ? &f->synced : &f->now;
    if (put(out, 0, from->p, from->n) || as_synced || how == POWERCUT_ALL_DATA)
        return out->p || !from->n ? 0 : -1;
    size_t n = f->now.n, old = f->synced.n, least = n < old ? n : old;
    if (how == POWERCUT_SOME_BLOCKS && next(&seed) % 4 == 0)
        n = least + next(&seed) % ((n > old ? n : old) - least + 1);
    if (resize(out, n))
        return -1;
    for (size_t at = 0; how == POWERCUT_SOME_BLOCKS && at < n; at += BLOCK) {
        size_t len = n - at < BLOCK ? n - at : BLOCK, have = next(&seed) % 3;
        if (have == 1 && f->now.n >= at + len)
            memcpy(out->p + at, f->now.p + at, len);
        else if (have == 2 && coming && coming->n >= at + len)
            memcpy(out->p + at, coming->data + at, len);
    }
    return 0;
}

struct writing {
    struct powercut_disk *d;
    const struct powercut_choice *c;
    struct names names;
    uint64_t hash;
};

static void mix(struct writing *w, const void *data, size_t n)
{
    w->hash = (w->hash ^ sk_hash64(data, n)) * 0x9e3779b97f4a7c15u;
}

static int write_file(struct writing *w, int node, const char *path)
{
    struct bytes b = {0};
    int rc = left_of(&w->d->node[node], w->c, (uint64_t)node, &b), fd = -1;
    if (!rc)
        mix(w, b.p ? b.p : (const uint8_t *)"", b.n);
    if (!rc && path) {
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        rc = fd >= 0 && write(fd, b.p, b.n) == (ssize_t)b.n ? 0 : -1;
    }
    if (fd >= 0)
        close(fd);
    free(b.p);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->dir != y->dir ? x->dir - y->dir : strcmp(x->name, y->name);
}

static int write_dir(struct writing *w, int dir, const char *path, int depth)
{
    char sub[PATH_MAX];
    for (int i = 0; i < w->names.count; i++) {
        const struct change *c = &w->names.c[i];
        if (c->dir != dir || (depth == 0 && w->c->without && !strcmp(c->name, w->c->without)))
            continue;
        if (depth > 16 || (path && snprintf(sub, sizeof sub, "%s/%s", path, c->name) >= (int)sizeof sub))
            return -1;
        mix(w, c->name, strlen(c->name));
        mix(w, &depth, sizeof depth);
        if (!w->d->node[c->node].is_dir) {
            if (write_file(w, c->node, path ? sub : NULL))
                return -1;
        } else if ((path && mkdir(sub, 0700)) || write_dir(w, c->node, path ? sub : NULL, depth + 1)) {
            return -1;
        }
    }
    return 0;
}

/* The names that are left: those synced, and of the later changes all, none or some. */
static int choose_names(struct writing *w)
{
    const struct names *p = &w->d->pending;
    uint64_t seed = w->c->seed;
    char *marked = calloc((size_t)p->count + 1, 1);
    int rc = marked ? 0 : -1;
    for (int i = 0; !rc && i < w->d->synced.count; i++) {
        const struct change *c = &w->d->synced.c[i];
        rc = add(&w->names, c->dir, c->name, c->node, 0) < 0 ? -1 : 0;
    }
    for (int i = 0; !rc && i < p->count; i++)
        marked[i] = w->c->names == POWERCUT_ALL_NAMES || (w->c->names == POWERCUT_SOME_NAMES && next(&seed) % 2);
    if (!rc)
        close_marks(p, marked);
    for (int i = 0; !rc && i < p->count; i++)
        if (marked[i])
            rc = set(&w->names, p->c[i].dir, p->c[i].name, p->c[i].node) < 0 ? -1 : 0;
    free(marked);
    if (!rc && w->names.count)
        qsort(w->names.c, (size_t)w->names.count, sizeof *w->names.c, by_name);
    return rc;
}

int powercut_disk_write(struct powercut_disk *d, const struct powercut_choice *c, const char *dir, uint64_t *hash)
{
    struct writing w = {.d = d, .c = c, .hash = 1};
    int rc = choose_names(&w);
    if (!rc)
        rc = write_dir(&w, TOP, dir, 0);
    names_free(&w.names);
    *hash = w.hash;
    return rc;
}
