/* The tracker whatever its form: which form each region gets, moving to hashes where pages do not
 * show every write, and beginning anew after a fork. */
#include "capture/dirty.h"

#include "base/log.h"
#include "capture/kernel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sk_dirty_ops *const forms[] = {&sk_dirty_uffd, &sk_dirty_hash, &sk_dirty_full};
#define FORMS ((int)(sizeof forms / sizeof *forms))

struct sk_dirty {
    struct sk_dirty_options opt;
    const struct sk_dirty_ops *preferred;
    int fixed; /* the form was asked for by name: no other one takes over */
    pid_t pid;
    void *state[FORMS];
    struct sk_dirty_region **v; /* by address */
    size_t n, cap;
    struct sk_ranges returned;
};

const struct sk_dirty_ops *sk_dirty_at(int i)
{
    return i >= 0 && i < FORMS ? forms[i] : NULL;
}

SK_KIND(sk_tracker_kind, "tracker", "tracker of changes", struct sk_dirty_ops, sk_dirty_at, description);

const struct sk_dirty_ops *sk_dirty_find(const char *name)
{
    return sk_dirty_at(sk_kind_form(&sk_tracker_kind, name));
}

int sk_dirty_saves_all(const char *form)
{
    return form && sk_dirty_find(form) == &sk_dirty_full;
}

static int index_of(const struct sk_dirty_ops *ops)
{
    int i = 0;
    while (forms[i] != ops)
        i++;
    return i;
}

static int state_of(struct sk_dirty *d, const struct sk_dirty_ops *ops, void **state,
                    struct saikai_error *err)
{
    int i = index_of(ops);
    if (!d->state[i]) {
        int rc = ops->open(&d->opt, &d->state[i], err);
        if (rc)
            return rc;
    }
    *state = d->state[i];
    return 0;
}

static int choose(struct sk_dirty *d, struct saikai_error *err)
{
    const char *form = d->opt.form;
    if (!sk_is_auto(form)) {
        d->preferred = sk_dirty_find(form);
        if (!d->preferred)
            return sk_kind_unknown(&sk_tracker_kind, SK_AUTO, form, err);
        d->fixed = 1;
        int rc = d->preferred->probe(err);
        if (rc)
            sk_error_prefix(err, "cannot track changes with '%s'", form);
        return rc;
    }
    static atomic_int best = -1; /* what was found once stays so */
    struct saikai_error why = {0};
    int known = best;
    if (known >= 0)
        d->preferred = forms[known];
    for (int i = 0; i < FORMS && !d->preferred; i++) {
        if (!forms[i]->probe(&why)) {
            best = i;
            d->preferred = forms[i];
        } else {
            sk_log(SK_LOG_INFO, "changes are not tracked with '%s': %s", forms[i]->name, why.text);
        }
    }
    return 0;
}

int sk_dirty_open(const struct sk_dirty_options *opt, struct sk_dirty **out,
                  struct saikai_error *err)
{
    struct sk_dirty *d = calloc(1, sizeof *d);
    if (!d)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a tracker of changes");
    if (opt)
        d->opt = *opt;
    if (!d->opt.block_bytes)
        d->opt.block_bytes = 4096;
    d->pid = getpid();
    int rc = 0;
    if (d->opt.block_bytes < 64 || d->opt.block_bytes & (d->opt.block_bytes - 1))
        rc = sk_fail(err, SAIKAI_EINVAL, "blocks of %zu bytes: take a power of two from 64",
                     d->opt.block_bytes);
    if (!rc)
        rc = choose(d, err);
    if (rc) {
        free(d);
        return rc;
    }
    d->opt.form = NULL; /* the text was the caller's */
    *out = d;
    return 0;
}

static int forked(const struct sk_dirty *d)
{
    return d->pid != getpid();
}

static void drop_region(struct sk_dirty *d, size_t i)
{
    struct sk_dirty_region *r = d->v[i];
    void *state = d->state[index_of(r->ops)];
    if (state && !forked(d))
        r->ops->remove(state, r);
    else
        free(r->own);
    free(r);
    memmove(d->v + i, d->v + i + 1, (--d->n - i) * sizeof *d->v);
}

void sk_dirty_close(struct sk_dirty *d)
{
    if (!d)
        return;
    while (d->n)
        drop_region(d, d->n - 1);
    for (int i = 0; i < FORMS; i++)
        if (d->state[i])
            (forked(d) ? forms[i]->close_in_child : forms[i]->close)(d->state[i]);
    free(d->v);
    sk_ranges_free(&d->returned);
    free(d);
}

