/* The loop of a node's service. */
#include "daemon/node.h"

#include "backbone/keys.h"
#include "backbone/link.h"
#include "base/clock.h"
#include "daemon/meeting.h"
#include "daemon/merge.h"
#include "daemon/tree/relay.h"
#include "daemon/tree/up.h"

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
/* Heartbeats after which all is said again, whether or not it was lost. */
static const double repeat_beats = 20;

/* Heartbeats between two frames of a service that others speak through: what they say is not to wait here for long. */
static const double relay_beats = 0.5;

struct node {
    const struct sk_link_settings *s;
    const uint8_t *job;
    struct sk_up *up;
    struct sk_relay *relay; /* for services that speak through this one; NULL: nobody does */
    int tells_endpoint;     /* where they reach it is to be told with the next frame */
    int pace;      /* a frame is due in so many heartbeats */
    double answer; /* so seldom the launcher may answer, 0: each frame */
    int listener, events;
    int deaf; /* there is no room for another keeper: none is let in before the next heartbeat */
    struct sk_clients *members;
    double left;            /* when a keeper left last */
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
    sk_up_send(n->up, b);
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
    int hears = n->answer > 0 && now - sk_up_heard(n->up) < expected(n);
    sk_clients_each(n->members, hears ? SK_MSG_HEARD : SK_MSG_ALIVE, give_order, NULL);
    n->lived = now;
}

/* Another way to the launcher: what was said through the one before may be lost. */
static void begin_anew(struct node *n, double now)
{
    n->pace = 1;
    n->answer = 0;
    sk_clients_repeat(n->members);
    if (n->relay)
        sk_relay_repeat(n->relay, 1, now);
    want(n, now);
}

/* What was said may be lost. */
static void repeat_all(struct node *n, int ask, double now)
{
    sk_clients_repeat(n->members);
    if (n->relay)
        sk_relay_repeat(n->relay, ask, now);
    n->repeated = now;
}

