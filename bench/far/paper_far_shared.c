/* A server of limited bandwidth between a program and the files below one directory: the calls that
 * open, read and write there wait for their turn. */
#include "paper_far_shared.h"

#include "base/clock.h"
#include "paper_far_model.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS = 4096 };

/* What all processes have in common; times in nanoseconds of the monotonic clock. */
struct server {
    _Atomic int64_t moved_until, opened_until; /* until when bytes and opens are promised */
    _Atomic uint64_t bytes, opened;
    _Atomic int open_now, open_most;
};

static struct server here;
static struct {
    struct server *server;
    const char *dir;
    double bytes_per_s, open_s, contention;
    int timed;
    _Atomic int64_t step_ns[FAR_STEPS];
    _Atomic uint8_t shared[DESCRIPTORS]; /* a number goes from a thread that closes to one that opens */
} fs = {.server = &here};

int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __real_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __real_read(int fd, void *data, size_t n);
ssize_t __real_pread(int fd, void *data, size_t n, off_t at);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at);
ssize_t __wrap_read(int fd, void *data, size_t n);
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at);

int far_shared_join(const char *path)
{
    int fd = __real_open(path, O_RDWR | O_CLOEXEC);
    void *p =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof here, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED)
        return -1;
    fs.server = p;
    return 0;
}

void far_shared(const char *dir, double bytes_per_s, double open_ms)
{
    prctl(PR_SET_TIMERSLACK, 1); /* threads that are made from now on sleep as exactly */
    fs.dir = dir;
    fs.bytes_per_s = bytes_per_s;
    fs.open_s = open_ms / 1000;
    fs.server->moved_until = fs.server->opened_until = 0;
    fs.server->bytes = fs.server->opened = 0;
    fs.contention = 0;
    fs.timed = 0;
    fs.server->open_now = fs.server->open_most = 0;
}

void far_shared_contention(double per_file)
{
    fs.contention = per_file;
}

void far_shared_time_steps(void)
{
    for (int i = 0; i < FAR_STEPS; i++)
        fs.step_ns[i] = 0;
    fs.timed = 1;
}

void far_shared_steps(double seconds[FAR_STEPS])
{
    for (int i = 0; i < FAR_STEPS; i++)
        seconds[i] = (double)fs.step_ns[i] * 1e-9;
}

uint64_t far_shared_bytes(void)
{
    return fs.server->bytes;
}

uint64_t far_shared_opened(void)
{
    return fs.server->opened;
}

int far_shared_at_once(void)
{
    return fs.server->open_most;
}

static void count_open(void)
{
    int now = atomic_fetch_add(&fs.server->open_now, 1) + 1, most = atomic_load(&fs.server->open_most);
    while (most < now && !atomic_compare_exchange_weak(&fs.server->open_most, &most, now))
        continue;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Queue for `seconds` of a server that serves one after another, having come at `begun`, and wait
 * until that is over. */
static void wait_turn(_Atomic int64_t *until, int64_t begun, double seconds)
{
    int64_t before = atomic_load(until), end;
    do
        end = (before > begun ? before : begun) + (int64_t)(seconds * 1e9);
    while (!atomic_compare_exchange_weak(until, &before, end));
    struct timespec t = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    while (now_ns() < end)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void far_wait_turn(_Atomic int64_t *until, double seconds)
{
    wait_turn(until, now_ns(), seconds);
}

static int is_shared(int fd)
{
    return fs.dir && fd >= 0 && fd < DESCRIPTORS && fs.shared[fd];
}

static int64_t own_ns(void)
{
    struct timespec t;
    if (!fs.timed)
        return 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void count_step(int fd, int writes, int64_t begun)
{
    if (fs.timed)
        fs.step_ns[is_shared(fd) ? (writes ? FAR_WRITE_SHARED : FAR_READ_SHARED) : writes ? FAR_WRITE_NODE : FAR_READ_NODE] += own_ns() - begun;
}

static void move(int64_t begun, ssize_t n)
{
    if (n <= 0)
        return;
    fs.server->bytes += (uint64_t)n;
    if (fs.bytes_per_s > 0)
        wait_turn(&fs.server->moved_until, begun,
                  (double)n / fs.bytes_per_s * far_slowdown(fs.server->open_now, fs.contention));
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    int mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    int64_t begun = now_ns();
    int fd = __real_open(path, flags, mode);
    int ours =
        fd >= 0 && fs.dir && !strncmp(path, fs.dir, strlen(fs.dir)) && !(flags & O_DIRECTORY);
    if (fd >= 0 && fd < DESCRIPTORS) {
        if (fs.shared[fd]) /* closed by who did not pass here */
            fs.server->open_now--;
        fs.shared[fd] = (uint8_t)ours;
        if (ours)
            count_open();
    }
    if (ours)
        fs.server->opened++;
    if (ours && fs.open_s > 0)
        wait_turn(&fs.server->opened_until, begun, fs.open_s);
    return fd;
}

int __wrap_close(int fd)
{
    if (is_shared(fd)) {
        fs.shared[fd] = 0;
        fs.server->open_now--;
    }
    return __real_close(fd);
}

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    int64_t begun = is_shared(fd) ? now_ns() : 0, own = own_ns();
    ssize_t done = __real_write(fd, data, n);
    count_step(fd, 1, own);
    if (begun)
        move(begun, done);
    return done;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at)
{
    int64_t begun = is_shared(fd) ? now_ns() : 0, own = own_ns();
    ssize_t done = __real_pwrite(fd, data, n, at);
    count_step(fd, 1, own);
    if (begun)
        move(begun, done);
    return done;
}

ssize_t __wrap_read(int fd, void *data, size_t n)
{
    int64_t begun = is_shared(fd) ? now_ns() : 0, own = own_ns();
    ssize_t got = __real_read(fd, data, n);
    count_step(fd, 0, own);
    if (begun)
        move(begun, got);
    return got;
}

ssize_t __wrap_pread(int fd, void *data, size_t n, off_t at)
{
    int64_t begun = is_shared(fd) ? now_ns() : 0, own = own_ns();
    ssize_t got = __real_pread(fd, data, n, at);
    count_step(fd, 0, own);
    if (begun)
        move(begun, got);
    return got;
}
