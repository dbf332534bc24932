/* The loop of a node's service. */
#include "daemon/node.h"

#include "backbone/keys.h"
#include "backbone/link.h"
#include "base/clock.h"
#include "daemon/meeting.h"
#include "daemon/merge.h"

#include <math.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, MESSAGES_MAX = 16 };
/* Between two frames with what is new, unless a program has ended or a repair is under way: what others have to say at the same time
 * comes along. Between two sentences about strangers. */
static const double together_s = 0.02, tell_every_s = 10;
/* A service that has no keepers and does not hear the launcher ends after two heartbeats, but not before this; one that hears it, and
 * may be wanted by the next start, after so many node timeouts. */
static const double lonely_s = 1, alone_timeouts = 5;
/* Node timeouts without a word of the launcher after which its link is made anew, and each time twice as many: whatever is wrong with it
 * shall not be for good. */
static const double anew_timeouts = 1, anew_timeouts_most = 8;
/* Heartbeats after which all is said again, whether or not it was lost. */
static const double repeat_beats = 20;

struct node {
    const struct sk_link_settings *s;
    const uint8_t *job;
    struct sk_link *link;
    double opened, anew_after;
    int pace;      /* a frame is due in so many heartbeats */
    double answer; /* so seldom the launcher may answer, 0: each frame */
    int listener, events;
    int deaf; /* there is no room for another keeper: none is let in before the next heartbeat */
    struct sk_clients *members;
    double heard, left;     /* when the launcher was heard, and a keeper left, last */
    double repeated;        /* when all was said again last */
    double flushed, due;    /* when the last frame was sent; when the next one is to be */
    double beat_due;        /* when the keepers are to hear that we live */
    double passed;          /* when the keepers were told last that the launcher lives … */
    double lived;           /* … or that we do */
    double told;            /* when the last sentence was sent … */
    unsigned long untold;   /* … and how many were not, since then */
    char sentence[SK_MSG_HOST_MAX + 1]; /* for the next frame; "": none */
};

static double heartbeat(const struct node *n)
{
    return n->s->heartbeat_ms / 1000.0;
}

static void want(struct node *n, double at)
{
    n->due = fmin(n->due, at);
}

/* ---- up ---- */

static void send_frame(void *arg, struct sk_frame *b)
{
    struct node *n = arg;
    sk_link_send_frame(n->link, b);
}

static void give_order(void *arg, int fd, const struct sk_message *m)
{
    (void)arg;
    sk_meeting_send(fd, m); /* one that is gone is found when it is listened to */
}

static int hear_of_keepers(struct node *n)
{
    struct epoll_event e = {.events = EPOLLIN};
    return epoll_ctl(n->events, EPOLL_CTL_ADD, n->listener, &e);
}

/* Longer silence of the launcher than this is one. */
static double expected(const struct node *n)
{
    return n->answer + 1.5 * n->pace * heartbeat(n);
}

/* What is due in each heartbeat: the keepers hear that we live, and, where the launcher answers seldom, that it does. */
static void beat(struct node *n, double now)
{
    n->beat_due = now + heartbeat(n) / 2;
    if (n->deaf)
        n->deaf = hear_of_keepers(n) != 0;
    if (now - fmax(n->passed, n->lived) < 0.9 * heartbeat(n))
        return;
    int hears = n->answer > 0 && now - n->heard < expected(n);
    sk_clients_each(n->members, hears ? SK_MSG_HEARD : SK_MSG_ALIVE, give_order, NULL);
    n->lived = now;
}

/* A new link, as another service: what the one before said and did not bring is said again. */
static int open_link(struct node *n, double now)
{
    uint64_t number;
    sk_link_close(n->link);
    n->link = NULL;
    n->opened = now;
    n->anew_after = fmin(n->anew_after > 0 ? 2 * n->anew_after : anew_timeouts, anew_timeouts_most);
    sk_clients_repeat(n->members);
    if (sk_key_draw(&number, sizeof number, NULL))
        return -1;
    return sk_link_open_service(n->s, number, n->job, &n->link, NULL);
}

/* 1: nothing came through the link for so long that another one may do better. */
static int is_link_dead(const struct node *n, double now)
{
    return now - fmax(n->opened, n->heard) > expected(n) + n->anew_after * n->s->node_timeout_ms / 1000;
}

static void flush(struct node *n, double now)
{
    struct sk_frame b = {0};
    if (now - n->heard > expected(n) || now - n->repeated > repeat_beats * heartbeat(n)) {
        sk_clients_repeat(n->members); /* what was said may be lost */
        n->repeated = now;
    }
    if (*n->sentence) {
        struct sk_message m = {.kind = SK_MSG_TELL};
        snprintf(m.host, sizeof m.host, "%s", n->sentence);
        sk_frame_add(&b, &m);
        *n->sentence = 0;
    }
    sk_clients_merge(n->members, &b, send_frame, n);
    sk_link_send_frame(n->link, &b); /* even an empty one: we live */
    sk_frame_free(&b);
    n->flushed = now;
    n->due = now + n->pace * heartbeat(n);
}

static void tell_stranger(struct node *n, uid_t uid, double now)
{
    char host[SK_MSG_HOST_MAX - 150] = "?";
    if (now - n->told < tell_every_s) {
        n->untold++;
        return;
    }
    gethostname(host, sizeof host - 1);
    snprintf(n->sentence, sizeof n->sentence, "a process of user %ld tried to speak to the service of %s and was refused (%lu more before)",
             (long)uid, host, n->untold);
    n->told = now;
    n->untold = 0;
    want(n, now);
}

