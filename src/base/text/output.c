/* Outputs that are no plain files: links, devices, FIFOs, standard output. */
#include "base/text/output.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, PIECE = 1 << 20 };

int sk_output_is_dash(const char *path)
{
    return !strcmp(path, "-");
}

/* One link further: out->path becomes what it points to, seen from its directory. */
static int follow(struct sk_output *out, struct saikai_error *err)
{
    char to[4096], from[4096];
    ssize_t n = readlink(out->path, to, sizeof to - 1);
    if (n < 0)
        return sk_fail_errno(err, errno, "cannot read the link %s", out->path);
    to[n] = 0;
    const char *slash = *to == '/' ? NULL : strrchr(out->path, '/');
    snprintf(from, sizeof from, "%s", out->path);
    return sk_io_path(out->path, sizeof out->path, err, "%.*s%s", slash ? (int)(slash - out->path) + 1 : 0, from, to);
}

int sk_output_look(const char *path, struct sk_output *out, struct saikai_error *err)
{
    struct stat st;
    if (!*path)
        return sk_fail(err, SAIKAI_EINVAL, "the name of an output is empty");
    out->is_stream = sk_output_is_dash(path);
    int rc = sk_io_path(out->path, sizeof out->path, err, "%s", path);
    if (rc || out->is_stream)
        return rc;
    for (int links = 0; !lstat(out->path, &st) && S_ISLNK(st.st_mode); links++) {
        if (links == MOST_LINKS)
            return sk_fail_errno(err, ELOOP, "cannot write %s", path);
        /* such as /dev/stdout, whose links lead to what has no name: the kernel knows where */
        if (!strncmp(out->path, "/proc/", 6) && !stat(out->path, &st) && !S_ISREG(st.st_mode))
            break;
        if ((rc = follow(out, err)))
            return rc;
    }
    if (stat(out->path, &st))
        return errno == ENOENT ? 0 : sk_fail_errno(err, errno, "cannot write %s", path);
    if (S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISBLK(st.st_mode))
        return sk_fail(err, SAIKAI_EINVAL, "cannot write %s: it is a %s", path,
                       S_ISDIR(st.st_mode) ? "directory" : S_ISSOCK(st.st_mode) ? "socket" : "block device");
    out->is_stream = !S_ISREG(st.st_mode);
    return 0;
}

int sk_output_temporary(char *path, struct saikai_error *err)
{
    const char *dir = getenv("TMPDIR");
    for (int number = 0;; number++) {
        struct saikai_error local = {0};
        int rc = sk_io_path(path, 4096, err, "%s/saikai-%ld-%d.tmp", dir && *dir == '/' ? dir : "/tmp", (long)getpid(), number);
        int fd = rc ? rc : sk_io_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &local);
        if (fd >= 0 || rc)
            return fd;
        if (local.code == SAIKAI_EEXIST && number < 1000)
            continue;
        return sk_fail(err, local.code, "%s", local.text);
    }
}

/* A FIFO without a reader is not opened for writing: whoever is to read it may be about to come. */
static int open_stream(const struct sk_output *out, struct saikai_error *err)
{
    if (sk_output_is_dash(out->path)) {
        int fd = dup(STDOUT_FILENO);
        return fd >= 0 ? fd : sk_fail_errno(err, errno, "cannot write standard output");
    }
    for (double end = sk_now() + 10;; usleep(20000)) {
        int fd = open(out->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
            return fd;
        }
        if (errno != ENXIO && errno != EINTR)
            return sk_fail_errno(err, errno, "cannot write %s", out->path);
        if (sk_now() > end)
            return sk_fail(err, SAIKAI_EIO, "cannot write %s: nobody reads it", out->path);
    }
}

int sk_output_send(int fd, const char *from, const struct sk_output *out, struct saikai_error *err)
{
    const char *name = sk_output_is_dash(out->path) ? "standard output" : out->path;
    off_t size = 0;
    int rc = sk_io_size(fd, from, &size, err), to = rc ? rc : open_stream(out, err);
    char *buffer = to >= 0 ? malloc(PIECE) : NULL;
    if (to < 0)
        return to;
    void (*old)(int) = signal(SIGPIPE, SIG_IGN); /* a reader that left is an error with a sentence */
    if (!buffer)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to write %s", name);
    for (off_t at = 0; !rc && at < size;) {
        size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        rc = sk_io_pread(fd, from, buffer, n, at, err);
        if (!rc)
            rc = sk_io_write(to, name, buffer, n, err);
        at += (off_t)n;
    }
    if (close(to) && !rc)
        rc = sk_fail_errno(err, errno, "cannot write %s", name);
    signal(SIGPIPE, old);
    free(buffer);
    return rc;
}

int sk_output_spool_stdin(char *path, struct saikai_error *err)
{
    char name[4096];
    int fd = sk_output_temporary(name, err), rc = fd < 0 ? fd : sk_io_unlink(name, err);
    char *buffer = rc ? NULL : malloc(PIECE);
    if (!rc && !buffer)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory to read standard input");
    for (ssize_t n = 1; !rc && n;) {
        n = read(STDIN_FILENO, buffer, PIECE);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n < 0)
            rc = sk_fail_errno(err, errno, "cannot read standard input");
        else if (n)
            rc = sk_io_write(fd, name, buffer, (size_t)n, err);
    }
    free(buffer);
    if (rc && fd >= 0)
        close(fd);
    else if (!rc)
        snprintf(path, 64, "/proc/self/fd/%d", fd);
    return rc;
}

int sk_output_write(const char *path, const void *data, size_t n, struct saikai_error *err)
{
    struct sk_output out;
    char tmp[4096];
    int rc = sk_output_look(path, &out, err);
    if (rc || !out.is_stream)
        return rc ? rc : sk_io_replace(out.path, data, n, err);
    int fd = sk_output_temporary(tmp, err);
    rc = fd < 0 ? fd : sk_io_write(fd, tmp, data, n, err);
    if (!rc)
        rc = sk_output_send(fd, tmp, &out, err);
    if (fd >= 0) {
        sk_io_unlink(tmp, NULL);
        close(fd);
    }
    return rc;
}
