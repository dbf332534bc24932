/* The calls of userfaultfd, what /proc/self/maps says of an address range, and signs that a device
 * or another process writes here. */
#include "capture/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t sk_page_size(void)
{
    long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? (size_t)n : 4096;
}

/* One that also serves faults of the kernel: by privilege (CAP_SYS_PTRACE or
 * vm.unprivileged_userfaultfd), else by access to the device file (Linux 6.1). */
static int open_for_kernel_faults(void)
{
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        return fd;
    int e = errno;
    int dev = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (dev < 0) {
        errno = e;
        return -1;
    }
    fd = ioctl(dev, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
    e = errno;
    close(dev);
    errno = e;
    return fd;
}

int sk_uffd_open(enum sk_uffd_kind kind, struct saikai_error *err)
{
    int fd = kind == SK_UFFD_SYNC
                 ? open_for_kernel_faults()
                 : (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0)
        return sk_fail(err, SAIKAI_ENOTSUP, "userfaultfd%s is not available: %s",
                       kind == SK_UFFD_SYNC ? " for faults of the kernel" : "", strerror(errno));
    struct uffdio_api api = {.api = UFFD_API};
    api.features = kind == SK_UFFD_ASYNC
                       ? UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED
                       : UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_UNPOPULATED |
                             UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP |
                             UFFD_FEATURE_EVENT_REMAP;
    if (ioctl(fd, UFFDIO_API, &api)) {
        int e = errno;
        close(fd);
        return sk_fail(err, SAIKAI_ENOTSUP, "this kernel lacks %s write protection: %s",
                       kind == SK_UFFD_ASYNC ? "asynchronous (Linux 6.7)" : "page (Linux 6.4)",
                       strerror(e));
    }
    return fd;
}

int sk_uffd_register(int uffd, uintptr_t from, uintptr_t to)
{
    struct uffdio_register r = {.range = {from, to - from}, .mode = UFFDIO_REGISTER_MODE_WP};
    return ioctl(uffd, UFFDIO_REGISTER, &r) ? -errno : 0;
}

int sk_uffd_unregister(int uffd, uintptr_t from, uintptr_t to)
{
    struct uffdio_range r = {from, to - from};
    return ioctl(uffd, UFFDIO_UNREGISTER, &r) ? -errno : 0;
}

int sk_uffd_protect(int uffd, uintptr_t from, uintptr_t to, int on)
{
    struct uffdio_writeprotect w = {.range = {from, to - from},
                                    .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0};
    int r;
    do
        r = ioctl(uffd, UFFDIO_WRITEPROTECT, &w);
    while (r && (errno == EAGAIN || errno == EINTR));
    return r ? -errno : 0;
}

int sk_maps_load(struct sk_maps *m, struct saikai_error *err)
{
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f)
        return sk_fail_errno(err, errno, "cannot open /proc/self/maps");
    char *line = NULL;
    size_t cap = 0, room = 0;
    struct sk_maps got = {0};
    int rc = 0;
    while (!rc && getline(&line, &cap, f) > 0) {
        unsigned long from, to;
        char perms[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) != 3)
            continue;
        if (got.n == room) {
            room = room ? 2 * room : 256;
            struct sk_map *v = realloc(got.v, room * sizeof *v);
            if (!v) {
                rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the memory map");
                break;
            }
            got.v = v;
        }
        got.v[got.n++] = (struct sk_map){from, to, perms[3] == 'p'};
    }
    free(line);
    fclose(f);
    if (rc)
        sk_maps_free(&got);
    else
        *m = got;
    return rc;
}

void sk_maps_free(struct sk_maps *m)
{
    free(m->v);
    memset(m, 0, sizeof *m);
}

int sk_maps_private(const struct sk_maps *m, uintptr_t from, uintptr_t to)
{
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (m->v[mid].to <= from)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; from < to && lo < m->n && m->v[lo].from <= from && m->v[lo].is_private; lo++)
        from = m->v[lo].to;
    return from >= to;
}

int sk_memory_is_private(uintptr_t from, uintptr_t to)
{
    struct sk_maps m = {0};
    int yes = !sk_maps_load(&m, NULL) && sk_maps_private(&m, from, to);
    sk_maps_free(&m);
    return yes;
}

int sk_memory_is_mapped(uintptr_t from, uintptr_t to)
{
    /* MS_ASYNC has no effect of its own on Linux, but it fails with ENOMEM when a page is not
     * mapped. */
    size_t page = sk_page_size();
    uintptr_t lo = sk_page_floor(from, page), hi = sk_page_ceil(to, page);
    return hi == lo || !msync((void *)lo, hi - lo, MS_ASYNC);
}

static int pinned_pages(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmPin: %lu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib > 0;
}

const char *sk_foreign_writer(void)
{
    if (pinned_pages())
        return "pages are pinned for a device";
    const char *seen = NULL;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && !seen && (e = readdir(d));) {
        char to[64];
        ssize_t n = readlinkat(dirfd(d), e->d_name, to, sizeof to - 1);
        if (n <= 0)
            continue;
        to[n] = 0;
        if (!strncmp(to, "/dev/infiniband/", 16))
            seen = "an RDMA device is open";
        else if (!strcmp(to, "/dev/xpmem"))
            seen = "XPMEM is open";
    }
    if (d)
        closedir(d);
    return seen;
}
