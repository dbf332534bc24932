/* The calls that change files, each done and written down in one go. */
#include "lib/whole/powercut_record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct powercut_log *recording;
static char below[PATH_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Writable mappings that are there, and a descriptor of each file for reading. */
static struct {
    char *start;
    uint64_t inode;
    int fd;
} map[64];

int __real_open(const char *path, int flags, ...);
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __real_pwrite(int fd, const void *data, size_t n, off_t at);
int __real_ftruncate(int fd, off_t size);
int __real_posix_fallocate(int fd, off_t at, off_t n);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_msync(void *start, size_t n, int flags);
int __real_rename(const char *from, const char *to);
int __real_link(const char *from, const char *to);
int __real_unlink(const char *path);
int __real_unlinkat(int dir, const char *path, int flags);
int __real_rmdir(const char *path);
int __real_mkdir(const char *path, mode_t mode);
void *__real_mmap(void *start, size_t n, int prot, int flags, int fd, off_t at);
void *__real_mremap(void *start, size_t n, size_t to, int flags, ...);
int __real_munmap(void *start, size_t n);

int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *data, size_t n);
ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_posix_fallocate(int fd, off_t at, off_t n);
int __wrap_fsync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_msync(void *start, size_t n, int flags);
int __wrap_rename(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int dir, const char *path, int flags);
int __wrap_rmdir(const char *path);
int __wrap_mkdir(const char *path, mode_t mode);
void *__wrap_mmap(void *start, size_t n, int prot, int flags, int fd, off_t at);
void *__wrap_mremap(void *start, size_t n, size_t to, int flags, ...);
int __wrap_munmap(void *start, size_t n);

struct powercut_log *powercut_log_new(long most, size_t bytes)
{
    size_t all = sizeof(struct powercut_log) + (size_t)most * sizeof(struct powercut_event) + bytes;
    struct powercut_log *l =
        __real_mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (l == MAP_FAILED)
        return NULL;
    l->most = most;
    l->event = (struct powercut_event *)(l + 1);
    l->arena = (uint8_t *)(l->event + most);
    l->size = bytes;
    return l;
}

void powercut_log_free(struct powercut_log *l)
{
    __real_munmap(l, sizeof *l + (size_t)l->most * sizeof *l->event + l->size);
}

void powercut_record_begin(struct powercut_log *log, const char *dir)
{
    snprintf(below, sizeof below, "%s/", dir);
    recording = log;
}

/* With the lock held: n bytes of the log's own, or NULL. */
static uint8_t *room(size_t n)
{
    struct powercut_log *l = recording;
    if (l->size - l->used < n) {
        l->full = 1;
        return NULL;
    }
    uint8_t *p = l->arena + l->used;
    l->used += n;
    return p;
}

static const char *kept(const char *path)
{
    char *p = (char *)room(strlen(path) + 1);
    return p ? strcpy(p, path) : NULL;
}

static void put(struct powercut_event e)
{
    struct powercut_log *l = recording;
    if (l->count == l->most)
        l->full = 1;
    else
        l->event[l->count++] = e;
}

/* The path below the directory, or NULL: not ours. */
static const char *ours(const char *path)
{
    size_t n = strlen(below);
    return recording && !strncmp(path, below, n) ? path + n : NULL;
}

static const char *ours_at(int dir, const char *path, char out[PATH_MAX])
{
    char link[64];
    if (*path == '/' || dir == AT_FDCWD)
        return ours(path);
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n < 0)
        return NULL;
    snprintf(out + n, PATH_MAX - (size_t)n, "%s%s", *path ? "/" : "", path);
    return ours(out);
}