/* ---- keepers ---- */

static void let_in(struct node *n, double now)
{
    uid_t uid;
    for (int i = 0; i < EVENTS_MAX; i++) {
        int fd = sk_meeting_accept(n->listener, &uid);
        if (fd == SK_MEETING_STRANGER)
            tell_stranger(n, uid, now);
        if (fd == SK_MEETING_NOBODY)
            return;
        if (fd == SK_MEETING_BUSY) { /* they wait; asking again at once would be all that we do */
            n->deaf = !epoll_ctl(n->events, EPOLL_CTL_DEL, n->listener, NULL);
            return;
        }
        if (fd < 0)
            continue;
        struct sk_client *m = sk_clients_add(n->members, fd);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = m};
        if (!m)
            close(fd);
        else if (epoll_ctl(n->events, EPOLL_CTL_ADD, fd, &e))
            sk_clients_remove(n->members, m);
        else
            sk_meeting_send(fd, &(struct sk_message){.kind = SK_MSG_ALIVE}); /* it may speak for itself until it hears us */
    }
}

/* A keeper has ended, or speaks for itself. What it said before goes up first. */
static void part_with(struct node *n, struct sk_client *m, double now)
{
    if (sk_client_has_news(m))
        flush(n, now);
    sk_clients_remove(n->members, m);
    n->left = now;
}

static void listen_to(struct node *n, struct sk_client *m, double now)
{
    struct sk_message v;
    for (int i = 0, rc; i < MESSAGES_MAX && (rc = sk_meeting_receive(sk_client_fd(m), &v)); i++) {
        if (rc < 0) {
            part_with(n, m, now);
            return;
        }
        enum sk_client_news news = sk_client_heard(n->members, m, &v);
        if (news == SK_CLIENT_URGENT)
            want(n, now);
        else if (news == SK_CLIENT_NEWS)
            want(n, fmax(now, n->flushed + together_s));
    }
}

static void take_events(struct node *n, double now)
{
    struct epoll_event e[EVENTS_MAX];
    int k = epoll_wait(n->events, e, EVENTS_MAX, 0);
    for (int i = 0; i < k; i++) {
        if (e[i].data.ptr)
            listen_to(n, e[i].data.ptr, now);
        else
            let_in(n, now);
    }
}

/* ---- down ---- */

/* 1: the job is over. */
static int take_orders(struct node *n, struct sk_frame_rd *r, double now)
{
    int over = 0;
    n->heard = now;
    n->anew_after = anew_timeouts;
    while (sk_frame_next(r)) {
        over |= r->m.kind == SK_MSG_END;
        if (r->m.kind == SK_MSG_PACE) {
            n->pace = (int)r->m.number;
            n->answer = r->m.first / 1000.0;
            continue;
        }
        if (r->m.kind == SK_MSG_HEARD) { /* something that was said is lost: frames without it say that we are heard */
            sk_clients_repeat(n->members);
            want(n, fmax(now, n->flushed + together_s));
            sk_frame_skip(r);
            continue;
        }
        int fd = sk_clients_find(n->members, r->m.incarnation, r->m.rank);
        if (fd >= 0)
            give_order(NULL, fd, &r->m);
    }
    if (now - n->passed >= heartbeat(n) / 4) {
        sk_clients_each(n->members, SK_MSG_HEARD, give_order, NULL);
        n->passed = now;
    }
    return over;
}

/* ---- the loop ---- */

/* 0, or -1: it cannot go on. */
static int serve(struct node *n)
{
    struct sk_frame_rd r;
    double limit = fmax(2 * heartbeat(n), lonely_s), longest = fmax(limit, alone_timeouts * n->s->node_timeout_ms / 1000);
    int over = 0;
    for (;;) {
        double now = sk_now();
        int alone = !sk_clients_count(n->members);
        if (alone && (over || now - fmax(n->heard, n->left) > limit + n->answer || now - n->left > longest))
            return 0;
        if (is_link_dead(n, now) && open_link(n, now))
            return -1;
        if (now >= n->beat_due)
            beat(n, now);
        if (now >= n->due)
            flush(n, now);
        struct sk_wait wait = {.fd = n->events};
        sk_link_wait(n->link, &wait, 1, fmax(0, fmin(n->due, n->beat_due) - now));
        now = sk_now();
        take_events(n, now);
        while (sk_link_receive_frame(n->link, &r))
            over |= take_orders(n, &r, now);
    }
}

/* A descriptor for each keeper. */
static void make_room(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most))
        return;
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
}

/* The last process of a run on a host is this one: a key that was brought here for its start is of no more use. */
static void remove_own_key(const struct sk_link_settings *s)
{
    char own[128];
    for (int i = 0; sk_key_file_own(i, s->nonce, s->incarnation, own); i++)
        unlink(own);
}

int sk_node_run(const struct sk_link_settings *s, const uint8_t job[SK_KEY_BYTES], int listener)
{
    double now = sk_now();
    struct node n = {.s = s, .job = job, .pace = 1, .listener = listener, .heard = now, .left = now, .told = now - tell_every_s,
                     .due = now + together_s};
    make_room();
    n.events = epoll_create1(EPOLL_CLOEXEC);
    n.members = sk_clients_new();
    int rc = n.events < 0 || !n.members || hear_of_keepers(&n) ? -1 : open_link(&n, now);
    if (!rc)
        rc = serve(&n);
    sk_link_close(n.link);
    sk_clients_free(n.members);
    if (n.events >= 0)
        close(n.events);
    close(listener);
    remove_own_key(s);
    return rc ? 1 : 0;
}
