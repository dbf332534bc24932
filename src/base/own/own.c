/* A table of what each remembered number stood for, by device, inode and kind of the file. */
#include "base/own/own.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct kept {
    int is, goes;
    dev_t device;
    ino_t inode;
    mode_t kind;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct kept *table; /* by number */
static int size;

/* With the lock. */
static int is_kept(int fd)
{
    return fd >= 0 && fd < size && table[fd].is;
}

/* What a number stands for now; 0: it is known. A server that does not answer is not asked (statx(2), AT_STATX_DONT_SYNC); where the kernel has no such
 * call it is, and so nobody does this with the lock. */
static int look(int fd, struct kept *k)
{
    struct statx x;
    struct stat st;
    if (!statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &x)) {
        *k = (struct kept){.device = makedev(x.stx_dev_major, x.stx_dev_minor), .inode = x.stx_ino, .kind = x.stx_mode & S_IFMT};
        return 0;
    }
    if (errno == EBADF || fstat(fd, &st))
        return -1;
    *k = (struct kept){.device = st.st_dev, .inode = st.st_ino, .kind = st.st_mode & S_IFMT};
    return 0;
}

/* 1: what was remembered of fd holds. */
static int holds(int fd, const struct kept *k)
{
    struct kept now;
    return !look(fd, &now) && now.device == k->device && now.inode == k->inode && now.kind == k->kind;
}

/* What is remembered of fd, which is forgotten with it where that is asked for; 0: nothing. */
static int recall(int fd, int forget, struct kept *k)
{
    pthread_mutex_lock(&lock);
    int is = is_kept(fd);
    if (is) {
        *k = table[fd];
        table[fd].is = !forget;
    }
    pthread_mutex_unlock(&lock);
    return is;
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    for (int fd = 0; fd < size; fd++) {
        if (table[fd].is && table[fd].goes && holds(fd, &table[fd]))
            close(fd); /* stays remembered: whoever has it in this process, too, finds that it is gone */
    }
    pthread_mutex_unlock(&lock);
}

static void begin(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* With the lock. Room for number fd. */
static int grow(int fd)
{
    int n = size ? size : 64;
    while (n <= fd)
        n *= 2;
    struct kept *t = n > size ? realloc(table, (size_t)n * sizeof *t) : table;
    if (!t)
        return -1;
    memset(t + size, 0, (size_t)(n - size) * sizeof *t);
    table = t;
    size = n;
    return 0;
}

/* With the lock. The same file at a number that nobody remembers; at the old one if there is no other. */
static int move_apart(int fd)
{
    while (is_kept(fd)) {
        int to = fd + 1;
        while (is_kept(to))
            to++;
        if ((to = fcntl(fd, F_DUPFD_CLOEXEC, to)) < 0) { /* the one that was there is gone in any case */
            table[fd].is = 0;
            break;
        }
        close(fd);
        fd = to;
    }
    return fd;
}

int sk_own_apart(int fd)
{
    int e = errno;
    pthread_mutex_lock(&lock);
    fd = move_apart(fd);
    pthread_mutex_unlock(&lock);
    errno = e;
    return fd;
}

int sk_own(int fd, enum sk_own_in_children what)
{
    struct kept k;
    int e = errno;
    if (fd < 0)
        return fd;
    int is = !look(fd, &k);
    k.is = 1;
    k.goes = what == SK_OWN_GOES;
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    fd = move_apart(fd);
    if (is && !grow(fd))
        table[fd] = k;
    pthread_mutex_unlock(&lock);
    errno = e;
    return fd;
}

int sk_own_is(int fd)
{
    struct kept k;
    int e = errno, is = !recall(fd, 0, &k) || holds(fd, &k);
    errno = e;
    return is;
}

int sk_own_check(int fd, const char *path, struct saikai_error *err)
{
    if (sk_own_is(fd))
        return 0;
    return sk_fail(err, SAIKAI_EIO,
                   "%s is no longer open: the program closed descriptor %d, which it had not opened (closefrom, or a loop over all numbers?), and "
                   "nothing is done with what is there now; let it close its own files only, or do that before saikai_init",
                   path, fd);
}

int sk_own_close(int fd)
{
    struct kept k;
    if (fd < 0)
        return 0;
    return !recall(fd, 1, &k) || holds(fd, &k) ? close(fd) : 0;
}
