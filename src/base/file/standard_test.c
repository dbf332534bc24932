/* A process without some of its standard streams: nothing that it opens gets their numbers, and what it writes there is an error. */
#include "base/file/standard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_null(int fd)
{
    struct stat st, null;
    return !fstat(fd, &st) && !stat("/dev/null", &null) && S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev;
}

/* In a child without the streams of the bits of closed: 0, or which look found what is wrong. */
static int look(int closed)
{
    int before[3];
    char c = 'x';
    for (int fd = 0; fd < 3; fd++)
        if (closed & 1 << fd)
            close(fd);
        else
            before[fd] = fcntl(fd, F_GETFL);
    sk_standard_hold();
    int mine = open("/dev/zero", O_RDWR | O_CLOEXEC);
    if (mine < 3)
        return 1;
    for (int fd = 0; fd < 3; fd++)
        if (!(closed & 1 << fd)) {
            if (fcntl(fd, F_GETFL) != before[fd])
                return 2;
        } else if (!is_null(fd) || (fd ? write(fd, &c, 1) : read(fd, &c, 1)) != -1 || errno != EBADF) {
            return 3;
        }
    sk_standard_open(); /* for what is started now */
    for (int fd = 0; fd < 3; fd++)
        if (!(closed & 1 << fd)) {
            if (fcntl(fd, F_GETFL) != before[fd])
                return 4;
        } else if (!is_null(fd) || (fd ? write(fd, &c, 1) != 1 : read(fd, &c, 1) != 0)) {
            return 5;
        }
    return 0;
}

static void numbers_of_closed_streams_are_not_given_away(void **state)
{
    (void)state;
    for (int closed = 0; closed < 8; closed++) {
        int status;
        pid_t pid = fork();
        if (!pid)
            _exit(look(closed));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_closed_streams_are_not_given_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
