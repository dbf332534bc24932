/* Starts commands in process groups of their own, reads what they print, and ends them when their time is over. */
#include "recovery/source/ask.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 20, NO_PROGRAM = 127 };

struct slot {
    struct sk_asked *of; /* NULL: it is free */
    int fd;              /* -1: all was read */
    double until;
};

static struct slot slots[SK_ASK_AT_ONCE];
/* Process groups, for the handler; 0: none. */
static volatile pid_t groups[SK_ASK_AT_ONCE];

void sk_ask_stop(void)
{
    for (int i = 0; i < SK_ASK_AT_ONCE; i++)
        if (groups[i] > 0)
            kill(-groups[i], SIGKILL);
}

static void become(char *const *argv, int out)
{
    static const int ours[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT, SIGTTIN, SIGTSTP};
    sigset_t none;
    int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        signal(ours[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (in >= 0)
        dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execvp(argv[0], argv);
    _exit(NO_PROGRAM);
}

/* Signals wait until the handler would know the new group. */
static pid_t start(int i, char *const *argv, int out)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t pid = fork();
    if (!pid)
        become(argv, out);
    if (pid > 0) {
        setpgid(pid, pid);
        groups[i] = pid;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static void begin(int i, struct sk_asked *a, double limit_s)
{
    int p[2];
    a->end = SK_ASKED_KILLED;
    a->code = NO_PROGRAM;
    a->n = 0;
    a->output = calloc(1, SK_ASK_OUTPUT + 1);
    if (!a->output || pipe2(p, O_CLOEXEC))
        return;
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    pid_t pid = start(i, a->argv, p[1]);
    close(p[1]);
    if (pid < 0)
        close(p[0]);
    else
        slots[i] = (struct slot){a, p[0], sk_now() + limit_s};
}

/* What is there now; what does not fit is dropped. */
static void take(struct slot *s)
{
    char rest[4096];
    ssize_t n = 1;
    for (int rounds = 0; rounds < 64 && s->fd >= 0 && n > 0; rounds++) {
        size_t room = SK_ASK_OUTPUT - s->of->n;
        n = room ? read(s->fd, s->of->output + s->of->n, room) : read(s->fd, rest, sizeof rest);
        if (n > 0 && room)
            s->of->n += (size_t)n;
        if (!n || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            close(s->fd);
            s->fd = -1;
        }
    }
}

/* Has it ended, or must it? What it left running goes with it. */
static void look(int i)
{
    struct slot *s = &slots[i];
    int status = 0, late = sk_now() >= s->until;
    if (late)
        kill(-groups[i], SIGKILL);
    pid_t got = waitpid(groups[i], &status, late ? 0 : WNOHANG);
    if (!got || (got < 0 && errno == EINTR))
        return;
    take(s);
    kill(-groups[i], SIGKILL);
    groups[i] = 0;
    s->of->end = late ? SK_ASKED_TOO_LONG : WIFEXITED(status) ? SK_ASKED_ENDED : SK_ASKED_KILLED;
    s->of->code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    if (s->fd >= 0)
        close(s->fd);
    s->of = NULL;
}

void sk_ask(struct sk_asked *a, int n, double limit_s)
{
    int next = 0, open = 1;
    while (open) {
        struct pollfd waits[SK_ASK_AT_ONCE];
        open = 0;
        for (int i = 0; i < SK_ASK_AT_ONCE; i++) {
            if (!slots[i].of && next < n)
                begin(i, &a[next++], limit_s);
            waits[i] = (struct pollfd){.fd = slots[i].of ? slots[i].fd : -1, .events = POLLIN};
            open += slots[i].of != NULL;
        }
        open += next < n; /* those that could not be started leave their places */
        poll(waits, SK_ASK_AT_ONCE, LOOK_MS);
        for (int i = 0; i < SK_ASK_AT_ONCE; i++) {
            if (slots[i].of && waits[i].revents)
                take(&slots[i]);
            if (slots[i].of)
                look(i);
        }
    }
}

void sk_asked_free(struct sk_asked *a, int n)
{
    for (int i = 0; i < n; i++)
        free(a[i].output);
}
