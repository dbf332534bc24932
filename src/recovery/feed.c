/* Opens a file anew for each start, or keeps what came through a pipe and passes it on without ever
 * blocking. */
#include "recovery/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 64 << 10 };

struct sk_feed {
    int fd, pipe; /* pipe: write end towards the present start, -1: none */
    int is_file, is_terminal, at_end;
    off_t from; /* where a regular file was when we began */
    struct sk_buf kept;
    size_t given;   /* of kept, to the present start */
    size_t dropped; /* bytes that no later start can have */
};

struct sk_feed *sk_feed_new(int fd)
{
    struct stat st;
    struct sk_feed *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->fd = fd;
    f->pipe = -1;
    if (fstat(fd, &st)) {
        f->at_end = 1; /* no standard input at all */
        return f;
    }
    f->is_file = S_ISREG(st.st_mode);
    f->is_terminal = isatty(fd);
    if (f->is_file)
        f->from = lseek(fd, 0, SEEK_CUR);
    return f;
}

void sk_feed_free(struct sk_feed *f)
{
    if (!f)
        return;
    if (f->pipe >= 0)
        close(f->pipe);
    sk_buf_free(&f->kept);
    free(f);
}

static int reopen(const struct sk_feed *f, struct saikai_error *err)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || lseek(fd, f->from, SEEK_SET) < 0) {
        int e = errno;
        if (fd >= 0)
            close(fd);
        return sk_fail_errno(err, e, "cannot open standard input again");
    }
    return fd;
}

int sk_feed_start(struct sk_feed *f, int *incomplete, struct saikai_error *err)
{
    int p[2];
    *incomplete = f->dropped > 0;
    if (f->is_file)
        return reopen(f, err);
    if (pipe2(p, O_CLOEXEC))
        return sk_fail_errno(err, errno, "cannot make a pipe for standard input");
    if (f->pipe >= 0)
        close(f->pipe);
    f->pipe = p[1];
    fcntl(f->pipe, F_SETFL, O_NONBLOCK);
    f->given = 0;
    return p[0];
}

/* Reading a terminal from the background would stop us. */
static int may_read(const struct sk_feed *f)
{
    return !f->is_file && !f->at_end && (!f->is_terminal || tcgetpgrp(f->fd) == getpgrp());
}

void sk_feed_waits(const struct sk_feed *f, struct sk_wait *waits)
{
    size_t pending = f->kept.len - f->given;
    waits[0] = (struct sk_wait){.fd = f->pipe >= 0 && may_read(f) && pending < CHUNK ? f->fd : -1};
    waits[1] = (struct sk_wait){.fd = f->pipe >= 0 && pending ? f->pipe : -1, .out = 1};
}

static void close_pipe(struct sk_feed *f)
{
    close(f->pipe);
    f->pipe = -1;
}

static void take(struct sk_feed *f)
{
    size_t before = f->kept.len;
    void *room = sk_buf_extend(&f->kept, CHUNK);
    if (!room) {
        f->at_end = 1;
        return;
    }
    ssize_t n = read(f->fd, room, CHUNK);
    f->kept.len = before + (n > 0 ? (size_t)n : 0);
    if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
        f->at_end = 1;
}

void sk_feed_pump(struct sk_feed *f, const struct sk_wait *waits)
{
    if (waits[0].fd >= 0 && waits[0].ready)
        take(f);
    if (f->pipe >= 0 && f->given < f->kept.len) {
        ssize_t n = write(f->pipe, f->kept.data + f->given, f->kept.len - f->given);
        if (n > 0)
            f->given += (size_t)n;
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            close_pipe(f); /* the job reads no more */
    }
    if (f->pipe >= 0 && f->at_end && !f->is_file && f->given == f->kept.len)
        close_pipe(f);
    if (f->given == f->kept.len && f->kept.len > SK_FEED_KEEP) {
        f->dropped += f->kept.len;
        f->kept.len = f->given = 0;
    }
}
