#include "paper_far_shared.h"

#include "base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

enum { DESCRIPTORS = 4096 };

static struct {
    pthread_mutex_t lock;
    const char *dir;
    double bytes_per_s, open_s;
    double moved_until, opened_until; /* until when bytes and opens are already promised */
    uint64_t bytes, opened;
    uint8_t shared[DESCRIPTORS];
} fs = {.lock = PTHREAD_MUTEX_INITIALIZER};

void far_shared(const char *dir, double bytes_per_s, double open_ms)
{
    pthread_mutex_lock(&fs.lock);
    fs.dir = dir;
    fs.bytes_per_s = bytes_per_s;
    fs.open_s = open_ms / 1000;
    fs.moved_until = fs.opened_until = 0;
    fs.bytes = fs.opened = 0;
    pthread_mutex_unlock(&fs.lock);
}

uint64_t far_shared_bytes(void)
{
    return fs.bytes;
}

uint64_t far_shared_opened(void)
{
    return fs.opened;
}

/* Queue for `seconds` of a server that serves one after another, and wait until that is over. */
static void wait_turn(double *until, double seconds)
{
    pthread_mutex_lock(&fs.lock);
    double now = sk_now(), end = (*until > now ? *until : now) + seconds;
    *until = end;
    pthread_mutex_unlock(&fs.lock);
    while ((now = sk_now()) < end) {
        double left = end - now;
        struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&t, NULL);
    }
}

static void move(int fd, size_t n)
{
    if (!n || !fs.dir || fd < 0 || fd >= DESCRIPTORS || !fs.shared[fd])
        return;
    __atomic_fetch_add(&fs.bytes, n, __ATOMIC_RELAXED);
    if (fs.bytes_per_s > 0)
        wait_turn(&fs.moved_until, (double)n / fs.bytes_per_s);
}

int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __real_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __real_read(int fd, void *data, size_t n);
ssize_t __real_pread(int fd, void *data, size_t n, off_t at);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_read(int fd, void *data, size_t n);
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at);

int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    int mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    int fd = __real_open(path, flags, mode);
    int ours =
        fd >= 0 && fs.dir && !strncmp(path, fs.dir, strlen(fs.dir)) && !(flags & O_DIRECTORY);
    if (fd >= 0 && fd < DESCRIPTORS)
        fs.shared[fd] = (uint8_t)ours;
    if (ours)
        __atomic_fetch_add(&fs.opened, 1, __ATOMIC_RELAXED);
    if (ours && fs.open_s > 0)
        wait_turn(&fs.opened_until, fs.open_s);
    return fd;
}

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    move(fd, n);
    return __real_write(fd, data, n);
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at)
{
    move(fd, n);
    return __real_pwrite(fd, data, n, at);
}

ssize_t __wrap_read(int fd, void *data, size_t n)
{
    ssize_t got = __real_read(fd, data, n);
    move(fd, got > 0 ? (size_t)got : 0);
    return got;
}

ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at)
{
    ssize_t got = __real_pread(fd, data, n, at);
    move(fd, got > 0 ? (size_t)got : 0);
    return got;
}
