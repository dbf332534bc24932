/* One word in memory that is shared by way of /proc, on which the sleeper sleeps (futex). Whoever wakes changes the word first, and the system compares it before it lets
 * the sleeper sleep: so nobody is woken in vain who looked before. */
#include "world/rest/waker.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The first looks after a sign follow each other as closely as this; then each sleep is this part of the time without one. */
static const double first_s = 0.002, part = 1.0 / 16;

struct sk_waker {
    uint64_t nonce;
    _Atomic uint32_t woken, found;
};

static struct sk_waker *map(int fd)
{
    void *p = mmap(NULL, sizeof(struct sk_waker), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

struct sk_waker *sk_waker_make(struct sk_waker_place *at)
{
    struct sk_waker *w = NULL;
    *at = (struct sk_waker_place){0};
    int fd = memfd_create("saikai-waker", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (!ftruncate(fd, sizeof *w))
        w = map(fd);
    if (w && getrandom(&w->nonce, sizeof w->nonce, 0) == (ssize_t)sizeof w->nonce && w->nonce) {
        *at = (struct sk_waker_place){(uint64_t)getpid(), (uint64_t)fd, w->nonce};
        return w;
    }
    if (w)
        munmap(w, sizeof *w);
    close(fd);
    return NULL;
}

/* A number of a process may be another one's, in another container: then what is there is not ours, and need not even be a file with so many bytes. */
struct sk_waker *sk_waker_find(const struct sk_waker_place *at)
{
    char path[64];
    struct stat is;
    struct sk_waker *w = NULL;
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)at->process, (unsigned long long)at->descriptor);
    if (!at->nonce || stat(path, &is) || !S_ISREG(is.st_mode) || is.st_size != (off_t)sizeof *w) /* a pipe would be waited for */
        return NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (!fstat(fd, &is) && is.st_size == (off_t)sizeof *w)
        w = map(fd);
    close(fd);
    if (w && w->nonce != at->nonce) {
        munmap(w, sizeof *w);
        w = NULL;
    }
    if (w)
        atomic_fetch_add(&w->found, 1);
    return w;
}

unsigned sk_waker_found(const struct sk_waker *w)
{
    return w ? atomic_load(&w->found) : 0;
}

uint32_t sk_waker_woken(const struct sk_waker *w)
{
    return w ? atomic_load(&w->woken) : 0;
}

void sk_waker_wake(struct sk_waker *w)
{
    if (!w)
        return;
    atomic_fetch_add(&w->woken, 1);
    syscall(SYS_futex, &w->woken, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void sk_waker_sleep(struct sk_waker *w, uint32_t woken, double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (w)
        syscall(SYS_futex, &w->woken, FUTEX_WAIT, woken, &t, NULL, 0);
    else
        nanosleep(&t, NULL);
}

double sk_waker_rest(double quiet_s, double most_s)
{
    double s = quiet_s * part;
    return s < first_s ? first_s : s < most_s ? s : most_s;
}
