/* Where failure rates come from: the table of sources, those of components among them, and the choice by what a file begins with. */
#include "schedule/failure/rates.h"

#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <saikai/component.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* The last one takes whatever no other knows. */
static const struct sk_rates_ops *const forms[] = {&sk_rates_sqlite, &sk_rates_text};
enum { n_forms = sizeof forms / sizeof *forms };

/* Those of components: they are asked before the last form. */
static struct added {
    struct sk_rates_ops ops;
    const struct saikai_failure_rates_ops *theirs;
} added[SK_MOST_ADDED];
static atomic_int n_added;

static void add(const struct saikai_component *c, int n)
{
    added[n].theirs = c->ops;
    added[n].ops = (struct sk_rates_ops){c->name, c->description, added[n].theirs->recognises, NULL};
    atomic_store(&n_added, n + 1);
}

static const struct sk_rates_ops *form_at(int i)
{
    if (i < 0 || i >= n_forms + atomic_load(&n_added))
        return NULL;
    return i < n_forms ? forms[i] : &added[i - n_forms].ops;
}

SK_OPEN_KIND(sk_rates_kind, "rates", "source of failure rates", struct sk_rates_ops, form_at, description, SAIKAI_KIND_FAILURE_RATES,
             struct saikai_failure_rates_ops, add);

struct taker {
    struct sk_rates *into;
    struct saikai_error *err;
    int rc;
};

static int take(void *to, const char *host, double rate, int64_t where)
{
    struct taker *t = to;
    if (!t->rc)
        t->rc = sk_rates_add(t->into, host ? host : "", rate, where, t->err);
    return t->rc;
}

static int load_by(const struct added *a, const char *path, struct sk_rates *into, struct saikai_error *err)
{
    char why[300] = "";
    struct taker t = {into, err, 0};
    int rc = a->theirs->load(path, take, &t, why, sizeof why);
    why[sizeof why - 1] = 0;
    if (t.rc) {
        sk_error_prefix(err, "%s", path);
        return t.rc;
    }
    return rc ? sk_fail(err, SAIKAI_ECONFIG, "%s: %s (component '%s')", path, *why ? why : "it cannot be read", a->ops.name) : 0;
}

static int load(const uint8_t *head, size_t n, const char *path, struct sk_rates *into, struct saikai_error *err)
{
    for (int i = 0; i < n_forms - 1; i++)
        if (forms[i]->recognises(head, n))
            return forms[i]->load(path, into, err);
    for (int i = 0; i < atomic_load(&n_added); i++)
        if (added[i].theirs->recognises(head, n))
            return load_by(&added[i], path, into, err);
    return forms[n_forms - 1]->load(path, into, err);
}

static int read_head(const char *path, uint8_t head[16], size_t *n, struct saikai_error *err)
{
    int fd = sk_io_open(path, O_RDONLY, 0, err);
    if (fd < 0) {
        sk_error_prefix(err, "cannot read the failure rates");
        return fd;
    }
    ssize_t got = read(fd, head, 16);
    int sys = errno;
    close(fd);
    if (got < 0)
        return sk_fail_errno(err, sys, "cannot read the failure rates %s", path);
    *n = (size_t)got;
    return 0;
}

int sk_rates_open(const char *path, double default_rate, struct sk_rates **out,
                  struct saikai_error *err)
{
    struct sk_rates *r = sk_rates_new(default_rate);
    if (!r)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for failure rates");
    int rc = 0;
    if (path && *path) {
        uint8_t head[16];
        size_t n = 0;
        rc = read_head(path, head, &n, err);
        if (!rc)
            rc = load(head, n, path, r, err);
        if (!rc)
            rc = sk_rates_finish(r, path, err);
    }
    if (rc) {
        sk_rates_free(r);
        return rc;
    }
    *out = r;
    return 0;
}
