/* Names and paths of generations, listing a directory's, and committing and removing a rank's
 * file. */
#include "store/gen.h"

#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int64_t sk_gen_key(struct sk_gen g)
{
    return (int64_t)g.incarnation << 48 | g.iteration << 6 | g.place;
}

struct sk_gen sk_gen_of_key(int64_t key)
{
    return (struct sk_gen){(uint32_t)(key >> 48), key >> 6 & SK_GEN_MAX_ITERATION, key & 63};
}

char *sk_gen_name(struct sk_gen g, char out[48])
{
    snprintf(out, 48, "gen-%04u-%012lld-%u", g.incarnation, (long long)g.iteration, g.place);
    return out;
}

int sk_gen_parse(const char *name, struct sk_gen *g)
{
    unsigned incarnation, place;
    long long iteration;
    char back[48];
    if (sscanf(name, "gen-%5u-%13lld-%2u", &incarnation, &iteration, &place) != 3)
        return -1;
    if (!incarnation || incarnation > SK_GEN_MAX_INCARNATION || iteration < 0 ||
        iteration > SK_GEN_MAX_ITERATION || place > SK_GEN_MAX_PLACE)
        return -1;
    struct sk_gen x = {incarnation, iteration, place};
    if (strcmp(sk_gen_name(x, back), name))
        return -1;
    *g = x;
    return 0;
}

int sk_gen_dir(const char *root, struct sk_gen g, char *out, size_t cap, struct saikai_error *err)
{
    char name[48];
    return sk_io_path(out, cap, err, "%s/%s", root, sk_gen_name(g, name));
}

int sk_gen_file(const char *root, struct sk_gen g, int rank, char *out, size_t cap,
                struct saikai_error *err)
{
    char name[48], file[32];
    return sk_io_path(out, cap, err, "%s/%s/%s", root, sk_gen_name(g, name), sk_gen_file_name(rank, file));
}

char *sk_gen_file_name(int rank, char out[32])
{
    snprintf(out, 32, "rank-%06d.skc", rank);
    return out;
}

int sk_gen_file_rank(const char *name)
{
    int rank, end = 0;
    return sscanf(name, "rank-%9d.skc%n", &rank, &end) == 1 && end && !name[end] && rank >= 0 ? rank : -1;
}

static int newest_first(const void *a, const void *b)
{
    int64_t x = sk_gen_key(*(const struct sk_gen *)a), y = sk_gen_key(*(const struct sk_gen *)b);
    return SK_ORDER(y, x);
}

/* sk_gen_scan's: the file of this rank, or of any. */
static int holds(void *arg, const char *root, struct sk_gen g)
{
    char path[PATH_MAX];
    int rank = *(const int *)arg;
    if (rank >= 0)
        return !sk_gen_file(root, g, rank, path, sizeof path, NULL) && !access(path, F_OK);
    if (sk_gen_dir(root, g, path, sizeof path, NULL))
        return 0;
    DIR *d = opendir(path);
    int found = 0;
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = sk_gen_file_rank(e->d_name) >= 0;
    if (d)
        closedir(d);
    return found;
}

/* It is there, and nobody can say what is in it. */
static void note_hidden(struct sk_gen_list *l, const char *root, struct sk_gen g)
{
    char dir[PATH_MAX];
    struct saikai_error err;
    if (sk_gen_dir(root, g, dir, sizeof dir, &err) || (l->hidden_errno && sk_gen_key(l->hidden) >= sk_gen_key(g)))
        return;
    DIR *d = opendir(dir);
    int why = d ? access(dir, X_OK) ? errno : 0 : errno;
    if (d)
        closedir(d);
    if (why && why != ENOENT) { /* it may just have been removed */
        l->hidden = g;
        l->hidden_errno = why;
    }
}

