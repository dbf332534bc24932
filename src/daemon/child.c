/* The program of a keeper: how it is begun, in a group of its own, and how its parent ends as it did. */
#include "daemon/child.h"

#include "backbone/keeper_page.h"
#include "base/config/ranklist.h"
#include "daemon/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The rank of a process of a start in which those of the list (base/config/ranklist.h) have a second one each, behind the n ranks. */
static uint32_t rank_of_process(uint32_t process, int n, const char *list)
{
    char *named = malloc((size_t)n);
    uint32_t rank = process, next = (uint32_t)n;
    if (named && sk_ranklist_parse(list, n, named, NULL) >= 0)
        for (int r = 0; r < n; r++)
            if (named[r] && next++ == process)
                rank = (uint32_t)r;
    free(named);
    return rank;
}

int sk_child_twin(uint32_t process, int *is_second)
{
    const char *copies = getenv(SK_WORLD_COPIES_ENV);
    int n = 0, list = 0;
    *is_second = 0;
    if (!copies || sscanf(copies, "%d %*s %*s %*s %n", &n, &list) != 1 || n <= 0)
        return -1;
    *is_second = process >= (uint32_t)n;
    if (*is_second)
        return (int)rank_of_process(process, n, copies + list);
    char *is_named = malloc((size_t)n);
    int second = -1;
    if (is_named && sk_ranklist_parse(copies + list, n, is_named, NULL) >= 0 && is_named[process]) {
        second = n;
        for (uint32_t r = 0; r < process; r++)
            second += is_named[r];
    }
    free(is_named);
    return second;
}

/* In the child: who it is among how many ranks, as MPI will tell it. It may ask before MPI has begun, and be a script that starts the program. */
static void show_place(const struct sk_child *c)
{
    const char *copies = getenv(SK_WORLD_COPIES_ENV), *ranks = getenv(SK_WORLD_RANKS_ENV);
    int n = 0, list = 0;
    char text[16];
    uint32_t rank = c->rank;
    if (copies && sscanf(copies, "%d %*s %*s %*s %n", &n, &list) == 1 && n > 0)
        rank = rank_of_process(rank, n, copies + list);
    else
        n = ranks ? atoi(ranks) : 0;
    if (n <= 0 || strncmp(c->rank_env, "OMPI_", 5)) /* another MPI has no processes but ranks */
        return;
    snprintf(text, sizeof text, "%d", n);
    setenv("OMPI_COMM_WORLD_SIZE", text, 1);
    snprintf(text, sizeof text, "%u", rank);
    setenv(c->rank_env, text, 1);
}

/* In the child: the layer between program and MPI, where the launcher wants one. */
static void prepare_layer(const struct sk_child *c)
{
    const char *library = getenv(SK_WORLD_LIBRARY_ENV), *others = getenv("LD_PRELOAD");
    char text[PATH_MAX + 4096];
    if (!library)
        return;
    if (snprintf(text, sizeof text, "%s%s%s", library, others && *others ? ":" : "", others ? others : "") < (int)sizeof text)
        setenv("LD_PRELOAD", text, 1);
    snprintf(text, sizeof text, "%ld", (long)getppid());
    setenv(SK_WORLD_ENV, text, 1);
    unsetenv(SK_WORLD_LIBRARY_ENV);
    show_place(c);
    if (!c->repair)
        return;
    snprintf(text, sizeof text, "%u", c->repair);
    setenv(SK_WORLD_JOIN_ENV, text, 1);
}

/* In the child: become the program. Reports errno through the pipe when that fails. */
static void become_program(const struct sk_child *c, char **argv, int report)
{
    char fd[16], start[16];
    setpgid(0, 0); /* a group of its own: what is sent to the keeper's group comes once, through the keeper */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(fd, sizeof fd, "%d", c->page_fd);
    setenv(SK_KEEPER_FD_ENV, fd, 1);
    if (c->output >= 0)
        dup2(c->output, STDOUT_FILENO);
    snprintf(start, sizeof start, "%u", c->start);
    setenv(SK_START_ENV, start, 1);
    prepare_layer(c);
    unsetenv(SK_LINK_ENV);
    unsetenv(SK_LAST_END_ENV);
    unsetenv(SK_LEARNT_ENV);
    sigprocmask(SIG_SETMASK, c->mask, NULL);
    execvp(argv[0], argv);
    int e = errno;
    if (write(report, &e, sizeof e) < 0)
        _exit(SK_KEEPER_FAILED);
    _exit(e == ENOENT ? 127 : 126);
}

int sk_child_start(const struct sk_child *c, char **argv, pid_t *pid, int *start_errno, struct saikai_error *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC))
        return sk_fail_errno(err, errno, "cannot start %s", argv[0]);
    pid_t self = getpid();
    *pid = fork();
    if (*pid < 0) {
        int e = errno;
        close(report[0]);
        close(report[1]);
        return sk_fail_errno(err, e, "cannot start %s", argv[0]);
    }
    if (!*pid) {
        if (getppid() != self)
            _exit(SK_KEEPER_FAILED);
        become_program(c, argv, report[1]);
    }
    setpgid(*pid, *pid); /* also here: whoever comes first, a kill must reach the group */
    close(report[1]);
    if (read(report[0], start_errno, sizeof *start_errno) < 0)
        *start_errno = 0;
    close(report[0]);
    return 0;
}

void sk_child_has_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

int sk_child_exit_alike(int start_errno, int status)
{
    if (start_errno)
        return start_errno == ENOENT ? 127 : 126;
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    int n = WTERMSIG(status);
    sigset_t set;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(n, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, n);
    kill(getpid(), n);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + n;
}
