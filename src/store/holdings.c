/* Reads names in a local directory back to generations and parity sets, lists them newest first,
 * and removes them. */
#include "store/holdings.h"

#include "base/file/denied.h"
#include "base/file/io.h"
#include "base/order.h"
#include "store/gen.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int sk_parity_set_path(const char *root, struct sk_parity_set set, int rank, char *out, size_t cap,
                       struct saikai_error *err)
{
    char name[48];
    return sk_io_path(out, cap, err, "%s/%s/parity-%06d-%04u.skp", root, sk_gen_name(set.gen, name),
                      rank, set.coder);
}

int sk_parity_spare_path(const char *root, int rank, char *out, size_t cap,
                         struct saikai_error *err)
{
    return sk_io_path(out, cap, err, "%s/spare-%06d.skp", root, rank);
}

int sk_parity_set_compare(struct sk_parity_set a, struct sk_parity_set b)
{
    int64_t x = sk_gen_key(a.gen), y = sk_gen_key(b.gen);
    return SK_ORDER_BY(x, y, a.coder, b.coder);
}

static int newest_first(const void *a, const void *b)
{
    const struct sk_holding_entry *x = a, *y = b;
    int c = -sk_parity_set_compare((struct sk_parity_set){x->gen, x->coder},
                                   (struct sk_parity_set){y->gen, y->coder});
    return c ? c : x->rank - y->rank;
}

/* 1: the name is that of a file of ours. */
static int parse(const char *name, struct sk_holding_entry *e)
{
    int end = 0;
    e->coder = 0;
    if ((e->rank = sk_gen_file_rank(name)) >= 0)
        return 1;
    return sscanf(name, "parity-%7d-%5u.skp%n", &e->rank, &e->coder, &end) == 2 && end &&
           !name[end] && e->rank >= 0 && e->coder > 0;
}

static int add(struct sk_holdings *h, size_t *cap, const struct sk_holding_entry *e)
{
    if (h->count == *cap) {
        size_t more = *cap ? 2 * *cap : 32;
        struct sk_holding_entry *p = realloc(h->entry, more * sizeof *p);
        if (!p)
            return -1;
        h->entry = p;
        *cap = more;
    }
    h->entry[h->count++] = *e;
    return 0;
}

static int scan_generation(const char *root, struct sk_gen gen, struct sk_holdings *h, size_t *cap,
                           struct saikai_error *err)
{
    char path[PATH_MAX];
    int rc = sk_gen_dir(root, gen, path, sizeof path, err);
    DIR *d = rc ? NULL : opendir(path); /* it may be gone by now: another rank retired its file */
    for (struct dirent *f; !rc && d && (f = readdir(d));) {
        struct sk_holding_entry e = {.gen = gen};
        if (parse(f->d_name, &e) && add(h, cap, &e))
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to list %s", root);
    }
    if (d)
        closedir(d);
    return rc;
}

int sk_holdings_scan(const char *root, struct sk_holdings *out, struct saikai_error *err)
{
    struct sk_holdings h = {0};
    size_t cap = 0;
    DIR *d = opendir(root);
    int rc = d || errno == ENOENT ? 0 : sk_fail_at(err, errno, root, "cannot read directory %s", root);
    for (struct dirent *e; !rc && d && (e = readdir(d));) {
        struct sk_gen gen;
        if (!sk_gen_parse(e->d_name, &gen))
            rc = scan_generation(root, gen, &h, &cap, err);
    }
    if (d)
        closedir(d);
    if (rc) {
        free(h.entry);
        return rc;
    }
    if (h.count)
        qsort(h.entry, h.count, sizeof *h.entry, newest_first);
    *out = h;
    return 0;
}

void sk_holdings_free(struct sk_holdings *h)
{
    free(h->entry);
    *h = (struct sk_holdings){0};
}

int sk_holdings_remove(const char *root, const struct sk_holding_entry *e, struct saikai_error *err)
{
    char path[PATH_MAX];
    if (!e->coder)
        return sk_gen_remove(root, e->gen, e->rank, err);
    int rc = sk_parity_set_path(root, (struct sk_parity_set){e->gen, e->coder}, e->rank, path,
                                sizeof path, err);
    if (!rc)
        rc = sk_io_unlink(path, err);
    if (!rc && !sk_gen_dir(root, e->gen, path, sizeof path, NULL))
        sk_io_rmdir(path, NULL); /* fails while other files are there, and then it stays */
    return rc;
}

void sk_holdings_remove_rank(const char *root, int rank, int nranks)
{
    struct sk_holdings h;
    char spare[PATH_MAX];
    if (!sk_parity_spare_path(root, rank, spare, sizeof spare, NULL))
        sk_io_unlink(spare, NULL);
    if (sk_holdings_scan(root, &h, NULL))
        return;
    for (size_t i = 0; i < h.count; i++)
        if (h.entry[i].rank == rank || h.entry[i].rank >= nranks)
            sk_holdings_remove(root, &h.entry[i], NULL);
    sk_holdings_free(&h);
}