int sk_gen_scan_if(const char *root, int (*wants)(void *arg, const char *root, struct sk_gen g), void *arg,
                   struct sk_gen_list *out, struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    size_t cap = 0;
    int rc = 0;
    DIR *d = sk_io_opendir(root);
    if (!d && errno != ENOENT)
        return sk_fail_at(err, errno, root, "cannot read directory %s", root);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct sk_gen g;
        if (sk_gen_parse(e->d_name, &g))
            continue;
        if (!wants(arg, root, g)) {
            note_hidden(&l, root, g);
            continue;
        }
        if (l.count == cap) {
            cap = cap ? 2 * cap : 16;
            struct sk_gen *p = realloc(l.gen, cap * sizeof *p);
            if (!p) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", root);
                break;
            }
            l.gen = p;
        }
        l.gen[l.count++] = g;
    }
    if (d)
        closedir(d);
    if (rc) {
        free(l.gen);
        return rc;
    }
    if (l.count)
        qsort(l.gen, l.count, sizeof *l.gen, newest_first);
    *out = l;
    return 0;
}

int sk_gen_scan(const char *root, int rank, struct sk_gen_list *out, struct saikai_error *err)
{
    return sk_gen_scan_if(root, holds, &rank, out, err);
}

static int growing(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return SK_ORDER(x, y);
}

int sk_gen_ranks(const char *root, struct sk_gen g, int **ranks, size_t *count, struct saikai_error *err)
{
    char path[PATH_MAX];
    size_t n = 0, cap = 64;
    int rc = sk_gen_dir(root, g, path, sizeof path, err), *list = malloc(cap * sizeof *list);
    DIR *d = rc || !list ? NULL : opendir(path);
    for (struct dirent *e; d && list && (e = readdir(d));) {
        int rank = sk_gen_file_rank(e->d_name);
        if (rank < 0)
            continue;
        if (n == cap) {
            int *p = realloc(list, 2 * cap * sizeof *p);
            if (!p)
                free(list);
            list = p;
            cap *= 2;
        }
        if (list)
            list[n++] = rank;
    }
    if (d)
        closedir(d);
    if (!rc && !list)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", path);
    if (rc) {
        free(list);
        return rc;
    }
    qsort(list, n, sizeof *list, growing);
    *ranks = list;
    *count = n;
    return 0;
}

void sk_gen_list_free(struct sk_gen_list *l)
{
    free(l->gen);
    *l = (struct sk_gen_list){0};
}

int sk_gen_commit(const char *root, struct sk_gen g, int rank, const char *tmp_path, int sync,
                  struct saikai_error *err)
{
    char path[PATH_MAX], dir[PATH_MAX];
    int rc = sk_gen_dir(root, g, dir, sizeof dir, err);
    if (!rc)
        rc = sk_gen_file(root, g, rank, path, sizeof path, err);
    if (!rc && sync) {
        int fd = sk_io_open(tmp_path, O_RDONLY, 0, err);
        if (fd < 0)
            return fd;
        rc = sk_io_fsync(fd, tmp_path, err);
        close(fd);
    }
    if (rc)
        return rc;
    /* the directory may vanish between mkdir and rename when another rank of this node retires its file: try again */
    for (int tries = 0;; tries++) {
        rc = sk_io_mkdirs(dir, err);
        if (rc)
            return rc;
        rc = sk_io_rename(tmp_path, path, err);
        if (rc != SAIKAI_ENOENT || tries == 3 || access(tmp_path, F_OK))
            break;
    }
    if (!rc && sync)
        rc = sk_io_fsync_parent(path, err);
    if (!rc && sync)
        rc = sk_io_fsync_parent(dir, err);
    return rc;
}

int sk_gen_remove(const char *root, struct sk_gen g, int rank, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_gen_file(root, g, rank, path, sizeof path, err);
    if (!rc)
        rc = sk_io_unlink(path, err);
    if (!rc && !sk_gen_dir(root, g, path, sizeof path, NULL))
        sk_io_rmdir(path, NULL); /* fails while other ranks have files there, and then it stays */
    return rc;
}

int sk_gen_remove_all(const char *root, struct sk_gen g, struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_gen_dir(root, g, path, sizeof path, err);
    return rc ? rc : sk_io_rmtree(path, err);
}