static size_t find(const struct sk_dirty *d, uint32_t id)
{
    size_t i = 0;
    while (i < d->n && d->v[i]->id != id)
        i++;
    return i;
}

/* Give the region to the form it is to have, or to hash where that is allowed and the form refuses.
 */
static int attach(struct sk_dirty *d, struct sk_dirty_region *r, const struct sk_dirty_ops *ops,
                  struct saikai_error *err)
{
    struct saikai_error why = {0};
    void *state;
    int rc = state_of(d, ops, &state, &why);
    if (!rc)
        rc = ops->add(state, r, &why);
    if (rc && !d->fixed && ops != &sk_dirty_hash) {
        sk_log(SK_LOG_INFO, "region %u is hashed: %s", r->id, why.text);
        return attach(d, r, &sk_dirty_hash, err);
    }
    if (rc && err)
        *err = why;
    if (!rc) {
        r->ops = ops;
        r->whole = 1;
        r->failed = 0;
    }
    return rc;
}

/* In a forked child the descriptors still mean the parent's memory: drop them and begin again. */
static int renew_after_fork(struct sk_dirty *d, struct saikai_error *err)
{
    if (!forked(d))
        return 0;
    for (int i = 0; i < FORMS; i++)
        if (d->state[i] && forms[i]->sees_pages_only) {
            forms[i]->close_in_child(d->state[i]);
            d->state[i] = NULL;
        }
    d->pid = getpid();
    int rc = 0;
    for (size_t i = 0; !rc && i < d->n; i++) {
        d->v[i]->whole = 1;
        if (d->v[i]->ops->sees_pages_only)
            rc = attach(d, d->v[i], d->v[i]->ops, err);
    }
    return rc;
}

static int insert(struct sk_dirty *d, struct sk_dirty_region *r, struct saikai_error *err)
{
    if (d->n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 16;
        void *v = realloc(d->v, cap * sizeof *d->v);
        if (!v)
            return sk_fail(err, SAIKAI_ENOMEM, "no memory to track another region");
        d->v = v;
        d->cap = cap;
    }
    const struct sk_dirty_ops *ops = r->flags & SK_DIRTY_HASH ? &sk_dirty_hash : d->preferred;
    int rc = attach(d, r, ops, err);
    if (rc)
        return rc;
    size_t i = d->n++;
    for (; i && d->v[i - 1]->addr > r->addr; i--)
        d->v[i] = d->v[i - 1];
    d->v[i] = r;
    return 0;
}

int sk_dirty_add(struct sk_dirty *d, uint32_t id, void *addr, size_t size_bytes, unsigned flags,
                 struct saikai_error *err)
{
    if (!size_bytes || !addr || (uintptr_t)addr + size_bytes < (uintptr_t)addr || id == UINT32_MAX)
        return sk_fail(err, SAIKAI_EINVAL, "region %u has no bytes or a bad address", id);
    int rc = renew_after_fork(d, err);
    if (rc)
        return rc;
    size_t i = find(d, id);
    if (i < d->n) {
        const struct sk_dirty_region *old = d->v[i];
        if (old->addr == addr && old->size_bytes == size_bytes && old->flags == flags)
            return 0;
        drop_region(d, i);
    }
    struct sk_dirty_region *r = calloc(1, sizeof *r);
    if (!r)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to track region %u", id);
    *r = (struct sk_dirty_region){.id = id, .addr = addr, .size_bytes = size_bytes, .flags = flags};
    rc = insert(d, r, err);
    if (rc) {
        sk_error_prefix(err, "region %u", id);
        free(r);
    }
    return rc;
}

void sk_dirty_remove(struct sk_dirty *d, uint32_t id)
{
    size_t i = find(d, id);
    if (i < d->n)
        drop_region(d, i);
}

static int check_mapped(const struct sk_dirty *d, struct saikai_error *err)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct sk_dirty_region *r = d->v[i];
        if (!sk_memory_is_mapped((uintptr_t)r->addr, (uintptr_t)r->addr + r->size_bytes))
            return sk_fail(err, SAIKAI_ECHANGED,
                           "region %u (%zu bytes at %p) is not mapped any more: it was freed or "
                           "moved without being told",
                           r->id, r->size_bytes, (void *)r->addr);
    }
    return 0;
}

