/* What MPI's TCP calls, called by an object that has its name. */
#ifndef SK_WORLD_BROKEN_TESTING_H
#define SK_WORLD_BROKEN_TESTING_H

#include <sys/types.h>
#include <sys/uio.h>

struct broken_calls {
    ssize_t (*writev)(int, const struct iovec *, int);
    ssize_t (*readv)(int, const struct iovec *, int);
    ssize_t (*send)(int, const void *, size_t, int);
    ssize_t (*recv)(int, void *, size_t, int);
};
extern const struct broken_calls broken_calls;

#endif
