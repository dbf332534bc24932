/* Finds the containers of a generation among files and in the archives of its set, and opens each
 * of them alike. */
#include "archive/read/content.h"

#include "base/file/io.h"
#include "base/order.h"
#include "store/gen.h"
#include "store/form/lineage.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sk_content_rest(struct sk_content *c)
{
    sk_inside_release(c->inside);
    c->inside = NULL;
}

void sk_content_free(struct sk_content *c)
{
    if (!c)
        return;
    sk_content_rest(c);
    for (size_t i = 0; i < c->troubles; i++) {
        free(c->trouble[i].path);
        free(c->trouble[i].text);
    }
    free(c->trouble);
    free(c->ranks);
    free(c->at);
    free(c->root);
    free(c->file);
    free(c);
}

static struct sk_content *new_content(const char *root)
{
    struct sk_content *c = calloc(1, sizeof *c);
    if (c && !(c->root = strdup(root))) {
        free(c);
        c = NULL;
    }
    return c;
}

/* ---- what is there ---- */

static int add_rank(struct sk_content *c, int rank, size_t at, struct saikai_error *err)
{
    if (!(c->count & (c->count - 1)) && (c->count >= 64 || !c->count)) { /* 64, 128, 256 … */
        size_t cap = c->count ? 2 * c->count : 64;
        int *ranks = realloc(c->ranks, cap * sizeof *ranks);
        if (ranks)
            c->ranks = ranks;
        size_t *places = realloc(c->at, cap * sizeof *places);
        if (places)
            c->at = places;
        if (!ranks || !places)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %zu ranks", cap);
    }
    c->ranks[c->count] = rank;
    c->at[c->count++] = at;
    return 0;
}

static int list_files(struct sk_content *c, const char *dir, struct saikai_error *err)
{
    DIR *d = opendir(dir);
    int rc = 0;
    for (struct dirent *e; !rc && d && (e = readdir(d));) {
        struct stat st;
        int rank = sk_gen_file_rank(e->d_name);
        if (rank < 0 || fstatat(dirfd(d), e->d_name, &st, 0))
            continue;
        rc = add_rank(c, rank, 0, err);
        c->bytes += (uint64_t)st.st_size;
        c->stored_bytes += (uint64_t)st.st_size;
        c->forms |= SK_CONTENT_FILES;
    }
    if (d)
        closedir(d);
    return rc;
}

static int add_trouble(struct sk_content *c, const char *path, int missing, const char *text,
                       struct saikai_error *err)
{
    struct sk_content_trouble *t = realloc(c->trouble, (c->troubles + 1) * sizeof *t);
    if (t) {
        c->trouble = t;
        t += c->troubles++;
        *t = (struct sk_content_trouble){strdup(path), strdup(text), missing};
    }
    return t && t->path && t->text ? 0
                                   : sk_fail(err, SAIKAI_ENOMEM, "no memory to look at %s", path);
}

/* Open the archives of the set. The first time what is wrong with them is noted. */
static int open_archives(struct sk_content *c, int first, struct saikai_error *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    int rc = sk_gen_dir(c->root, c->gen, dir, sizeof dir, err);
    if (!rc)
        rc = sk_inside_new(c->memory_bytes, &c->inside, err);
    for (int k = 1; !rc && k <= c->set.parts; k++) {
        struct saikai_error why = {0};
        struct stat st;
        rc = sk_ska_set_path(&c->set, dir, k, path, sizeof path, err);
        int bad = rc ? rc : sk_inside_add(c->inside, path, &why);
        if (bad == SAIKAI_ENOMEM && !rc) {
            rc = bad;
            if (err)
                *err = why;
        } else if (first && bad && !rc) {
            rc = add_trouble(c, path, bad == SAIKAI_ENOENT, why.text, err);
        }
        if (first && !rc && !stat(path, &st))
            c->stored_bytes += (uint64_t)st.st_size;
    }
    return rc;
}

struct entry {
    int rank;
    size_t at;
};

/* By rank; a file comes before the same rank's container in an archive. */
static int by_rank(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    return SK_ORDER_BY(a->rank, b->rank, a->at, b->at);
}

