/* Open MPI's TCP is told from other callers by where its code is. A connection whose other end is gone is still read to its end, as what the dead had sent counts; what
 * is sent there is taken for sent meanwhile. Then a socket on which nothing happens takes its place. */
#include "world/broken/broken.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

/* Where the code of MPI's TCP is; begin 0: not known, and nobody is answered otherwise than by the C library. */
static uintptr_t code_begin, code_end;

/* What is known of a descriptor. ENDLESS: MPI must not see its end, as it has something left to send, as far as its last call tells, or what it sent was taken for
 * sent. GREETED: MPI has said its first words there, and waits for the other end's. */
enum known { NOTHING, ENDLESS, GREETED };
enum { DESCRIPTORS = 1 << 16 };
static unsigned char known[DESCRIPTORS];

static int is_mpi(const void *caller)
{
    return (uintptr_t)caller >= code_begin && (uintptr_t)caller < code_end;
}

static void note(int fd, enum known what)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        known[fd] = (unsigned char)what;
}

static int is_known(int fd, enum known what)
{
    return fd >= 0 && fd < DESCRIPTORS && known[fd] == what;
}

/* In place of a connection: a socket that can always be written to, as far as poll says, and from which nothing comes. What is written to it fails with
 * ENOTCONN. MPI looks at it no more often than at a connection that is idle. */
static int replace(int fd)
{
    int rc, quiet = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (quiet < 0)
        return -1;
    rc = dup3(quiet, fd, O_CLOEXEC);
    close(quiet);
    return rc < 0 ? -1 : 0;
}

/* Of an error of sending. */
static int is_gone(int error)
{
    return error == ENOTCONN || error == EPIPE || error == ECONNRESET;
}

static size_t length_of(const struct iovec *v, int n)
{
    size_t all = 0;
    for (int i = 0; i < n; i++)
        all += v[i].iov_len;
    return all;
}

static ssize_t mpi_writes(int fd, const struct iovec *v, int n)
{
    struct msghdr m = {.msg_iov = (struct iovec *)v, .msg_iovlen = (size_t)n};
    size_t all = length_of(v, n);
    ssize_t done = sendmsg(fd, &m, MSG_NOSIGNAL);
    int error = errno;
    note(fd, done < (ssize_t)all ? ENDLESS : NOTHING);
    errno = error;
    return done < 0 && is_gone(error) ? (ssize_t)all : done;
}

static ssize_t mpi_reads(int fd, ssize_t got)
{
    int error = errno;
    if (((!got && is_known(fd, ENDLESS)) || (got < 0 && error == ECONNRESET)) && !replace(fd)) {
        got = -1;
        error = EAGAIN;
    }
    errno = error;
    return got;
}

/* The first words on a connection. */
static ssize_t mpi_sends(int fd, const void *buf, size_t n, int flags)
{
    ssize_t done = sendto(fd, buf, n, flags | MSG_NOSIGNAL, NULL, 0);
    int error = errno;
    note(fd, done < 0 ? ENDLESS : GREETED);
    errno = error;
    return done < 0 && is_gone(error) ? (ssize_t)n : done;
}

/* ---- in place of the C library's ---- */

static void *next(const char *name, void **kept)
{
    if (!*kept)
        *kept = dlsym(RTLD_NEXT, name);
    return *kept;
}

static void *next_writev, *next_readv, *next_send, *next_recv;

SHOWN ssize_t writev(int fd, const struct iovec *v, int n)
{
    if (is_mpi(__builtin_return_address(0)))
        return mpi_writes(fd, v, n);
    return ((ssize_t(*)(int, const struct iovec *, int))next("writev", &next_writev))(fd, v, n);
}

SHOWN ssize_t readv(int fd, const struct iovec *v, int n)
{
    int mine = is_mpi(__builtin_return_address(0));
    ssize_t got = ((ssize_t(*)(int, const struct iovec *, int))next("readv", &next_readv))(fd, v, n);
    return mine && got <= 0 ? mpi_reads(fd, got) : got;
}

SHOWN ssize_t send(int fd, const void *buf, size_t n, int flags)
{
    if (is_mpi(__builtin_return_address(0)))
        return mpi_sends(fd, buf, n, flags);
    return ((ssize_t(*)(int, const void *, size_t, int))next("send", &next_send))(fd, buf, n, flags);
}

/* Where the other end dies before its answer, MPI takes nothing for the end of the job, and an error for a connection that is not to be. Whoever came and went without a word
 * is none of its business in any case. */
SHOWN ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    int mine = is_mpi(__builtin_return_address(0));
    ssize_t got = ((ssize_t(*)(int, void *, size_t, int))next("recv", &next_recv))(fd, buf, n, flags);
    if (!mine || got < 0 || !n)
        return got;
    int is_answer = is_known(fd, GREETED) || is_known(fd, ENDLESS);
    note(fd, NOTHING);
    if (got || !is_answer)
        return got;
    errno = ECONNRESET;
    return -1;
}

/* ---- whose calls are MPI's ---- */

static int is_named(const char *path, const char *name)
{
    const char *last = path ? strrchr(path, '/') : NULL;
    last = last ? last + 1 : path;
    return last && !strncmp(last, name, strlen(name));
}

struct search {
    const char *name;
    uintptr_t begin, end;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct search *s = arg;
    (void)size;
    if (!is_named(info->dlpi_name, s->name))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            s->begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            s->end = s->begin + info->dlpi_phdr[i].p_memsz;
        }
    return 1;
}

void sk_broken_begin(void)
{
    /* a component of its own, or a part of the library where Open MPI was made so */
    static const char *const names[] = {"mca_btl_tcp.so", "libopen-pal.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct search s = {.name = names[i]};
        if (dl_iterate_phdr(look, &s) && s.begin) {
            code_end = s.end;
            code_begin = s.begin;
            return;
        }
    }
}