static void flush(struct node *n, double now)
{
    struct sk_frame b = {0};
    if (now - sk_up_heard(n->up) > expected(n) || now - n->repeated > repeat_beats * heartbeat(n))
        repeat_all(n, 0, now);
    if (*n->sentence) {
        struct sk_message m = {.kind = SK_MSG_TELL};
        snprintf(m.host, sizeof m.host, "%s", n->sentence);
        sk_frame_add(&b, &m);
        *n->sentence = 0;
    }
    if (n->tells_endpoint) {
        struct sk_message m = {.kind = SK_MSG_LISTENS};
        if (n->relay) {
            snprintf(m.host, sizeof m.host, "%s", sk_relay_endpoint(n->relay));
            m.number = sk_relay_number(n->relay);
        }
        sk_frame_add(&b, &m);
        n->tells_endpoint = 0;
    }
    sk_clients_merge(n->members, &b, send_frame, n);
    if (n->relay)
        sk_relay_merge(n->relay, &b, now, send_frame, n);
    sk_up_send(n->up, &b); /* even an empty one: we live */
    sk_frame_free(&b);
    n->flushed = now;
    n->due = now + n->pace * heartbeat(n) * (n->relay ? relay_beats : 1);
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

/* 1: it was about this service, not for a rank. */
static int take_own(struct node *n, struct sk_frame_rd *r, double now)
{
    switch (r->m.kind) {
    case SK_MSG_PACE:
        n->pace = (int)r->m.number;
        n->answer = r->m.first / 1000.0;
        return 1;
    case SK_MSG_HEARD: /* something that was said is lost: frames without it say that we are heard */
        repeat_all(n, 1, now);
        want(n, fmax(now, n->flushed + together_s));
        sk_frame_skip(r);
        return 1;
    case SK_MSG_RELAY:
        if (!n->relay)
            n->relay = sk_relay_open(n->s, n->job);
        n->tells_endpoint = 1;
        want(n, now);
        return 1;
    case SK_MSG_PARENT:
        sk_up_try(n->up, r->m.host, r->m.number, now);
        return 1;
    case SK_MSG_END:
        if (n->relay)
            sk_relay_end(n->relay);
        return 1;
    default:
        return r->m.kind == SK_MSG_AGE || r->m.kind == SK_MSG_KIN;
    }
}

/* heard: the frame shows that the launcher lives. 1: the job is over. */
static int take_orders(struct node *n, struct sk_frame_rd *r, int heard, double now)
{
    int over = 0;
    while (sk_frame_next(r)) {
        over |= r->m.kind == SK_MSG_END;
        if (take_own(n, r, now))
            continue;
        int fd = sk_clients_find(n->members, r->m.incarnation, r->m.rank);
        if (fd >= 0)
            give_order(NULL, fd, &r->m);
        else if (n->relay)
            sk_relay_order(n->relay, &r->m);
    }
    if (heard && now - n->passed >= heartbeat(n) / 4) {
        sk_clients_each(n->members, SK_MSG_HEARD, give_order, NULL);
        n->passed = now;
    }
    return over;
}

static void listen_below(struct node *n, double now)
{
    enum sk_client_news news = sk_relay_listen(n->relay, sk_up_age(n->up, n->answer, now), now);
    if (news == SK_CLIENT_URGENT)
        want(n, now);
    else if (news == SK_CLIENT_NEWS)
        want(n, fmax(now, n->flushed + together_s));
    sk_relay_flush(n->relay);
}

/* ---- the loop ---- */

/* 1: nobody needs this service any more. */
static int is_done(const struct node *n, int over, double now)
{
    double limit = fmax(2 * heartbeat(n), lonely_s), longest = fmax(limit, alone_timeouts * n->s->node_timeout_ms / 1000);
    if (sk_clients_count(n->members))
        return 0;
    if (over || now - fmax(sk_up_heard(n->up), n->left) > limit + n->answer)
        return 1;
    return now - n->left > longest && !sk_relay_is_needed(n->relay, now);
}

static void wait_for_all(struct node *n, double seconds)
{
    struct sk_wait wait = {.fd = n->events};
    struct sk_link *links[2];
    sk_up_links(n->up, links);
    sk_branch_wait(sk_relay_branch(n->relay), links, 2, &wait, 1, fmax(0, seconds));
}

/* 0, or -1: it cannot go on. *over: the job is. */
static int serve(struct node *n, int *over)
{
    struct sk_frame_rd r;
    int heard;
    for (;;) {
        double now = sk_now();
        if (is_done(n, *over, now))
            return 0;
        enum sk_up_turn turn = sk_up_turn(n->up, expected(n), now);
        if (turn == SK_UP_FAILED)
            return -1;
        if (turn == SK_UP_CHANGED)
            begin_anew(n, now);
        if (now >= n->beat_due)
            beat(n, now);
        if (now >= n->due)
            flush(n, now);
        wait_for_all(n, fmin(n->due, n->beat_due) - now);
        now = sk_now();
        take_events(n, now);
        while (sk_up_receive(n->up, &r, &heard, now))
            *over |= take_orders(n, &r, heard, now);
        if (n->relay)
            listen_below(n, now);
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
    struct node n = {.s = s, .job = job, .pace = 1, .listener = listener, .left = now, .told = now - tell_every_s,
                     .due = now + together_s};
    make_room();
    n.events = epoll_create1(EPOLL_CLOEXEC);
    n.members = sk_clients_new();
    int over = 0;
    int rc = n.events < 0 || !n.members || hear_of_keepers(&n) || !(n.up = sk_up_new(s, job, now)) ? -1 : serve(&n, &over);
    sk_relay_close(n.relay, over);
    sk_up_free(n.up);
    sk_clients_free(n.members);
    if (n.events >= 0)
        close(n.events);
    close(listener);
    remove_own_key(s);
    return rc ? 1 : 0;
}