/* The number of an open file or directory below ours (or ours itself), 0: not ours. */
static uint64_t inode_of(int fd)
{
    char path[PATH_MAX];
    struct stat st;
    if (!recording || fd < 0 || fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return 0;
    path[0] = 0;
    return ours_at(fd, "", path) || !strncmp(path, below, strlen(below) - 1) ? st.st_ino : 0;
}

static uint64_t inode_at(const char *path)
{
    struct stat st;
    return lstat(path, &st) ? 0 : st.st_ino;
}

/* With the lock held: what a mapped file holds now. */
static void look_into(uint64_t inode)
{
    struct stat st;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        if (!map[i].start || map[i].inode != inode || fstat(map[i].fd, &st))
            continue;
        uint8_t *p = room((size_t)st.st_size);
        if (p && pread(map[i].fd, p, (size_t)st.st_size, 0) == st.st_size)
            put((struct powercut_event){POWERCUT_CONTENT, inode, 0, (size_t)st.st_size, p, NULL, NULL});
        return;
    }
}

static void begin(void)
{
    pthread_mutex_lock(&lock);
}

static void end(void)
{
    int e = errno;
    pthread_mutex_unlock(&lock);
    errno = e;
}

void powercut_mark(int64_t what)
{
    begin();
    if (recording)
        put((struct powercut_event){.op = POWERCUT_MARK, .at = what});
    end();
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    int mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    begin();
    const char *name = ours(path);
    int there = name && !access(path, F_OK), fd = __real_open(path, flags, mode), e = errno;
    if (name && fd >= 0 && flags & O_CREAT && !there)
        put((struct powercut_event){POWERCUT_CREATE, inode_at(path), 0, 0, NULL, kept(name), NULL});
    else if (name && fd >= 0 && flags & O_TRUNC)
        put((struct powercut_event){.op = POWERCUT_SIZE, .inode = inode_at(path)});
    errno = e;
    end();
    return fd;
}

static void put_write(int fd, const void *data, ssize_t n, off_t at)
{
    uint64_t inode = n > 0 ? inode_of(fd) : 0;
    uint8_t *p = inode ? room((size_t)n) : NULL;
    if (p)
        put((struct powercut_event){POWERCUT_WRITE, inode, at, (size_t)n, memcpy(p, data, (size_t)n), NULL, NULL});
}

ssize_t __wrap_write(int fd, const void *data, size_t n)
{
    begin();
    off_t at = recording ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t k = __real_write(fd, data, n);
    if (at >= 0)
        put_write(fd, data, k, at);
    end();
    return k;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t n, off_t at)
{
    begin();
    ssize_t k = __real_pwrite(fd, data, n, at);
    put_write(fd, data, k, at);
    end();
    return k;
}

static void put_size(int fd)
{
    struct stat st;
    uint64_t inode = inode_of(fd);
    if (inode && !fstat(fd, &st))
        put((struct powercut_event){.op = POWERCUT_SIZE, .inode = inode, .at = st.st_size});
}

int __wrap_ftruncate(int fd, off_t size)
{
    begin();
    int rc = __real_ftruncate(fd, size);
    if (!rc)
        put_size(fd);
    end();
    return rc;
}

int __wrap_posix_fallocate(int fd, off_t at, off_t n)
{
    begin();
    int rc = __real_posix_fallocate(fd, at, n);
    if (!rc)
        put_size(fd);
    end();
    return rc;
}

static int sync_file(int fd, int (*sync)(int fd))
{
    begin();
    uint64_t inode = inode_of(fd);
    if (inode)
        look_into(inode);
    int rc = sync(fd);
    if (inode && !rc)
        put((struct powercut_event){.op = POWERCUT_SYNC, .inode = inode});
    end();
    return rc;
}

int __wrap_fsync(int fd)
{
    return sync_file(fd, __real_fsync);
}

int __wrap_fdatasync(int fd)
{
    return sync_file(fd, __real_fdatasync);
}

int __wrap_msync(void *start, size_t n, int flags)
{
    begin();
    int rc = __real_msync(start, n, flags);
    for (size_t i = 0; recording && !rc && flags & MS_SYNC && i < sizeof map / sizeof *map; i++)
        if (map[i].start == start) {
            look_into(map[i].inode);
            put((struct powercut_event){.op = POWERCUT_SYNC, .inode = map[i].inode});
        }
    end();
    return rc;
}