/* Move the regions that a form lost, or all that look at pages only when a device may write, to
 * hashes. */
static int move_to_hash(struct sk_dirty *d, int only_failed, struct saikai_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < d->n; i++) {
        struct sk_dirty_region *r = d->v[i];
        if (only_failed ? !r->failed : !r->ops->sees_pages_only)
            continue;
        if (d->fixed)
            return sk_fail(err, SAIKAI_ENOTSUP, "region %u can no longer be tracked with '%s'",
                           r->id, r->ops->name);
        r->ops->remove(d->state[index_of(r->ops)], r);
        r->own = NULL;
        rc = attach(d, r, &sk_dirty_hash, err);
    }
    return rc;
}

static int heed_devices(struct sk_dirty *d, struct saikai_error *err)
{
    if (d->opt.trust_pages || !d->preferred->sees_pages_only)
        return 0;
    const char *seen = sk_foreign_writer();
    if (!seen)
        return 0;
    if (d->fixed)
        return sk_fail(
            err, SAIKAI_ENOTSUP,
            "%s, and '%s' does not see what a device writes: choose 'hash', or trust_pages", seen,
            d->preferred->name);
    sk_log(SK_LOG_INFO, "changes are found by hashes from now on: %s", seen);
    d->preferred = &sk_dirty_hash;
    return move_to_hash(d, 0, err);
}

static int collect_forms(struct sk_dirty *d, struct sk_ranges *out, struct saikai_error *err)
{
    struct sk_dirty_region **part = malloc((d->n ? d->n : 1) * sizeof *part);
    if (!part)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to look for changes");
    int rc = 0, failed = 0;
    for (int f = 0; !rc && f < FORMS; f++) {
        size_t n = 0;
        for (size_t i = 0; i < d->n; i++)
            if (d->v[i]->ops == forms[f])
                part[n++] = d->v[i];
        if (n)
            rc = forms[f]->collect(d->state[f], part, n, out, err);
        for (size_t i = 0; i < n; i++)
            failed |= part[i]->failed;
    }
    free(part);
    if (!rc && failed) {
        rc = move_to_hash(d, 1, err);
        return rc ? rc : collect_forms(d, out, err);
    }
    return rc;
}

static void add_returned(struct sk_dirty *d, struct sk_ranges *out)
{
    for (size_t k = 0; k < d->returned.n; k++) {
        struct sk_range x = d->returned.v[k];
        size_t i = find(d, x.region);
        if (i == d->n || x.offset >= d->v[i]->size_bytes)
            continue;
        uint64_t left = d->v[i]->size_bytes - x.offset;
        sk_ranges_add(out, x.region, x.offset, x.size_bytes < left ? x.size_bytes : left);
    }
}

int sk_dirty_collect(struct sk_dirty *d, struct sk_ranges *out, struct saikai_error *err)
{
    struct sk_ranges found = {0};
    int rc = renew_after_fork(d, err);
    if (!rc)
        rc = check_mapped(d, err);
    if (rc)
        return rc;
    rc = heed_devices(d, err);
    if (!rc)
        rc = collect_forms(d, &found, err);
    for (size_t i = 0; !rc && i < d->n; i++)
        if (d->v[i]->whole)
            sk_ranges_add(&found, d->v[i]->id, 0, d->v[i]->size_bytes);
    if (!rc)
        add_returned(d, &found);
    if (!rc && found.failed)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of changes");
    for (size_t i = 0; i < d->n; i++)
        d->v[i]->whole = rc != 0;
    if (rc) {
        sk_ranges_free(&found);
        return rc;
    }
    sk_ranges_clear(&d->returned);
    sk_ranges_normalise(&found);
    sk_ranges_free(out);
    *out = found;
    return 0;
}

void sk_dirty_forget(struct sk_dirty *d, uint32_t id)
{
    for (size_t i = 0; i < d->n; i++)
        if (id == UINT32_MAX || d->v[i]->id == id)
            d->v[i]->whole = 1;
}

void sk_dirty_return(struct sk_dirty *d, const struct sk_ranges *unsaved)
{
    sk_ranges_add_all(&d->returned, unsaved);
    if (d->returned.failed) {
        sk_ranges_clear(&d->returned);
        sk_dirty_forget(d, UINT32_MAX);
    }
}

const char *sk_dirty_form(const struct sk_dirty *d, uint32_t id)
{
    size_t i = find(d, id);
    return i < d->n ? d->v[i]->ops->name : NULL;
}
