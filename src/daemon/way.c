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

/* Tries to meet, and between two of them; services that one keeper starts, most, and that go without a word, in a row: what dies as often
 * will not live. */
enum { TRIES = 50, STARTS_MOST = 8, MUTE_MOST = 8, WAITS_MAX = 7, OPEN_MOST = 1 << 16 };
static const double try_s = 0.004;
/* Of the node timeout: after so much silence of the service a keeper speaks for itself, in time for the launcher to hear it; but not
 * before the service, which speaks in each heartbeat, was silent in so many. */
static const double patience = 1.0 / 3, beats = 3;
/* Of the orphan timeout: so long a service that lives may have let nothing of the launcher through, ever; and after it did. */
static const double first_word = 1.0 / 3, next_word = 1.0 / 2;
/* A turn that takes so much longer than a heartbeat: this process was stopped, and nobody's silence counts. */
static const double own_gap_s = 1;
/* Heartbeats in which it is still listened to a link of its own after a service was found again: an order may be under way. */
static const double late_beats = 2;
/* Heartbeats until one that speaks for itself looks for a service again; each time twice as many, up to the most. */
static const double look_beats = 20, look_beats_most = 1200;

struct sk_way {
    const struct sk_link_settings *s;
    uint32_t rank;
    uint8_t job[SK_KEY_BYTES];
    struct sk_link *link; /* of its own; NULL: the service's … */
    int fd;               /* … through this; -1: neither, for the moment */
    struct sk_link *late; /* that was left for a service at … */
    double left;
    double joined;        /* when the service was found … */
    double lives;         /* … when it spoke last, 0: it did not … */
    int works;            /* … and the launcher was heard through it */
    int ever;             /* the launcher was heard, by whichever way */
    double heard;         /* when the launcher was heard by whichever way, or the first one was looked for … */
    int lost;             /* … and services that were lost since then */
    double mended;        /* when the way was looked at last */
    double look_at, look_after; /* with a link: when a service is looked for, and how long after the time before */
    int told;             /* of another user's process */
    int mute;             /* services in a row that went without a word */
    uint64_t said;        /* messages by whichever way */
    int starts;
    pid_t service; /* that this keeper started; 0: none, or it has ended */
};

/* All but what the service needs; kernels before 5.9 are asked one by one. */
static void close_others(void)
{
    if (!syscall(SYS_close_range, SK_NODE_LISTENER_FD + 1, ~0u, 0u))
        return;
    for (long fd = SK_NODE_LISTENER_FD + 1, n = sysconf(_SC_OPEN_MAX); fd < n && fd < OPEN_MOST; fd++)
        close((int)fd);
}

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
    close_others();
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
    if (!w->service || !waitpid(w->service, NULL, WNOHANG))
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
            w->lives = w->works = 0;
            return 0;
        }
        if (w->fd == SK_MEETING_STRANGER && !w->told++)
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

