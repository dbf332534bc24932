/* Asks `mpirun --version`: "mpirun (Open MPI) 5.0.7". A launcher may be a script of anybody's, so there is a limit. */
#include "recovery/launch/version/openmpi_version.h"

#include "base/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const double limit_s = 10;

static pid_t begin(const char *launcher, int to)
{
    char *argv[] = {(char *)launcher, "--version", NULL};
    pid_t pid = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawn(&pid, launcher, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : pid;
}

/* What it prints until it ends, as far as there is room. */
static void listen_to(int fd, char *text, size_t cap)
{
    double until = sk_now() + limit_s, left;
    size_t n = 0;
    ssize_t got = 1;
    while (n + 1 < cap && got > 0 && (left = until - sk_now()) > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, (int)(left * 1000) + 1) > 0 && (got = read(fd, text + n, cap - 1 - n)) > 0)
            n += (size_t)got;
    }
    text[n] = 0;
}

static int ask(const char *launcher)
{
    static const char mark[] = "(Open MPI) ";
    char text[512];
    int p[2];
    if (pipe2(p, O_CLOEXEC))
        return 0;
    pid_t pid = begin(launcher, p[1]);
    close(p[1]);
    *text = 0;
    if (pid > 0) {
        listen_to(p[0], text, sizeof text);
        kill(pid, SIGKILL); /* it has said what it had to say */
        waitpid(pid, NULL, 0);
    }
    close(p[0]);
    const char *at = strstr(text, mark);
    return at ? (int)strtol(at + strlen(mark), NULL, 10) : 0;
}

int sk_openmpi_version(const char *launcher)
{
    static char asked[PATH_MAX];
    static int version;
    if (strcmp(asked, launcher)) {
        snprintf(asked, sizeof asked, "%s", launcher);
        version = ask(launcher);
    }
    return version;
}

int sk_openmpi_notices_deaths(const char *launcher)
{
    return sk_openmpi_version(launcher) >= 5;
}
