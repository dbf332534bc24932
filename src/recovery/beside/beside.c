/* How a process beside `saikai run` begins, and how its end is seen. */
#include "recovery/beside/beside.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void sk_beside_become(pid_t parent, int pipe, const char *name, void (*on_term)(int number))
{
    struct sigaction term = {.sa_handler = on_term};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), own = fcntl(pipe, F_DUPFD_CLOEXEC, 10);
    setpgid(0, 0); /* the terminal's signals are for `saikai run` */
    sigset_t none; /* `saikai run` holds its own back */
    sigemptyset(&none);
    sigaction(SIGTERM, &term, NULL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || null < 0 || own < 0)
        _exit(1);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(own, 3);
    close_range(4, ~0U, 0);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, name);
    setpriority(PRIO_PROCESS, 0, 5);
}

int sk_beside_is_gone(pid_t *pid)
{
    if (*pid && waitpid(*pid, NULL, WNOHANG))
        *pid = 0;
    return !*pid;
}

int sk_beside_pending(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    sigset_t set;
    for (size_t i = 0; !sigpending(&set) && i < sizeof ends / sizeof *ends; i++)
        if (sigismember(&set, ends[i]))
            return ends[i];
    return 0;
}
