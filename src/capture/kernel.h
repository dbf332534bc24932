/* What this room asks of the Linux kernel: page write protection (userfaultfd), the scan of written
 * pages (PAGEMAP_SCAN, Linux 6.7) and what kind of memory an address range is. Definitions that
 * older system headers lack are here. */
#ifndef SK_CAPTURE_KERNEL_H
#define SK_CAPTURE_KERNEL_H

#include "base/error.h"

#include <linux/userfaultfd.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0)
#endif

/* Names of our own: the layout is the kernel's (include/uapi/linux/fs.h). */
struct sk_page_region {
    uint64_t start, end, categories;
};
struct sk_page_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SK_PAGEMAP_SCAN       _IOWR('f', 16, struct sk_page_scan)
#define SK_SCAN_WP_MATCHING   1
#define SK_SCAN_CHECK_WPASYNC 2
#define SK_PAGE_IS_WRITTEN    2
#define SK_PAGE_IS_FILE       4
#define SK_PAGE_IS_PRESENT    8
#define SK_PAGE_IS_ZERO       32
#define SK_PAGE_IS_HUGE       64

size_t sk_page_size(void);
static inline uintptr_t sk_page_floor(uintptr_t a, size_t page)
{
    return a & ~(uintptr_t)(page - 1);
}
static inline uintptr_t sk_page_ceil(uintptr_t a, size_t page)
{
    return sk_page_floor(a + page - 1, page);
}

enum sk_uffd_kind {
    SK_UFFD_ASYNC, /* the kernel itself lifts the protection and remembers; no privilege needed */
    SK_UFFD_SYNC,  /* a handler is asked; refuses to open where the kernel's own writes would fail
                      with EFAULT */
};

/* A userfaultfd of this kind, close-on-exec and non-blocking. SAIKAI_ENOTSUP, with the reason,
 * where it cannot be had: the kernel is old, a sandbox forbids it, or (SK_UFFD_SYNC) the process
 * may not handle faults of the kernel: then read(2) into protected memory would fail, which a
 * program must never notice. */
int sk_uffd_open(enum sk_uffd_kind kind, struct saikai_error *err);
/* Register, release, write-protect (on 1) or release the protection (on 0) of whole pages. 0 or
 * -errno. */
int sk_uffd_register(int uffd, uintptr_t from, uintptr_t to);
int sk_uffd_unregister(int uffd, uintptr_t from, uintptr_t to);
int sk_uffd_protect(int uffd, uintptr_t from, uintptr_t to, int on);

/* The memory map of the process at one moment (/proc/self/maps). */
struct sk_maps {
    struct sk_map {
        uintptr_t from, to;
        int is_private;
    } * v;
    size_t n;
};
/* SAIKAI_EIO, SAIKAI_ENOMEM. A zeroed struct is an empty map; free accepts it. */
int sk_maps_load(struct sk_maps *m, struct saikai_error *err);
void sk_maps_free(struct sk_maps *m);
/* 1 when all of [from, to) is mapped, and by private mappings only. */
int sk_maps_private(const struct sk_maps *m, uintptr_t from, uintptr_t to);
/* The same, reading the map first; 0 when it cannot be read. */
int sk_memory_is_private(uintptr_t from, uintptr_t to);
/* 1 when every page of [from, to) is mapped, by whatever mapping. Microseconds. */
int sk_memory_is_mapped(uintptr_t from, uintptr_t to);

/* Can somebody write this process's memory past its page tables? NULL when nothing says so; else
 * what was seen (static text): pages pinned for a device (VmPin) or an open RDMA or XPMEM device.
 */
const char *sk_foreign_writer(void);

#endif