/* In order, each rank once. */
static int sort_ranks(struct sk_content *c, struct saikai_error *err)
{
    struct entry *e = calloc(c->count, sizeof *e);
    size_t n = 0;
    if (!e)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a list of %zu ranks", c->count);
    for (size_t i = 0; i < c->count; i++)
        e[i] = (struct entry){c->ranks[i], c->at[i]};
    if (c->count)
        qsort(e, c->count, sizeof *e, by_rank);
    for (size_t i = 0; i < c->count; i++) {
        c->forms |= e[i].at ? SK_CONTENT_ARCHIVES : 0;
        if (n && c->ranks[n - 1] == e[i].rank)
            continue;
        c->ranks[n] = e[i].rank;
        c->at[n++] = e[i].at;
        c->bytes += e[i].at ? sk_inside_size(c->inside, e[i].at - 1) : 0;
    }
    c->count = n;
    free(e);
    return 0;
}

static int read_header(struct sk_content *c, size_t i, struct sk_skc_header *h)
{
    char path[PATH_MAX];
    uint8_t head[SK_SKC_HEADER_BYTES];
    int rc;
    if (c->at[i]) {
        rc = sk_inside_read(c->inside, c->at[i] - 1, 0, head, sizeof head, NULL);
    } else {
        rc = sk_content_path(c, i, path, sizeof path, NULL);
        int fd = rc ? rc : sk_io_open(path, O_RDONLY, 0, NULL);
        if (fd < 0)
            return fd;
        rc = sk_io_pread(fd, path, head, sizeof head, 0, NULL);
        close(fd);
    }
    return rc ? rc : sk_skc_decode_header(head, sizeof head, h, NULL);
}

static void look_at_headers(struct sk_content *c)
{
    struct sk_skc_header h;
    size_t counted = 0;
    for (size_t i = 0; i < c->count && !c->nranks; i++)
        if (!read_header(c, i, &h) && h.nranks && h.nranks <= INT_MAX) {
            c->header = h;
            c->nranks = (int)h.nranks;
        }
    for (size_t i = 0; i < c->count; i++)
        counted += c->ranks[i] < c->nranks;
    c->complete = c->nranks > 0 && counted == (size_t)c->nranks;
}

int sk_content_load(const char *root, struct sk_gen g, uint64_t memory_bytes,
                    struct sk_content **out, struct saikai_error *err)
{
    char dir[PATH_MAX];
    struct sk_content *c = new_content(root);
    int rc = c ? sk_gen_dir(root, g, dir, sizeof dir, err)
               : sk_fail(err, SAIKAI_ENOMEM, "no memory to look into %s", root);
    if (!rc) {
        c->gen = g;
        c->memory_bytes = memory_bytes;
        rc = list_files(c, dir, err);
    }
    if (!rc)
        rc = sk_ska_set_look(dir, &c->set, err);
    if (!rc && c->set.parts)
        rc = open_archives(c, 1, err);
    for (size_t i = 0; !rc && c->inside && i < sk_inside_count(c->inside); i++) {
        int rank = sk_gen_file_rank(sk_inside_name(c->inside, i));
        rc = rank < 0 ? 0 : add_rank(c, rank, i + 1, err);
    }
    if (!rc)
        rc = sort_ranks(c, err);
    if (rc) {
        sk_content_free(c);
        return rc;
    }
    look_at_headers(c);
    sk_content_rest(c);
    *out = c;
    return 0;
}

int sk_content_of_file(const char *path, struct sk_content **out, struct saikai_error *err)
{
    char root[PATH_MAX]; /* what it builds on is beside its generation's directory */
    const char *slash = strrchr(path, '/');
    struct sk_skc_header h;
    struct stat st;
    int rc =
        sk_io_path(root, sizeof root, err, "%.*s..", slash ? (int)(slash - path) + 1 : 0, path);
    struct sk_content *c = rc ? NULL : new_content(root);
    if (!rc && (!c || !(c->file = strdup(path))))
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to look at %s", path);
    if (!rc)
        rc = add_rank(c, -1, 0, err);
    if (rc) {
        sk_content_free(c);
        return rc;
    }
    c->forms = SK_CONTENT_FILES;
    c->bytes = c->stored_bytes = stat(path, &st) ? 0 : (uint64_t)st.st_size;
    if (!read_header(c, 0, &h) && h.rank <= INT_MAX && h.nranks <= INT_MAX) {
        c->ranks[0] = (int)h.rank;
        c->nranks = (int)h.nranks;
        c->header = h;
        c->gen = (struct sk_gen){h.incarnation, h.iteration, h.place};
    }
    *out = c;
    return 0;
}

long sk_content_find(const struct sk_content *c, int rank)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->ranks[i] == rank)
            return (long)i;
    return -1;
}

/* ---- opening ---- */