/* It is gone: another one is looked for when the way is mended. */
static void lose(struct sk_way *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static void look_later(struct sk_way *w, double now)
{
    double most = look_beats_most * w->s->heartbeat_ms / 1000;
    lose(w);
    w->look_after = w->look_after > 0 ? fmin(2 * w->look_after, most) : look_beats * w->s->heartbeat_ms / 1000;
    w->look_at = now + w->look_after;
}

static int go_alone(struct sk_way *w, const char *why, double now, struct saikai_error *err)
{
    look_later(w, now);
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
    double now = sk_now();
    *w = (struct sk_way){.s = s, .rank = rank, .fd = -1, .heard = now, .mended = now};
    memcpy(w->job, job, SK_KEY_BYTES);
    int rc = 0;
    if (!s->service)
        rc = go_alone(w, NULL, now, err);
    else if (join(w, now))
        rc = go_alone(w, "the service of this node cannot be had", now, err);
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
    sk_link_close(w->late);
    if (w->fd >= 0)
        close(w->fd);
    explicit_bzero(w, sizeof *w);
    free(w);
}

void sk_way_wait(struct sk_way *w, struct sk_wait *waits, int n, double timeout_s)
{
    struct sk_wait all[WAITS_MAX + 1];
    struct sk_link *link = w && !w->link ? w->late : w ? w->link : NULL;
    if (!w || w->fd < 0 || n > WAITS_MAX) {
        sk_link_wait(link, waits, n, timeout_s);
        return;
    }
    if (n)
        memcpy(all, waits, sizeof *all * (size_t)n);
    all[n] = (struct sk_wait){.fd = w->fd};
    sk_link_wait(link, all, n + 1, timeout_s);
    if (n)
        memcpy(waits, all, sizeof *all * (size_t)n);
}

/* It hung up. */
static void miss(struct sk_way *w)
{
    w->mute += !(w->lives > 0);
    w->lost++;
    lose(w);
}

static void hear(struct sk_way *w)
{
    w->heard = sk_now();
    w->ever = 1;
    w->lost = 0;
}

int sk_way_receive(struct sk_way *w, struct sk_message *m)
{
    int rc = 0;
    while (w->fd >= 0 && (rc = sk_meeting_receive(w->fd, m)) == 1) {
        w->lives = sk_now();
        w->mute = 0;
        if (m->kind == SK_MSG_ALIVE)
            continue;
        w->works = 1;
        if (w->link) /* it only tells that the launcher is heard */
            continue;
        hear(w);
        return 1;
    }
    if (rc < 0)
        miss(w);
    if ((w->link && sk_link_receive(w->link, m)) || (w->late && sk_link_receive(w->late, m))) {
        hear(w);
        return 1;
    }
    return 0;
}

void sk_way_send(struct sk_way *w, const struct sk_message *m)
{
    struct sk_message v = *m;
    v.serial = ++w->said; /* one count for all ways: what was said before by another one is then known for old */
    if (w->link)
        sk_link_send(w->link, &v);
    else if (w->fd >= 0 && sk_meeting_send(w->fd, &v))
        miss(w);
}

static double limit(const struct sk_way *w)
{
    return fmax(patience * w->s->node_timeout_ms, beats * w->s->heartbeat_ms) / 1000;
}

/* One that begins may take long for it on a busy machine. As long as this keeper speaks for itself, or the launcher does not know of it yet, nobody takes
 * it for lost meanwhile. */
static double limit_at_first(const struct sk_way *w)
{
    return fmax(limit(w), w->s->node_timeout_ms / 1000.0);
}

/* This keeper speaks for itself: is there a service? The launcher must have been heard through it before the link is given up for it. */
static int look_again(struct sk_way *w, double now)
{
    if (!w->s->service)
        return 0;
    if (w->fd >= 0 && w->works) {
        sk_link_close(w->late);
        w->late = w->link;
        w->left = now;
        w->link = NULL;
        sk_log(SK_LOG_INFO, "rank %u speaks through the service of this node again", w->rank);
        return 1;
    }
    int silent = w->fd >= 0 && now - w->joined >= limit_at_first(w), due = w->fd < 0 && now >= w->look_at;
    if (due)
        w->look_at = now + w->look_after; /* should it hang up without a word */
    if (silent || (due && join(w, now)))
        look_later(w, now);
    return 0;
}

/* What this process did not listen to, since it was stopped, is nobody's silence. */
static void forgive_own_gap(struct sk_way *w, double now)
{
    double gap = now - w->mended;
    w->mended = now;
    if (gap < own_gap_s + w->s->heartbeat_ms / 1000.0)
        return;
    w->heard = fmin(now, w->heard + gap);
    w->joined = fmin(now, w->joined + gap);
    w->lives = w->lives > 0 ? fmin(now, w->lives + gap) : 0;
}

/* Why the service that was joined is to be left; NULL: it is not. A launcher that is silent while the service lives is silent for everybody,
 * but not if services were lost meanwhile: then the time is over in which a word of this node's has to come by some way. */
static const char *why_leave(const struct sk_way *w, double now)
{
    double word = (w->works ? next_word : first_word) * w->s->orphan_timeout_ms / 1000;
    int is_first = !w->ever && !w->lost && !(w->lives > 0);
    if (now - fmax(w->lives, w->joined) >= (is_first ? limit_at_first(w) : limit(w)))
        return "the service of this node is silent";
    if (now - (w->works ? w->heard : w->joined) >= word || (w->lost && now - w->heard >= limit(w)))
        return "the service of this node does not reach `saikai run`";
    return NULL;
}

int sk_way_mend(struct sk_way *w, double now)
{
    struct saikai_error err = {0};
    const char *why = "the service of this node is gone, and there is no other";
    reap(w);
    forgive_own_gap(w, now);
    if (w->late && now - w->left >= late_beats * w->s->heartbeat_ms / 1000) {
        sk_link_close(w->late);
        w->late = NULL;
    }
    if (w->link)
        return look_again(w, now);
    if (w->fd >= 0)
        why = why_leave(w, now);
    else if (w->lost && now - w->heard >= limit(w))
        why = "the services of this node die";
    else if (w->mute < MUTE_MOST && !join(w, now))
        return 1;
    if (!why)
        return 0;
    if (go_alone(w, why, now, &err)) {
        sk_log(SK_LOG_WARN, "rank %u: %s", w->rank, err.text);
        return 0;
    }
    return 1;
}
