/* Waits for the end of `saikai run`, removes the files that it was told of, ends processes that do not do so by themselves, and takes away what
 * launchers leave that were killed. */
#include "recovery/launch/heir.h"

#include "base/clock.h"
#include "recovery/family.h"
#include "recovery/launch/remains.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* KEPT, GROUPS: of what it was told of last; what was before is gone since long. QUIT, …: how a word begins. */
enum { KEPT = 32, GROUPS = 8, WORD_MAX = PATH_MAX + 256, QUIT = 'q', AWAY = 'f', GROUP = 'g' };
/* How long an heir that is not needed may take to end; how long what was started has to end by itself, and in order. */
static const double end_s = 1, itself_s = 30, order_s = 40;

struct sk_heir {
    pid_t pid;
    int fd;
};

/* ---- its process ---- */

/* Directory and name, one after the other; name NULL: none. */
struct file {
    char *dir, *name;
};

/* In the directory or in one above it: whichever was there when the file was made. */
static void take_away(const struct file *f)
{
    char path[2 * WORD_MAX];
    for (size_t n = strlen(f->dir); n; n -= n > 0) {
        snprintf(path, sizeof path, "%.*s/%s", (int)n, f->dir, f->name);
        unlink(path);
        while (n && f->dir[n - 1] != '/')
            n--;
    }
    snprintf(path, sizeof path, "%s%s", *f->dir == '/' ? "/" : "", f->name);
    unlink(path);
}

static void keep(struct file *f, const char *word, size_t n)
{
    size_t dir = strnlen(word, n) + 1;
    if (dir >= n || word[n - 1])
        return;
    free(f->dir); /* name is in the same piece */
    f->dir = malloc(n);
    if (!f->dir)
        return;
    memcpy(f->dir, word, n);
    f->name = f->dir + dir;
}

/* fd 0: none. It stands for the process, and for no later one of its number. */
struct group {
    pid_t leader;
    int fd;
};

static void keep_group(struct group *g, const char *word, size_t n)
{
    if (n != sizeof g->leader)
        return;
    if (g->fd > 0)
        close(g->fd);
    memcpy(&g->leader, word, n);
    g->fd = (int)syscall(SYS_pidfd_open, g->leader, 0u);
}

/* The signal to those that are still there at the time. */
static void end_groups(const struct group *g, int n, double at, int number)
{
    for (int i = 0; i < n; i++) {
        struct pollfd ends = {.fd = g[i].fd, .events = POLLIN};
        if (g[i].fd > 0 && !poll(&ends, 1, (int)fmax(0, 1000 * (at - sk_now()))))
            kill(-g[i].leader, number);
    }
}

/* Ranks may outlive the launcher that was killed by a moment, and make what is theirs meanwhile. */
static void take_remains(const struct group *g, int n)
{
    static const double pauses_s[] = {0, 0.5, 2.5};
    struct sk_remains remains[GROUPS] = {{{0}, 0}};
    for (size_t k = 0; k < sizeof pauses_s / sizeof *pauses_s; k++) {
        sk_sleep(pauses_s[k]);
        for (int i = 0; i < n; i++)
            sk_remains_take_away(&remains[i], g[i].leader, "/dev/shm");
    }
}

/* What was told comes before the end. */
static void live(int fd)
{
    static char word[WORD_MAX];
    struct file files[KEPT] = {{0}};
    struct group groups[GROUPS] = {{0}};
    unsigned long n_files = 0, n_groups = 0;
    for (ssize_t n; (n = read(fd, word, sizeof word)) > 0;) {
        if (*word == QUIT)
            _exit(0);
        else if (*word == AWAY)
            keep(&files[n_files++ % KEPT], word + 1, (size_t)n - 1);
        else if (*word == GROUP)
            keep_group(&groups[n_groups++ % GROUPS], word + 1, (size_t)n - 1);
    }
    double now = sk_now();
    for (int i = 0; i < KEPT; i++)
        if (files[i].dir)
            take_away(&files[i]);
    end_groups(groups, GROUPS, now + itself_s, SIGTERM);
    end_groups(groups, GROUPS, now + order_s, SIGKILL);
    take_remains(groups, GROUPS);
    _exit(0);
}

/* The signals that are held back until it ignores them, as whoever ends a job may signal all of it just then. */
static int become(int fd, const sigset_t *before)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU};
    int null = open("/dev/null", O_RDWR), own = fcntl(fd, F_DUPFD, 10);
    setsid();
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    if (null < 0 || own < 0)
        _exit(1);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    dup2(own, 3);
    close_range(4, ~0U, 0);
    prctl(PR_SET_NAME, "saikai-heir");
    return 3;
}

/* ---- `saikai run` ---- */

struct sk_heir *sk_heir_new(void)
{
    int s[2];
    struct sk_heir *h = calloc(1, sizeof *h);
    if (!h || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s)) {
        free(h);
        return NULL;
    }
    sigset_t all, before;
    h->fd = s[1];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    h->pid = fork();
    if (!h->pid)
        live(become(s[0], &before));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(s[0]);
    if (h->pid > 0 && !sk_family_spare(h->pid))
        return h;
    sk_heir_free(h);
    return NULL;
}

static void say(const struct sk_heir *h, const char *word, size_t n)
{
    send(h->fd, word, n, MSG_NOSIGNAL | MSG_DONTWAIT); /* when it is gone, or that much behind, nobody can help it */
}

void sk_heir_free(struct sk_heir *h)
{
    if (!h)
        return;
    say(h, &(char){QUIT}, 1);
    close(h->fd);
    double end = sk_now() + end_s;
    int left = h->pid > 0;
    while (left && !waitpid(h->pid, NULL, WNOHANG)) {
        if (sk_now() > end)
            kill(h->pid, SIGKILL);
        sk_sleep(0.001);
    }
    sk_family_unspare(h->pid);
    free(h);
}

void sk_heir_tell(struct sk_heir *h, const char *dir, const char *name)
{
    char word[WORD_MAX];
    int n = h ? snprintf(word, sizeof word, "%c%s%c%s", AWAY, dir, 0, name) : 0;
    if (n > 0 && n < (int)sizeof word)
        say(h, word, (size_t)n + 1);
}

void sk_heir_tell_group(struct sk_heir *h, pid_t leader)
{
    char word[1 + sizeof leader] = {GROUP};
    memcpy(word + 1, &leader, sizeof leader);
    if (h && leader > 0)
        say(h, word, sizeof word);
}