int sk_content_path(struct sk_content *c, size_t i, char *out, size_t cap, struct saikai_error *err)
{
    if (c->file)
        return sk_io_path(out, cap, err, "%s", c->file);
    if (!c->at[i])
        return sk_gen_file(c->root, c->gen, c->ranks[i], out, cap, err);
    int rc = c->inside ? 0 : open_archives(c, 0, err);
    size_t k = c->at[i] - 1;
    if (rc)
        return rc;
    if (k >= sk_inside_count(c->inside) || sk_gen_file_rank(sk_inside_name(c->inside, k)) != c->ranks[i])
        return sk_fail(err, SAIKAI_ENOENT,
                       "the archives that rank %d was in were removed or replaced while they were "
                       "read",
                       c->ranks[i]);
    return sk_io_path(out, cap, err, "%s:%s", sk_inside_archive(c->inside, k),
                      sk_inside_name(c->inside, k));
}

/* A container in an archive. */
struct member {
    struct sk_inside *inside;
    size_t file;
};

static int read_member(void *arg, uint64_t at, void *data, size_t n, struct saikai_error *err)
{
    const struct member *m = arg;
    return sk_inside_read(m->inside, m->file, at, data, n, err);
}

static void close_member(void *arg)
{
    struct member *m = arg;
    sk_inside_release(m->inside);
    free(m);
}

int sk_content_open_alone(struct sk_content *c, size_t i, struct sk_container **out,
                          struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_content_path(c, i, path, sizeof path, err);
    if (rc || !c->at[i])
        return rc ? rc : sk_container_open(path, out, err);
    struct member *m = malloc(sizeof *m);
    if (!m)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to open %s", path);
    *m = (struct member){c->inside, c->at[i] - 1};
    sk_inside_share(c->inside);
    struct sk_container_source from = {read_member, close_member, m,
                                       sk_inside_size(m->inside, m->file)};
    return sk_container_open_from(path, &from, out, err);
}

/* sk_lineage_find: a file, else what an archive holds. */
static int find(void *arg, struct sk_gen g, int rank, struct sk_container **out,
                struct saikai_error *err)
{
    const struct sk_content *from = arg;
    struct sk_content *c = NULL;
    char path[PATH_MAX];
    int rc = sk_gen_file(from->root, g, rank, path, sizeof path, err);
    if (!rc)
        rc = sk_container_open(path, out, err);
    if (rc != SAIKAI_ENOENT)
        return rc;
    rc = sk_content_load(from->root, g, from->memory_bytes, &c, err);
    long i = rc ? -1 : sk_content_find(c, rank);
    if (!rc)
        rc = i < 0 ? SAIKAI_ENOENT : sk_content_open_alone(c, (size_t)i, out, err);
    sk_content_free(c);
    return rc;
}

int sk_content_open(struct sk_content *c, size_t i, struct sk_container **out,
                    struct saikai_error *err)
{
    struct sk_container *x = NULL;
    int rc = sk_content_open_alone(c, i, &x, err);
    return rc ? rc : sk_lineage_complete(x, find, c, out, err);
}

int sk_content_check_rest(struct sk_content *c,
                          int (*fault)(void *arg, const char *archive,
                                       const struct saikai_error *why),
                          void (*progress)(void *arg, uint64_t more_bytes), void *arg,
                          struct saikai_error *err)
{
    int rc = c->set.parts && !c->inside ? open_archives(c, 0, err) : 0;
    return rc || !c->inside ? rc : sk_inside_check_rest(c->inside, fault, progress, arg, err);
}

int sk_content_is_there(const struct sk_content *c, const struct sk_container *x)
{
    struct stat a, b;
    if (x->fd < 0)
        return !c->inside || sk_inside_is_there(c->inside);
    return !fstat(x->fd, &a) && !stat(x->path, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* ---- which generations ---- */

static int holds_something(void *arg, const char *root, struct sk_gen g)
{
    char dir[PATH_MAX];
    (void)arg;
    if (sk_gen_dir(root, g, dir, sizeof dir, NULL))
        return 0;
    DIR *d = opendir(dir);
    int found = 0;
    for (struct dirent *e; d && !found && (e = readdir(d));)
        found = sk_gen_file_rank(e->d_name) >= 0;
    if (d)
        closedir(d);
    return found || sk_ska_set_traces(dir);
}

int sk_content_scan(const char *root, struct sk_gen_list *out, struct saikai_error *err)
{
    return sk_gen_scan_if(root, holds_something, NULL, out, err);
}
