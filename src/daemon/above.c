/* Finds `saikai run` by what it tells of itself, and asks the system for a descriptor of its process. */
#include "daemon/above.h"

#include "base/host/life.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int sk_above_open(const char *text)
{
    struct sk_life l;
    const char *life = text ? strchr(text, ' ') : NULL;
    if (!life || sk_life_parse(life + 1, &l) || sk_life_goes_on(&l) == -1)
        return -1;
    /* Should another process have its number by now, then it has ended before that one does. */
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)l.pid, 0u); /* since Linux 5.3; it is closed by exec */
    return fd < 0 && errno == ESRCH ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fd; /* that can always be read */
}
