/* What changed since the last look: a tracker of memory regions.
 *
 * A region is a byte range with a number; it need not begin or end at a page, and regions may
 * overlap or share pages. `sk_dirty_collect` lists the parts that may have changed since the
 * collect before, and arms the tracker again; each page is looked at and re-armed in one step, so a
 * write by another thread during the call is in this report or in the next one. A report may name
 * unchanged bytes (whole pages or blocks), it never omits changed ones, within what the form of the
 * tracker can see:
 *
 * - uffd: the kernel notes which pages are written (userfaultfd asynchronous write protection and
 *   PAGEMAP_SCAN, Linux 6.7 or newer, no privilege needed). Sees stores, writes by the kernel such
 *   as read(2) or process_vm_writev, pages given back with madvise, and memory that was unmapped
 *   and mapped again at its address (wholly changed). Does not see what a device writes into pinned
 *   pages, nor other processes that attach the memory. First write to a page after a collect: about
 *   1 us. Memory never touched before the first collect gets no huge pages later.
 *
 * - hash: XXH3 of blocks compared with the last ones. Reads all memory at each collect, sees every
 *   writer. A changed block is missed with probability 2^-64. Nobody may write between a collect
 *   and the copying of what it reported: a value that returns to what the collect saw would not be
 *   reported again.
 *
 * - full: reports everything, always.
 *
 * "auto" takes uffd where a trial run of it behaves, else hash, region by region: a region in
 * shared memory is always hashed; when sk_foreign_writer() sees a device or XPMEM, all regions
 * become hashed from then on.
 *
 * Local calls; a tracker is used by one thread at a time. In a forked child the tracker starts anew
 * by itself: the child's first collect reports everything and the parent's tracking is not
 * disturbed. */
#ifndef SK_CAPTURE_DIRTY_H
#define SK_CAPTURE_DIRTY_H

#include "base/error.h"
#include "base/config/kind.h"
#include "capture/ranges.h"

extern const struct sk_kind sk_tracker_kind;
/* 1: the form of this name reports all as changed, so that none needs be opened. */
int sk_dirty_saves_all(const char *form);

struct sk_dirty;
struct sk_dirty_ops;

struct sk_dirty_options {
    const char *form;   /* one of sk_tracker_kind; NULL or "auto": what works */
    size_t block_bytes; /* of the hash form, a power of two from 64; 0: 4096 */
    int trust_pages;    /* 1: keep uffd even though a device could write past it */
};

/* flags of a region */
#define SK_DIRTY_HASH 1u /* a device or another process writes here: hash it whatever the form */

/* opt may be NULL. SAIKAI_EINVAL (unknown form, bad block), SAIKAI_ENOTSUP (the form asked for does
 * not work here; the text says why), SAIKAI_ENOMEM. */
int sk_dirty_open(const struct sk_dirty_options *opt, struct sk_dirty **out,
                  struct saikai_error *err);
/* NULL is accepted. Memory and its protection are as if it had never been tracked. */
void sk_dirty_close(struct sk_dirty *d);

/* Track [addr, addr + size_bytes) as region id; its first report is all of it. An id that is known
 * with the same place and flags is left alone, with another place it is replaced (and reported
 * wholly). The memory stays the caller's and must be removed before it is freed. SAIKAI_EINVAL,
 * SAIKAI_ENOMEM, SAIKAI_ENOTSUP. */
int sk_dirty_add(struct sk_dirty *d, uint32_t id, void *addr, size_t size_bytes, unsigned flags,
                 struct saikai_error *err);
/* Unknown ids are ignored. The memory may already be gone. */
void sk_dirty_remove(struct sk_dirty *d, uint32_t id);

/* Replace *out with the changed ranges, sorted by region and offset, disjoint, and arm again. After
 * a failure nothing is lost: the next collect reports everything. SAIKAI_ECHANGED: a region is not
 * mapped any more (nothing was looked at; remove it and collect again); SAIKAI_ENOMEM, SAIKAI_EIO.
 */
int sk_dirty_collect(struct sk_dirty *d, struct sk_ranges *out, struct saikai_error *err);
/* The ranges of a collect were not saved after all (the checkpoint failed): report them again at
 * the next one. */
void sk_dirty_return(struct sk_dirty *d, const struct sk_ranges *unsaved);
/* Report all of the region (all regions: id UINT32_MAX) at the next collect: a new base is due. */
void sk_dirty_forget(struct sk_dirty *d, uint32_t id);

/* Name of the form that tracks region id, NULL: no such region. Static string. */
const char *sk_dirty_form(const struct sk_dirty *d, uint32_t id);

/* ---- for the forms ---- */

struct sk_dirty_region {
    uint32_t id;
    uint8_t *addr;
    size_t size_bytes;
    unsigned flags;
    const struct sk_dirty_ops *ops;
    int whole;  /* report all of it at the next collect */
    int failed; /* set by collect: this form cannot go on with the region */
    void *own;  /* of the form */
};

/* One form of tracker. Each tracker opens a state of its own per form. */
struct sk_dirty_ops {
    const char *name, *description;
    int sees_pages_only; /* a device that writes memory is not seen */
    /* 0 when the form works on this machine; tried on scratch memory. */
    int (*probe)(struct saikai_error *err);
    int (*open)(const struct sk_dirty_options *opt, void **state, struct saikai_error *err);
    void (*close)(void *state);
    /* close in a forked child: drop what is ours without touching what the parent tracks; regions'
     * own data stay. */
    void (*close_in_child)(void *state);
    int (*add)(void *state, struct sk_dirty_region *r, struct saikai_error *err);
    void (*remove)(void *state, struct sk_dirty_region *r);
    /* v: the regions of this form, by address. Arm all; append the changed ranges of those without
     * `whole`; set `whole` where the past is not known, `failed` where the form cannot continue. */
    int (*collect)(void *state, struct sk_dirty_region *const *v, size_t n, struct sk_ranges *out,
                   struct saikai_error *err);
};

extern const struct sk_dirty_ops sk_dirty_uffd, sk_dirty_hash, sk_dirty_full;

/* The i-th form in order of preference, NULL past the end; the form of a name, NULL: none. */
const struct sk_dirty_ops *sk_dirty_at(int i);
const struct sk_dirty_ops *sk_dirty_find(const char *name);

#endif
