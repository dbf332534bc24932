/* The tracker that asks the kernel which pages were written: asynchronous write protection of
 * userfaultfd, read and re-armed by PAGEMAP_SCAN (Linux 6.7). */
#include "capture/dirty.h"

#include "base/host/headroom.h"
#include "base/own/own.h"
#include "capture/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FOUND_AT_ONCE 4096

struct uffd {
    int fd, pagemap;
    size_t page;
    struct sk_page_region found[FOUND_AT_ONCE];
};

static void close_uffd(void *state)
{
    struct uffd *u = state;
    if (!u)
        return;
    sk_own_close(u->fd);
    sk_own_close(u->pagemap);
    free(u);
}

static int open_uffd(const struct sk_dirty_options *opt, void **state, struct saikai_error *err)
{
    struct uffd *u = calloc(1, sizeof *u);
    if (!u)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for a tracker");
    u->page = sk_page_size();
    u->pagemap = -1;
    int rc = u->fd = sk_own(sk_uffd_open(SK_UFFD_ASYNC, err), SK_OWN_GOES);
    if (rc >= 0 && (u->pagemap = sk_own(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), SK_OWN_GOES)) < 0)
        rc = sk_fail_errno(err, errno, "cannot open /proc/self/pagemap");
    if (rc < 0) {
        close_uffd(u);
        return rc;
    }
    *state = u;
    return 0;
}

static uintptr_t first_page(const struct uffd *u, const struct sk_dirty_region *r)
{
    return sk_page_floor((uintptr_t)r->addr, u->page);
}

static uintptr_t last_page_end(const struct uffd *u, const struct sk_dirty_region *r)
{
    return sk_page_ceil((uintptr_t)r->addr + r->size_bytes, u->page);
}

/* Whole pages, so the first and the last may hold bytes of others: their writes cost one fault and
 * make the page part of the report, no more. */
static int add(void *state, struct sk_dirty_region *r, struct saikai_error *err)
{
    struct uffd *u = state;
    uintptr_t from = first_page(u, r), to = last_page_end(u, r);
    if (!sk_memory_is_private(from, to))
        return sk_fail(err, SAIKAI_ENOTSUP, "its memory is shared with other processes");
    int e = sk_own_is(u->fd) ? sk_uffd_register(u->fd, from, to) : -EBADF;
    return e ? sk_fail(err, SAIKAI_ENOTSUP, "its pages cannot be watched: %s", strerror(-e)) : 0;
}

static void remove_region(void *state, struct sk_dirty_region *r)
{
    /* Only the pages that are wholly its own: the others may belong to a neighbour that is still
     * tracked. They stay watched, unseen, until the tracker closes. The memory may be gone: errors
     * mean nothing. */
    struct uffd *u = state;
    uintptr_t from = sk_page_ceil((uintptr_t)r->addr, u->page);
    uintptr_t to = sk_page_floor((uintptr_t)r->addr + r->size_bytes, u->page);
    if (from < to && sk_own_is(u->fd))
        sk_uffd_unregister(u->fd, from, to);
}

/* Regions that share pages with each other are scanned together, since a scan re-arms for all of
 * them. */
struct span {
    struct sk_dirty_region *const *v;
    size_t n;
    uintptr_t from, to;
};

static void report(const struct span *s, const struct sk_page_region *f, struct sk_ranges *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct sk_dirty_region *r = s->v[i];
        uintptr_t lo = (uintptr_t)r->addr, hi = lo + r->size_bytes;
        uintptr_t from = f->start > lo ? f->start : lo, to = f->end < hi ? f->end : hi;
        if (!r->whole && from < to)
            sk_ranges_add(out, r->id, from - lo, to - from);
    }
}

/* Some of the span's memory is not watched: it was unmapped and mapped again, or moved. Nothing is
 * known of it. */
static int watch_again(struct uffd *u, const struct span *s)
{
    int ok = sk_memory_is_private(s->from, s->to) && !sk_uffd_register(u->fd, s->from, s->to);
    for (size_t i = 0; i < s->n; i++) {
        s->v[i]->whole = 1;
        s->v[i]->failed = !ok;
    }
    return ok;
}

/* The pages of a span that were written since, which are protected again in the same call. A mapping that was made anew meanwhile is
 * watched anew, and counts as changed. */
static int scan_span(struct uffd *u, const struct span *s, struct sk_ranges *out,
                     struct saikai_error *err)
{
    uintptr_t at = s->from;
    int again = 0;
    while (at < s->to) {
        struct sk_page_scan a = {.size = sizeof a,
                                 .flags = SK_SCAN_WP_MATCHING | SK_SCAN_CHECK_WPASYNC,
                                 .start = at,
                                 .end = s->to,
                                 .vec = (uintptr_t)u->found,
                                 .vec_len = FOUND_AT_ONCE,
                                 .category_mask = SK_PAGE_IS_WRITTEN,
                                 .return_mask = SK_PAGE_IS_WRITTEN};
        int n = ioctl(u->pagemap, SK_PAGEMAP_SCAN, &a);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPERM && !again) {
            again = 1;
            at = s->from;
            if (!watch_again(u, s))
                return 0;
            continue;
        }
        if (n < 0)
            return sk_fail_errno(err, errno, "cannot scan the pages of region %u", s->v[0]->id);
        for (int i = 0; i < n; i++)
            report(s, &u->found[i], out);
        if (a.walk_end <= at)
            return sk_fail(err, SAIKAI_EIO, "the scan of pages of region %u does not advance",
                           s->v[0]->id);
        at = a.walk_end;
    }
    return 0;
}

