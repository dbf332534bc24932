/* Finds, starts and leaves the service of the node. */
#include "daemon/way.h"

#include "base/clock.h"
#include "base/log.h"
#include "daemon/meeting.h"
#include "daemon/node.h"
#include "recovery/family.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tries to meet, and between two of them; services that one keeper starts, most: one that dies as often will not live. */
enum { TRIES = 50, STARTS_MOST = 8, WAITS_MAX = 7 };
static const double try_s = 0.004;
/* Of the node timeout: after so much silence a keeper speaks for itself, in time for the launcher to hear it; but not before the
 * service had to speak twice. */
static const double patience = 1.0 / 3;

struct sk_way {
    const struct sk_link_settings *s;
    uint32_t rank;
    uint8_t job[SK_KEY_BYTES];
    struct sk_link *link; /* of its own; NULL: the service's … */
    int fd;               /* … through this; -1: neither, for the moment */
    double joined;        /* when the service was found */
    uint64_t said;        /* messages by whichever way */
    int starts;
    pid_t service; /* that this keeper started; 0: none, or it has ended */
};

/* In the child: become the service, with nothing of the program's. */
static void become_service(int listener, int key)
{
    cpu_set_t all;
    sigset_t none;
    int null = open("/dev/null", O_RDWR);
    listener = fcntl(listener, F_DUPFD, 10);
    key = fcntl(key, F_DUPFD, 10);
    setsid(); /* what is sent to the groups of MPI's launchers and programs does not reach it */
    if (null < 0 || listener < 0 || key < 0 || dup2(key, SK_NODE_KEY_FD) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0 || dup2(listener, SK_NODE_LISTENER_FD) < 0 || chdir("/"))
        _exit(1);
    syscall(SYS_close_range, SK_NODE_LISTENER_FD + 1, ~0u, 0u);
    memset(&all, 0xff, sizeof all); /* not on the one core of the rank alone */
    sched_setaffinity(0, sizeof all, &all);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    unsetenv("LD_PRELOAD");
    execl("/proc/self/exe", "saikaid", "node", (char *)NULL);
    _exit(1);
}

/* 0, or -1. The listener is closed here: it lives as long as the service. */
static int start_service(struct sk_way *w, int listener)
{
    int key[2];
    pid_t pid = -1;
    if (!pipe2(key, O_CLOEXEC)) {
        if (write(key[1], w->job, sizeof w->job) == (ssize_t)sizeof w->job && (pid = fork()) == 0)
            become_service(listener, key[0]);
        close(key[0]);
        close(key[1]);
    }
    close(listener);
    w->starts++;
    if (pid < 0)
        return -1;
    if (sk_family_spare(pid)) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return -1;
    }
    w->service = pid;
    return 0;
}

static void reap(struct sk_way *w)
{
    if (!w->service || waitpid(w->service, NULL, WNOHANG) != w->service)
        return;
    sk_family_unspare(w->service);
    w->service = 0;
}

/* 0: it is there. */
static int join(struct sk_way *w, double now)
{
    for (int i = 0; i < TRIES; i++) {
        w->fd = sk_meeting_join(w->job);
        if (w->fd >= 0) {
            w->joined = now;
            return 0;
        }
        if (w->fd == SK_MEETING_STRANGER)
            sk_log(SK_LOG_WARN, "rank %u: another user's process listens in place of the service of this node: it is not spoken to",
                   w->rank);
        if (w->fd == SK_MEETING_STRANGER || w->fd == SK_MEETING_FAILED)
            break;
        reap(w);
        if (w->fd == SK_MEETING_NOBODY && w->starts >= STARTS_MOST)
            break;
        int vacant = w->fd == SK_MEETING_NOBODY && !w->service; /* one that is just dying has let go of the name already */
        int listener = vacant ? sk_meeting_found(w->job) : SK_MEETING_BUSY;
        if (listener == SK_MEETING_FAILED || (listener >= 0 && start_service(w, listener)))
            break;
        if (listener < 0)
            sk_sleep(try_s);
    }
    w->fd = -1;
    return -1;
}

static int go_alone(struct sk_way *w, const char *why, struct saikai_error *err)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    if (why)
        sk_log(SK_LOG_INFO, "rank %u speaks to `saikai run` by itself: %s", w->rank, why);
    return sk_link_open(w->s, w->rank, w->job, &w->link, err);
}

int sk_way_open(const struct sk_link_settings *s, uint32_t rank, const uint8_t job[SK_KEY_BYTES], struct sk_way **out,
                struct saikai_error *err)
{
    struct sk_way *w = calloc(1, sizeof *w);
    if (!w)
        return sk_fail(err, SAIKAI_ENOMEM, "no memory for the link to saikai run");
    *w = (struct sk_way){.s = s, .rank = rank, .fd = -1};
    memcpy(w->job, job, SK_KEY_BYTES);
    int rc = 0;
    if (!s->service)
        rc = go_alone(w, NULL, err);
    else if (join(w, sk_now()))
        rc = go_alone(w, "the service of this node cannot be had", err);
    if (rc)
        sk_way_close(w);
    else
        *out = w;
    return rc;
}

void sk_way_close(struct sk_way *w)
{
    if (!w)
        return;
    sk_link_close(w->link);
    if (w->fd >= 0)
        close(w->fd);
    explicit_bzero(w, sizeof *w);
    free(w);
}

void sk_way_wait(struct sk_way *w, struct sk_wait *waits, int n, double timeout_s)
{
    struct sk_wait all[WAITS_MAX + 1];
    if (!w || w->fd < 0 || n > WAITS_MAX) {
        sk_link_wait(w ? w->link : NULL, waits, n, timeout_s);
        return;
    }
    memcpy(all, waits, sizeof *all * (size_t)n);
    all[n] = (struct sk_wait){.fd = w->fd};
    sk_link_wait(NULL, all, n + 1, timeout_s);
    memcpy(waits, all, sizeof *all * (size_t)n);
}

/* It is gone: another one is looked for when the way is mended. */
static void lose(struct sk_way *w)
{
    close(w->fd);
    w->fd = -1;
}

int sk_way_receive(struct sk_way *w, struct sk_message *m)
{
    if (w->link)
        return sk_link_receive(w->link, m);
    int rc = w->fd >= 0 ? sk_meeting_receive(w->fd, m) : 0;
    if (rc < 0)
        lose(w);
    return rc == 1;
}

void sk_way_send(struct sk_way *w, const struct sk_message *m)
{
    struct sk_message v = *m;
    v.serial = ++w->said; /* one count for all ways: what was said before by another one is then known for old */
    if (w->link)
        sk_link_send(w->link, &v);
    else if (w->fd >= 0 && sk_meeting_send(w->fd, &v))
        lose(w);
}

int sk_way_mend(struct sk_way *w, double heard, double now)
{
    struct saikai_error err = {0};
    const char *why = "the service of this node is gone, and there is no other";
    reap(w);
    if (w->link)
        return 0;
    if (w->fd >= 0) {
        double limit = fmax(patience * w->s->node_timeout_ms, 2.0 * w->s->heartbeat_ms) / 1000;
        if (now - fmax(heard, w->joined) < limit)
            return 0;
        why = "the service of this node is silent";
    } else if (!join(w, now)) {
        return 1;
    }
    if (go_alone(w, why, &err)) {
        sk_log(SK_LOG_WARN, "rank %u: %s", w->rank, err.text);
        return 0;
    }
    return 1;
}
