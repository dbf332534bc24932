/* Starts launchers in process groups of their own, signals those that were given up until they are
 * gone, and collects their ends. */
#include "recovery/launch/process.h"

#include "base/file/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct process {
    pid_t pid;
    uint32_t incarnation;
    double term_at, kill_at; /* INFINITY: not planned, or done */
    double patience;         /* until the former, when it was given up */
    double looked_at, stopped_at; /* stopped_at 0: it runs */
    int told;                     /* that it is stopped */
};

struct sk_processes {
    struct process *at;
    int n;
};

/* So long a launcher may take to end what it started, before it is killed. */
static const double kill_after_s = 2;

struct sk_processes *sk_processes_new(void)
{
    return calloc(1, sizeof(struct sk_processes));
}

void sk_processes_free(struct sk_processes *p)
{
    if (!p)
        return;
    free(p->at);
    free(p);
}

static int is_set(char *const *list, const char *entry)
{
    size_t n = strcspn(entry, "=") + 1;
    for (; list && *list; list++)
        if (!strncmp(*list, entry, n))
            return 1;
    return 0;
}

/* Our environment with the command's settings in front; the strings are shared. */
static char **merge(char *const *set)
{
    size_t n = 0, k = 0;
    for (char **e = environ; *e; e++)
        n++;
    for (char *const *e = set; e && *e; e++)
        n++;
    char **out = calloc(n + 1, sizeof *out);
    if (!out)
        return NULL;
    for (char *const *e = set; e && *e; e++)
        out[k++] = *e;
    for (char **e = environ; *e; e++)
        if (!is_set(set, *e))
            out[k++] = *e;
    return out;
}

static void become(const struct sk_command *c, char **env, int input, const sigset_t *mask,
                   pid_t parent, int last_signal, int report)
{
    setpgid(0, 0); /* the terminal's signals come to us alone, and go on through the keepers */
    prctl(PR_SET_PDEATHSIG, last_signal);
    if (getppid() != parent)
        _exit(125);
    static const int ignored[] = {SIGPIPE, SIGTTIN, SIGTSTP};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(input, STDIN_FILENO);
    sk_standard_open();
    execve(c->argv[0], c->argv, env);
    int e = errno;
    if (write(report, &e, sizeof e) < 0)
        _exit(125);
    _exit(126);
}

int sk_process_start(struct sk_processes *p, uint32_t incarnation, const struct sk_command *c,
                     int input, const sigset_t *mask, int last_signal, struct saikai_error *err)
{
    int report[2], failed = 0;
    struct process *at = realloc(p->at, sizeof *at * (size_t)(p->n + 1));
    if (at)
        p->at = at;
    char **env = at ? merge(c->env) : NULL;
    if (!env)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory to start %s", c->argv[0]);
    if (pipe2(report, O_CLOEXEC)) {
        free(env);
        return sk_fail_errno(err, errno, "cannot start %s", c->argv[0]);
    }
    pid_t parent = getpid(), pid = fork();
    if (!pid)
        become(c, env, input, mask, parent, last_signal, report[1]);
    int e = errno;
    close(report[1]);
    free(env);
    if (pid < 0) {
        close(report[0]);
        return sk_fail_errno(err, e, "cannot start %s", c->argv[0]);
    }
    if (read(report[0], &failed, sizeof failed) < 0)
        failed = 0;
    close(report[0]);
    if (failed) {
        waitpid(pid, NULL, 0);
        return sk_fail_errno(err, failed, "cannot start %s", c->argv[0]);
    }
    setpgid(pid, pid);
    p->at[p->n++] = (struct process){.pid = pid, .incarnation = incarnation, .term_at = INFINITY, .kill_at = INFINITY};
    return 0;
}

void sk_process_abandon(struct sk_processes *p, uint32_t incarnation, double patience_s, double now)
{
    for (int i = 0; i < p->n; i++)
        if (p->at[i].incarnation == incarnation) {
            p->at[i].patience = patience_s;
            p->at[i].term_at = now + patience_s;
            p->at[i].kill_at = p->at[i].term_at + kill_after_s;
        }
}

void sk_process_is_waited_for(struct sk_processes *p, double now)
{
    for (int i = 0; i < p->n; i++)
        if (isfinite(p->at[i].term_at) && p->at[i].patience > 0) {
            p->at[i].term_at = fmax(p->at[i].term_at, now + p->at[i].patience);
            p->at[i].kill_at = p->at[i].term_at + kill_after_s;
        }
}

int sk_process_ended(struct sk_processes *p, uint32_t *incarnation, int *wait_status)
{
    for (pid_t pid; (pid = waitpid(-1, wait_status, WNOHANG)) > 0;)
        for (int i = 0; i < p->n; i++)
            if (p->at[i].pid == pid) {
                *incarnation = p->at[i].incarnation;
                p->at[i] = p->at[--p->n];
                return 1;
            }
    return 0;
}

void sk_process_tick(struct sk_processes *p, double now)
{
    for (int i = 0; i < p->n; i++) {
        if (now >= p->at[i].term_at) {
            kill(-p->at[i].pid, SIGTERM);
            p->at[i].term_at = INFINITY;
        }
        if (now >= p->at[i].kill_at) {
            kill(-p->at[i].pid, SIGKILL);
            p->at[i].kill_at = INFINITY;
        }
    }
}

pid_t sk_process_pid(const struct sk_processes *p, uint32_t incarnation)
{
    for (int i = 0; i < p->n; i++)
        if (p->at[i].incarnation == incarnation)
            return p->at[i].pid;
    return 0;
}

double sk_process_next(const struct sk_processes *p)
{
    double next = INFINITY;
    for (int i = 0; i < p->n; i++)
        next = fmin(next, fmin(p->at[i].term_at, p->at[i].kill_at));
    return next;
}

/* By the letter behind the name, which may hold anything but ends with the last bracket. */
static int is_stopped(pid_t pid)
{
    char path[48], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'T';
}

pid_t sk_process_stopped(struct sk_processes *p, uint32_t incarnation, double seconds, double now)
{
    for (int i = 0; i < p->n; i++) {
        struct process *q = &p->at[i];
        if (q->incarnation != incarnation || now - q->looked_at < 1)
            continue;
        q->looked_at = now;
        if (!is_stopped(q->pid))
            q->stopped_at = q->told = 0;
        else if (!(q->stopped_at > 0))
            q->stopped_at = now;
        else if (!q->told && now - q->stopped_at >= seconds) {
            q->told = 1;
            return q->pid;
        }
    }
    return 0;
}

int sk_process_count(const struct sk_processes *p)
{
    return p->n;
}
