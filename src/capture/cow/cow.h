/* Saving memory without stopping the program: snapshots.
 *
 * sk_snapshot_begin returns as soon as the content of the pieces is safe from later changes; a
 * helper thread then hands it to the sink while the program goes on. Forms:
 *
 * - uffd: all whole pages are write-protected (userfaultfd). A page that the program writes before
 *   it was handed on is first copied aside by a second thread. Well below a millisecond per GiB
 *   with huge pages, 5 to 20 ms with small ones. When the program turns out to write much, all is
 *   copied aside ahead of it, in the direction in which it sweeps, so that rewriting everything
 *   costs it about as much as a copy. Needs the right to serve faults of the kernel
 *   (CAP_SYS_PTRACE, vm.unprivileged_userfaultfd or /dev/userfaultfd), for else read(2) into
 *   protected memory would fail. Memory that another userfaultfd watches (a tracker of changes) is
 *   copied instead.
 *
 * - fork: a child process that does nothing but exist holds the old pages; the helper reads them
 *   from it. The cost of fork grows with all memory of the process, and each page that the program
 *   writes meanwhile costs it a copy. No handlers (atfork, signals) run, descriptors are closed in
 *   the child, the program's wait() does not see it.
 *
 * - copy: all is copied before begin returns.
 *
 * What cannot be protected is copied before begin returns, whatever the form: parts of pages at the
 * ends of pieces (their rest may belong to somebody else), pieces shorter than 256 KiB, memory
 * shared with other processes, watched memory. "auto" takes the first form that works here and for
 * this snapshot, copy in the end. uffd and fork see what goes through the page tables of the
 * process, so they are not taken when sk_foreign_writer() sees a device or XPMEM. "auto" also
 * learns: when a form cost the program more than a copy would have, since it wrote most of its
 * memory meanwhile, the next eight snapshots are copies, then sixteen, up to 64, with one attempt
 * in between.
 *
 * Within one call no byte is torn by the calling thread. Other threads that write during begin must
 * be prepared to find their write in the snapshot or not.
 *
 * Memory: pages copied aside lie in a pool of at most pool_bytes, which is kept for the next
 * snapshot. When it is full a writer waits until its page was handed on (counted in stats.waits);
 * with the default limit that cannot happen. */
#ifndef SK_CAPTURE_COW_H
#define SK_CAPTURE_COW_H

#include "base/error.h"
#include "base/config/kind.h"

#include <stddef.h>
#include <stdint.h>

extern const struct sk_kind sk_snapshot_kind;
/* 1: the form of this name copies all before the program goes on, so that none needs be opened. */
int sk_snapshot_waits(const char *form);

struct sk_snapshot;

/* What to save: id and offset are only handed to the sink. Pieces may overlap and need no
 * alignment. */
struct sk_memory_extent {
    uint8_t *addr;
    uint64_t size_bytes;
    uint32_t id;
    uint64_t offset;
};

/* Takes n bytes of the snapshot that belong at `offset` of `id`. Called from the helper thread
 * (from begin when memory or threads are short, or with sink_is_copy), never twice at once, in any
 * order, each byte of each piece once. It may block. Not 0: the snapshot fails with this code and
 * *err. It must not write to the pieces. */
typedef int sk_sink_fn(void *arg, uint32_t id, uint64_t offset, const void *data, size_t n,
                       struct saikai_error *err);

struct sk_snapshot_options {
    const char *form; /* one of sk_snapshot_kind; NULL or "auto": what works; a name forbids the others, but
                       * for copying what cannot be protected */
    uint64_t pool_bytes; /* 0: as much as the pieces; else at least 8 MiB */
    int sink_is_copy; /* 1: the sink only copies to memory, so what must be copied in begin goes to
                       * it directly; when a form then fails and another one takes over, the sink
                       * may get bytes twice */
    int trust_pages;  /* 1: protect pages even though a device could write past it */
    int huge_pages;   /* 1: memory of small pages that takes long to protect is put into huge pages
                       * between snapshots (cow_huge.h); the content stays */
};

struct sk_snapshot_stats {
    const char *form;       /* that was used */
    double blocked_seconds; /* in begin */
    double saving_seconds;  /* from the end of begin until all was handed on */
    uint64_t bytes;         /* of all pieces, overlaps once */
    uint64_t copied_bytes;  /* before begin returned */
    uint64_t touched_bytes; /* copied aside because the program wrote there */
    uint64_t ahead_bytes;   /* copied aside because it was about to */
    uint64_t faults; /* writes that met protection; fork: page faults of the process meanwhile */
    uint64_t waits;  /* of those, the ones that waited because the pool was full */
    double stalled_seconds; /* uffd: what these writes waited for, of all threads together, without
                             * the time to wake up */
};

/* opt may be NULL. SAIKAI_EINVAL, SAIKAI_ENOTSUP (the named form does not work here, the text says
 * why), ENOMEM. */
int sk_snapshot_open(const struct sk_snapshot_options *opt, struct sk_snapshot **out,
                     struct saikai_error *err);
/* Aborts what is under way. NULL is accepted. */
void sk_snapshot_close(struct sk_snapshot *s);

/* Begin to save n pieces; the array is copied, sink and arg must last until finish or abort. Pieces
 * must stay mapped until then: memory that is given back while it is being saved makes the snapshot
 * fail with SAIKAI_ECHANGED (never with wrong data, never with a crash, except under the form copy
 * within begin). Local; one thread at a time. SAIKAI_ESTATE (the last one was not finished),
 * SAIKAI_ENOTSUP, SAIKAI_ENOMEM, or what the sink returned; then nothing is under way. */
int sk_snapshot_begin(struct sk_snapshot *s, const struct sk_memory_extent *v, size_t n, sk_sink_fn *sink,
                      void *arg, struct saikai_error *err);
/* 1: finish will not block. */
int sk_snapshot_done(const struct sk_snapshot *s);
/* Wait for the helper and return what it came to; stats (may be NULL) are filled on success.
 * SAIKAI_ESTATE: none was begun. */
int sk_snapshot_finish(struct sk_snapshot *s, struct sk_snapshot_stats *stats,
                       struct saikai_error *err);
/* Give up: waits for a sink that is being called, then lifts all protection. No effect when none is
 * under way. */
void sk_snapshot_abort(struct sk_snapshot *s);

#endif
