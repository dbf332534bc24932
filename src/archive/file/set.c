/* Finds, names and removes sets of archives in a directory. What a newer set builds on stays. */
#include "archive/file/set.h"

#include "archive/file/ska.h"
#include "archive/file/target.h"
#include "base/file/io.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_PARTS = 1 << 20 };

struct entry {
    struct sk_ska_set set;
    int part;
};

static int parse(const char *name, struct entry *e)
{
    unsigned long long number;
    int part, parts, end = 0;
    if (sscanf(name, "set-%20llu.%7d-of-%7d.ska%n", &number, &part, &parts, &end) != 3 || !end ||
        name[end] || part < 1 || part > parts || parts > MAX_PARTS)
        return -1;
    *e = (struct entry){{number, parts}, part};
    return 0;
}

static int by_set(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int c = SK_ORDER_BY(a->set.number, b->set.number, a->set.parts, b->set.parts);
    return c ? c : SK_ORDER(a->part, b->part);
}

static int list(const char *dir, struct entry **out, size_t *count, struct saikai_error *err)
{
    struct entry *l = NULL, e;
    size_t n = 0, cap = 0;
    DIR *d = opendir(dir);
    int rc = 0;
    if (!d)
        return sk_fail_errno(err, errno, "cannot list %s", dir);
    for (struct dirent *f; !rc && (f = readdir(d));) {
        if (parse(f->d_name, &e))
            continue;
        if (n == cap) {
            struct entry *more = realloc(l, (cap = cap ? 2 * cap : 64) * sizeof *l);
            if (!more) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", dir);
                break;
            }
            l = more;
        }
        l[n++] = e;
    }
    closedir(d);
    if (rc) {
        free(l);
        return rc;
    }
    if (n)
        qsort(l, n, sizeof *l, by_set);
    *out = l;
    *count = n;
    return 0;
}

/* A directory that is not there holds nothing. */
static int list_if_there(const char *dir, struct entry **out, size_t *count,
                         struct saikai_error *err)
{
    struct saikai_error why = {0};
    *out = NULL;
    *count = 0;
    int rc = list(dir, out, count, &why);
    if (rc == SAIKAI_ENOENT)
        return 0;
    if (rc && err)
        *err = why;
    return rc;
}

/* The newest whole set of a list; without one, if wanted, the newest. parts 0: none. */
static struct sk_ska_set newest(const struct entry *l, size_t n, int whole)
{
    struct sk_ska_set best = {0}, last = {0};
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1;
             k < n && l[k].set.number == l[i].set.number && l[k].set.parts == l[i].set.parts;)
            k++;
        last = l[i].set;
        if (k - i == (size_t)last.parts)
            best = last;
    }
    return best.parts || whole ? best : last;
}

int sk_ska_set_newest(const char *dir, struct sk_ska_set *out, struct saikai_error *err)
{
    struct entry *l;
    size_t n;
    int rc = list(dir, &l, &n, err);
    if (rc)
        return rc;
    struct sk_ska_set set = newest(l, n, 1);
    free(l);
    if (!set.parts)
        return sk_fail(err, SAIKAI_ENOENT, "%s holds no whole set of archives%s", dir,
                       n ? ": parts are missing" : "");
    *out = set;
    return 0;
}

int sk_ska_set_look(const char *dir, struct sk_ska_set *out, struct saikai_error *err)
{
    struct entry *l;
    size_t n;
    int rc = list_if_there(dir, &l, &n, err);
    if (rc)
        return rc;
    *out = newest(l, n, 0);
    free(l);
    return 0;
}

int sk_ska_set_next(const char *dir, uint64_t *number, struct saikai_error *err)
{
    struct entry *l;
    size_t n;
    int rc = list_if_there(dir, &l, &n, err);
    if (rc)
        return rc;
    *number = n ? l[n - 1].set.number + 1 : 1;
    free(l);
    return 0;
}

int sk_ska_set_path(const struct sk_ska_set *s, const char *dir, int part, char *out, size_t cap,
                    struct saikai_error *err)
{
    return sk_io_path(out, cap, err, "%s/set-%06llu.%d-of-%d.ska", dir,
                      (unsigned long long)s->number, part, s->parts);
}

/* ---- what others build on ---- */