int __wrap_rename(const char *from, const char *to)
{
    begin();
    const char *name = ours(from), *name2 = ours(to);
    uint64_t inode = name ? inode_at(from) : 0;
    if (inode)
        look_into(inode);
    int rc = __real_rename(from, to), e = errno;
    if (!rc && name && name2)
        put((struct powercut_event){POWERCUT_RENAME, inode, 0, 0, NULL, kept(name), kept(name2)});
    errno = e;
    end();
    return rc;
}

/* The last one of two names: the first one goes next, and holds nothing that anybody looks for. So it is a rename. */
static char linked[PATH_MAX];

int __wrap_link(const char *from, const char *to)
{
    begin();
    const char *name = ours(from), *name2 = ours(to);
    uint64_t inode = name ? inode_at(from) : 0;
    int rc = __real_link(from, to), e = errno;
    if (!rc && name && name2) {
        put((struct powercut_event){POWERCUT_RENAME, inode, 0, 0, NULL, kept(name), kept(name2)});
        snprintf(linked, sizeof linked, "%s", name);
    }
    errno = e;
    end();
    return rc;
}

static int remove_it(int dir, const char *path, int flags)
{
    char whole[PATH_MAX];
    begin();
    const char *name = recording ? ours_at(dir, path, whole) : NULL;
    int rc = __real_unlinkat(dir, path, flags), e = errno;
    if (!rc && name && strcmp(name, linked))
        put((struct powercut_event){.op = flags & AT_REMOVEDIR ? POWERCUT_RMDIR : POWERCUT_UNLINK, .path = kept(name)});
    errno = e;
    end();
    return rc;
}

int __wrap_unlink(const char *path)
{
    return remove_it(AT_FDCWD, path, 0);
}

int __wrap_unlinkat(int dir, const char *path, int flags)
{
    return remove_it(dir, path, flags);
}

int __wrap_rmdir(const char *path)
{
    return remove_it(AT_FDCWD, path, AT_REMOVEDIR);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    begin();
    int rc = __real_mkdir(path, mode), e = errno;
    const char *name = ours(path);
    if (!rc && name)
        put((struct powercut_event){POWERCUT_MKDIR, inode_at(path), 0, 0, NULL, kept(name), NULL});
    errno = e;
    end();
    return rc;
}

void *__wrap_mmap(void *start, size_t n, int prot, int flags, int fd, off_t at)
{
    char path[64];
    begin();
    void *p = __real_mmap(start, n, prot, flags, fd, at);
    uint64_t inode = p != MAP_FAILED && prot & PROT_WRITE && flags & MAP_SHARED ? inode_of(fd) : 0;
    size_t i = 0;
    while (inode && i < sizeof map / sizeof *map && map[i].start)
        i++;
    if (inode && i < sizeof map / sizeof *map) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd); /* a description of its own: locks stay as they are */
        map[i].fd = __real_open(path, O_RDONLY | O_CLOEXEC);
        map[i].start = p;
        map[i].inode = inode;
    } else if (inode) {
        recording->full = 1;
    }
    end();
    return p;
}

void *__wrap_mremap(void *start, size_t n, size_t to, int flags, ...)
{
    begin();
    void *p = __real_mremap(start, n, to, flags);
    for (size_t i = 0; p != MAP_FAILED && i < sizeof map / sizeof *map; i++)
        if (map[i].start == start)
            map[i].start = p;
    end();
    return p;
}

int __wrap_munmap(void *start, size_t n)
{
    begin();
    for (size_t i = 0; recording && i < sizeof map / sizeof *map; i++)
        if (map[i].start && map[i].start == start) {
            look_into(map[i].inode);
            close(map[i].fd);
            map[i].start = NULL;
        }
    int rc = __real_munmap(start, n);
    end();
    return rc;
}
