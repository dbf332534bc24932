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

int sk_memory_is_private(uintptr_t from, uintptr_t to)
{
    FILE *f = fopen("/proc/self/maps", "re");
    if (!f)
        return SAIKAI_ENOTSUP;
    char line[4096];
    uintptr_t at = from;
    int private_so_far = 1;
    while (at < to && private_so_far && fgets(line, sizeof line, f)) {
        unsigned long lo, hi;
        char perms[8];
        if (sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) != 3 || hi <= at)
            continue;
        private_so_far = lo <= at && perms[3] == 'p';
        at = hi;
    }
    fclose(f);
    return private_so_far && at >= to;
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