/* Mark the archives that the one at `path` builds on, all the way down. */
static int mark_needed(const char *dir, const char *path, const struct entry *l, size_t n,
                       uint8_t *needed, struct saikai_error *err)
{
    char at[4096];
    int rc = sk_io_path(at, sizeof at, err, "%s", path);
    for (int depth = 0; !rc && depth <= SK_SKA_MAX_DEPTH; depth++) {
        struct sk_ska a = {0};
        struct entry e;
        rc = sk_archive_open(at, &a, err);
        if (rc || !a.previous) {
            sk_ska_free(&a);
            break;
        }
        size_t i = n;
        if (!parse(a.previous, &e))
            for (i = 0; i < n && by_set(&l[i], &e); i++)
                ;
        if (i < n && needed[i]) { /* and what that one builds on */
            sk_ska_free(&a);
            break;
        }
        if (i < n)
            needed[i] = 1;
        rc = sk_io_path(at, sizeof at, err, "%s/%s", dir, a.previous);
        sk_ska_free(&a);
    }
    return rc;
}

static int find_needed(const char *dir, const struct sk_ska_set *whole, const struct entry *l,
                       size_t n, uint8_t *needed, struct saikai_error *err)
{
    char path[4096];
    int rc = 0;
    for (int k = 1; k <= whole->parts && !rc; k++) {
        rc = sk_ska_set_path(whole, dir, k, path, sizeof path, err);
        if (!rc)
            rc = mark_needed(dir, path, l, n, needed, err);
    }
    return rc;
}

int sk_ska_set_clean(const char *dir, const struct sk_ska_set *whole, int chained,
                     struct saikai_error *err)
{
    struct entry *l;
    size_t n;
    char path[4096];
    sk_target_sweep(dir, "set-");
    if (!whole)
        return 0;
    int rc = list(dir, &l, &n, err);
    if (rc)
        return rc;
    uint8_t *needed = calloc(n, 1);
    if (!needed)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", dir);
    else if (chained)
        rc = find_needed(dir, whole, l, n, needed, err);
    for (size_t i = n; i-- > 0 && !rc;) /* what builds on others before these */
        if (l[i].set.number < whole->number && !needed[i] &&
            !(rc = sk_ska_set_path(&l[i].set, dir, l[i].part, path, sizeof path, err)))
            rc = sk_io_unlink(path, err);
    free(needed);
    free(l);
    return rc;
}

/* An archive of a set, or what will be one. */
static int is_trace(const char *name)
{
    return !strncmp(name, "set-", 4);
}

int sk_ska_set_traces(const char *dir)
{
    DIR *d = opendir(dir);
    int found = 0;
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = is_trace(e->d_name);
    if (d)
        closedir(d);
    return found;
}

int sk_ska_set_remove(const char *dir, struct saikai_error *err)
{
    char path[4096];
    DIR *d = opendir(dir);
    int rc = 0;
    for (struct dirent *e; !rc && d && (e = readdir(d));)
        if (is_trace(e->d_name) &&
            !(rc = sk_io_path(path, sizeof path, err, "%s/%s", dir, e->d_name)))
            rc = sk_io_unlink(path, err);
    if (d)
        closedir(d);
    if (!rc)
        sk_io_rmdir(dir, NULL); /* fails while there is anything else in it, and then it stays */
    return rc;
}

int sk_ska_builds_on(const char *path, char *name, size_t cap, struct saikai_error *err)
{
    const char *slash = strrchr(path, '/'), *own = slash ? slash + 1 : path;
    char dir[4096], other[4096];
    struct sk_ska a = {0}, b = {0};
    int found = 0, rc = sk_io_path(dir, sizeof dir, err, "%.*s",
                                   slash ? (int)(slash - path) + 1 : 2, slash ? path : "./");
    DIR *d = rc || sk_archive_open(path, &a, NULL) ? NULL : opendir(dir);
    for (struct dirent *f; d && !rc && !found && (f = readdir(d));) {
        size_t n = strlen(f->d_name);
        if (n < 4 || strcmp(f->d_name + n - 4, ".ska") || !strcmp(f->d_name, own))
            continue;
        rc = sk_io_path(other, sizeof other, err, "%s%s", dir, f->d_name);
        if (rc || sk_archive_open(other, &b, NULL))
            continue;
        found = b.previous && !strcmp(b.previous, own) && b.previous_hash == a.hash;
        if (found)
            snprintf(name, cap, "%s", f->d_name);
        sk_ska_free(&b);
    }
    if (d)
        closedir(d);
    sk_ska_free(&a);
    return rc ? rc : found;
}

int sk_ska_set_find(const char *path, struct sk_ska_set *out, struct saikai_error *err)
{
    struct stat st;
    if (stat(path, &st))
        return sk_fail_errno(err, errno, "cannot read %s", path);
    if (S_ISDIR(st.st_mode))
        return sk_ska_set_newest(path, out, err);
    *out = (struct sk_ska_set){0};
    return 0;
}