static int collect(void *state, struct sk_dirty_region *const *v, size_t n, struct sk_ranges *out,
                   struct saikai_error *err)
{
    struct uffd *u = state;
    int rc = 0, gone = !sk_own_is(u->fd) || !sk_own_is(u->pagemap); /* the program closed it: nothing is watched any more */
    for (size_t i = 0; gone && i < n; i++)
        v[i]->whole = v[i]->failed = 1;
    for (size_t i = 0; !gone && !rc && i < n;) {
        struct span s = {v + i, 1, first_page(u, v[i]), last_page_end(u, v[i])};
        while (i + s.n < n && first_page(u, v[i + s.n]) < s.to) {
            uintptr_t to = last_page_end(u, v[i + s.n++]);
            s.to = to > s.to ? to : s.to;
        }
        rc = scan_span(u, &s, out, err);
        i += s.n;
    }
    return rc;
}

/* ---- trial on scratch memory: kernels differ, so what matters is tried, not looked up by version
 * ---- */

static int reports(struct uffd *u, struct sk_dirty_region *r, uint64_t offset, uint64_t size)
{
    struct sk_dirty_region *const v[] = {r};
    struct sk_ranges out = {0};
    r->whole = 0;
    int rc = collect(u, v, 1, &out, NULL);
    int good = !rc && !r->failed && !r->whole && !out.failed &&
               (size ? out.n == 1 && out.v[0].offset == offset && out.v[0].size_bytes == size
                     : out.n == 0);
    sk_ranges_free(&out);
    return good;
}

static int written_by_kernel(uint8_t *p)
{
    int fd[2], ok;
    if (pipe2(fd, O_CLOEXEC))
        return 0;
    ok = write(fd[1], "x", 1) == 1 && read(fd[0], p, 1) == 1;
    close(fd[0]);
    close(fd[1]);
    return ok;
}

/* Size of the scratch memory: some page tables' worth, so that giving pages back may free the
 * tables too. */
#define SCRATCH ((size_t)8 << 20)

static const char *misbehaves(struct uffd *u, uint8_t *p)
{
    struct sk_dirty_region r = {.id = 0, .addr = p, .size_bytes = SCRATCH, .whole = 1};
    size_t page = u->page;
    if (add(u, &r, NULL))
        return "memory cannot be registered";
    memset(p, 1, SCRATCH);
    if (!reports(u, &r, 0, SCRATCH))
        return "the first scan does not report all";
    if (!reports(u, &r, 0, 0))
        return "unchanged pages are reported";
    p[5 * page + 7] = 2;
    if (!reports(u, &r, 5 * page, page))
        return "a written page is not reported";
    if (!written_by_kernel(p + 9 * page) || !reports(u, &r, 9 * page, page))
        return "a page written by the kernel is not reported";
    if (madvise(p + SCRATCH / 4, SCRATCH / 2, MADV_DONTNEED) ||
        !reports(u, &r, SCRATCH / 4, SCRATCH / 2))
        return "pages given back are not reported";
    return NULL;
}

static int probe(struct saikai_error *err)
{
    void *state;
    struct sk_headroom room;
    sk_headroom_look(&room); /* a trial must not be what the program is killed for */
    if (room.bytes < 4 * SCRATCH)
        return sk_fail(err, SAIKAI_ENOMEM, "%s leaves no memory to try the tracking of pages", room.limit);
    int rc = open_uffd(NULL, &state, err);
    if (rc)
        return rc;
    for (int huge = 0; !rc && huge < 2; huge++) {
        uint8_t *p =
            mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to try the tracking of pages");
            break;
        }
        madvise(p, SCRATCH, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        const char *what = misbehaves(state, p);
        if (what)
            rc = sk_fail(err, SAIKAI_ENOTSUP, "a trial failed: %s", what);
        munmap(p, SCRATCH);
    }
    close_uffd(state);
    return rc;
}

const struct sk_dirty_ops sk_dirty_uffd = {
    .name = "uffd",
    .description = "the kernel notes written pages (userfaultfd and PAGEMAP_SCAN, Linux 6.7)",
    .sees_pages_only = 1,
    .probe = probe,
    .open = open_uffd,
    .close = close_uffd,
    .close_in_child = close_uffd,
    .add = add,
    .remove = remove_region,
    .collect = collect,
};
