/* A descriptor that is closed is the lowest free one, which the next open gets: so each is taken in turn. */
#include "base/file/standard.h"

#include <fcntl.h>
#include <unistd.h>

void sk_standard_hold(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
            return; /* no /dev/null: as it was */
}

void sk_standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int flags = fcntl(fd, F_GETFL), wrong = fd ? O_RDONLY : O_WRONLY;
        int null = flags >= 0 && (flags & O_ACCMODE) == wrong ? open("/dev/null", fd ? O_WRONLY : O_RDONLY) : -1;
        if (null >= 0) {
            dup2(null, fd);
            close(null);
        }
    }
}
