/* Built as an object with the name of MPI's component for TCP. */
#include "world/broken/broken_testing.h"

#include <sys/socket.h>

/* One more statement behind each call, as what is called last may be jumped to, and returns to somebody else then. */
static volatile int calls;

static ssize_t writes(int fd, const struct iovec *v, int n)
{
    ssize_t done = writev(fd, v, n);
    calls++;
    return done;
}

static ssize_t reads(int fd, const struct iovec *v, int n)
{
    ssize_t done = readv(fd, v, n);
    calls++;
    return done;
}

static ssize_t sends(int fd, const void *buf, size_t n, int flags)
{
    ssize_t done = send(fd, buf, n, flags);
    calls++;
    return done;
}

static ssize_t receives(int fd, void *buf, size_t n, int flags)
{
    ssize_t done = recv(fd, buf, n, flags);
    calls++;
    return done;
}

__attribute__((visibility("default"))) const struct broken_calls broken_calls = {writes, reads, sends, receives};
