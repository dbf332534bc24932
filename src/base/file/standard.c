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
