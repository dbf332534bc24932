/* Ways of keepers to the launcher, with services that are killed, stopped, cut off and stood in for by others: what a keeper says arrives,
 * by the service where there is one, and nobody leaves a service because the launcher is silent. This program is its own service. */
#include "daemon/way.h"

#include "backbone/events.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/meeting.h"
#include "daemon/node.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, NOBODY_UID = 65534 };
/* So long anything may take; a service that is silent for a third of the node timeout counts as such. */
static const double long_s = 60, silent_s = 4;

struct stage {
    struct sk_hub *hub;
    struct sk_link_settings s;
    uint8_t job[SK_KEY_BYTES];
    struct sk_way *way[RANKS];
    int deaf;                         /* the hub neither listens nor answers */
    uint64_t progress;
    int heard[RANKS], got[RANKS];     /* messages at the hub, and at the keeper */
    uint64_t reached[RANKS];          /* the newest progress of each that is known at the hub */
    int hellos[RANKS], ends[RANKS], mended[RANKS];
    double next;
};

static char logged[1 << 16];

static void keep_log(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof logged - n, "%s\n", line);
}

static void open_ways(struct stage *t)
{
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(sk_way_open(&t->s, r, t->job, &t->way[r], NULL), 0);
}

/* through: an endpoint in place of the hub's own. */
static void begin(struct stage *t, const char *through)
{
    char text[SK_LINK_TEXT_MAX];
    static uint8_t number;
    pid_t pid = getpid();
    *t = (struct stage){.job = {++number}, .s = {.rank_env = "X", .key_file = "/none", .heartbeat_ms = 50, .service = 1,
                        .node_timeout_ms = (uint32_t)(3000 * silent_s), .orphan_timeout_ms = 3600000}};
    memcpy(t->job + 1, &pid, sizeof pid); /* a name of this test's own, so that several may run at a time */
    assert_int_equal(sk_hub_open("127.0.0.1", 12, t->job, &t->hub, NULL), 0);
    assert_int_equal(sk_hub_admit(t->hub, 0, RANKS, NULL), 0);
    assert_int_equal(sk_hub_settings(t->hub, &t->s, NULL), 0);
    if (through)
        snprintf(t->s.endpoint, sizeof t->s.endpoint, "%s", through);
    sk_link_settings_print(&t->s, text);
    setenv(SK_LINK_ENV, text, 1);
    *logged = 0;
    sk_log_set(keep_log, NULL, SK_LOG_INFO);
}

/* For services that are started from now on, too. */
static void set_node_timeout(struct stage *t, uint32_t ms)
{
    char text[SK_LINK_TEXT_MAX];
    t->s.node_timeout_ms = ms;
    sk_link_settings_print(&t->s, text);
    setenv(SK_LINK_ENV, text, 1);
}

static void say(struct stage *t, uint32_t r, enum sk_message_kind kind)
{
    struct sk_message m = {.kind = kind, .rank = r, .host = "n1"};
    m.at = (struct sk_progress){.progress = t->progress, .complete_count = t->progress, .complete_iteration = -1, .restored_iteration = -1};
    sk_way_send(t->way[r], &m);
}

static void hear(struct stage *t)
{
    struct sk_message m;
    sk_hub_wait(t->hub, NULL, 0, 0.005);
    while (sk_hub_receive(t->hub, &m)) {
        uint32_t n = m.kind == SK_MSG_ALIVE ? m.number : 1;
        for (uint32_t r = m.rank; r < m.rank + n && r < RANKS; r++) {
            t->heard[r]++;
            t->hellos[r] += m.kind == SK_MSG_HELLO;
            t->ends[r] += m.kind == SK_MSG_EXIT;
            if (m.kind == SK_MSG_BEAT)
                t->reached[r] = m.at.progress;
        }
        if (m.kind != SK_MSG_ALIVE)
            sk_hub_send(t->hub, &(struct sk_message){.kind = SK_MSG_HEARD, .rank = m.rank});
    }
}

static void turn(struct stage *t)
{
    struct sk_message m;
    double now = sk_now();
    if (t->deaf)
        sk_sleep(0.005);
    else
        hear(t);
    for (uint32_t r = 0; r < RANKS; r++) {
        sk_way_wait(t->way[r], NULL, 0, 0);
        while (sk_way_receive(t->way[r], &m))
            t->got[r]++;
        if (sk_way_mend(t->way[r], now)) {
            t->mended[r]++;
            say(t, r, SK_MSG_HELLO);
        }
        if (now >= t->next)
            say(t, r, SK_MSG_BEAT);
    }
    if (now >= t->next)
        t->next = now + 0.05;
}

/* Something new of each keeper reaches the hub, and something the keeper. */
static void all_reach(struct stage *t)
{
    double end = sk_now() + long_s;
    t->progress++;
    for (int r = 0, got = 0; r < RANKS; r++) {
        for (got = t->got[r]; t->reached[r] < t->progress || t->got[r] == got;) {
            assert_true(sk_now() < end);
            turn(t);
        }
    }
}

static void expect_log(struct stage *t, const char *text)
{
    double end = sk_now() + long_s;
    while (!strstr(logged, text)) {
        assert_true(sk_now() < end);
        turn(t);
    }
}

/* Children of this process: its service; 0: none. */
static pid_t service(void)
{
    char path[64];
    int pid = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    if (fscanf(f, "%d", &pid) != 1)
        pid = 0;
    fclose(f);
    return pid;
}

/* The job is over: the service goes with it. */
static void finish(struct stage *t)
{
    pid_t pid = service();
    for (int r = 0; r < RANKS; r++)
        sk_way_close(t->way[r]);
    sk_hub_close(t->hub);
    for (double end = sk_now() + long_s; pid && waitpid(pid, NULL, WNOHANG) != pid; sk_sleep(0.01))
        assert_true(sk_now() < end);
    assert_int_equal(service(), 0);
    assert_int_equal(sk_meeting_join(t->job), SK_MEETING_NOBODY);
    sk_log_set(NULL, NULL, SK_LOG_WARN);
}

static void say_hellos(struct stage *t)
{
    for (uint32_t r = 0; r < RANKS; r++)
        say(t, r, SK_MSG_HELLO);
}

/* Nor does it need a disk, a folder for temporary files or a place to be in. */
static void one_service_speaks_for_all_and_another_after_it(void **state)
{
    struct stage t;
    int services;
    struct rlimit old, none;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none = old;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    begin(&t, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    setenv("TMPDIR", "/does/not/exist", 1);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    for (int i = 0; i < 4; i++) {
        pid_t pid = service();
        assert_true(pid > 0);
        kill(pid, SIGKILL);
        for (double end = sk_now() + long_s; t.mended[0] + t.mended[1] + t.mended[2] < RANKS * (i + 1); turn(&t))
            assert_true(sk_now() < end);
        all_reach(&t);
        assert_true(service() > 0 && service() != pid);
    }
    assert_null(strstr(logged, "by itself"));
    sk_hub_frames(t.hub, &services);
    assert_int_equal(services, 5);
    setrlimit(RLIMIT_FSIZE, &old);
    unsetenv("TMPDIR");
    finish(&t);
}

/* The keepers leave it, and are back when it answers again; what it says of them in between is old. */
static void who_speaks_for_itself_comes_back(void **state)
{
    struct stage t;
    begin(&t, NULL);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    pid_t pid = service();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    expect_log(&t, "rank 0 speaks to `saikai run` by itself: the service of this node is silent");
    all_reach(&t);
    for (double end = sk_now() + 2; sk_now() < end;) /* one that is there, but does not answer, is not gone to */
        turn(&t);
    assert_null(strstr(logged, "again"));
    assert_int_equal(kill(pid, SIGCONT), 0);
    for (int r = 0; r < RANKS; r++) {
        char text[80];
        snprintf(text, sizeof text, "rank %d speaks through the service of this node again", r);
        expect_log(&t, text);
    }
    all_reach(&t);
    finish(&t);
}

static void a_silent_launcher_drives_nobody_away(void **state)
{
    struct stage t;
    begin(&t, NULL);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    t.deaf = 1;
    for (double end = sk_now() + 2.5 * silent_s; sk_now() < end;)
        turn(&t);
    t.deaf = 0;
    all_reach(&t);
    assert_null(strstr(logged, "by itself"));
    finish(&t);
}

/* Whatever the reason, a keeper tries for itself before its rank would be ended for it. */
static void a_service_that_never_lets_the_launcher_through_is_left(void **state)
{
    struct stage t;
    begin(&t, NULL);
    t.s.orphan_timeout_ms = 3000;
    t.deaf = 1;
    open_ways(&t);
    expect_log(&t, "rank 0 speaks to `saikai run` by itself: the service of this node does not reach");
    t.deaf = 0;
    all_reach(&t);
    finish(&t);
}

/* As one does on a busy machine. Nobody counts on these keepers yet, so they wait for it longer than for one that has fallen silent. */
static void a_service_that_takes_long_to_begin_is_waited_for(void **state)
{
    struct stage t;
    begin(&t, NULL);
    set_node_timeout(&t, 6000);
    int listener = sk_meeting_found(t.job);
    assert_true(listener >= 0);
    open_ways(&t);
    say_hellos(&t);
    for (double end = sk_now() + 3; sk_now() < end;)
        turn(&t);
    assert_null(strstr(logged, "by itself"));
    expect_log(&t, "rank 0 speaks to `saikai run` by itself: the service of this node is silent"); /* not for ever */
    all_reach(&t);
    close(listener);
    finish(&t);
}

/* Each of them lives long enough to say so, and none long enough to reach the launcher. */
static void services_that_die_one_after_the_other_hold_nobody_up(void **state)
{
    struct stage t;
    begin(&t, NULL);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    t.deaf = 1;
    pid_t seen = 0;
    int kills = 0;
    double since = 0;
    for (double end = sk_now() + long_s; !strstr(logged, "rank 0 speaks to `saikai run` by itself: the service"); turn(&t)) {
        pid_t pid = service();
        double now = sk_now();
        assert_true(now < end);
        since = pid == seen ? since : now;
        seen = pid;
        if (pid && now - since > 0.3) {
            kill(pid, SIGKILL);
            since = now + long_s; /* it is reaped soon */
            kills++;
        }
    }
    assert_true(kills < 8 * RANKS); /* not only when there is no other any more */
    t.deaf = 0;
    all_reach(&t);
    finish(&t);
}

/* The whole node is stopped for a while: when its processes go on, one of them does so first. */
static void a_keeper_that_was_stopped_leaves_nobody(void **state)
{
    struct stage t;
    begin(&t, NULL);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    pid_t pid = service();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    for (double end = sk_now() + 0.3; sk_now() < end;) /* what it had said is heard */
        turn(&t);
    sk_sleep(1.5 * silent_s);
    turn(&t);
    assert_int_equal(kill(pid, SIGCONT), 0);
    all_reach(&t);
    assert_null(strstr(logged, "by itself"));
    finish(&t);
}

/* ---- connections that are cut ---- */

struct proxy {
    int listener;
    unsigned short to;
    char endpoint[64];
    int held[2];          /* a connection that stays open and carries nothing */
    atomic_int hold;      /* 1: the present one becomes that */
    atomic_int stop, cut; /* cut: after so many bytes more, in either direction; negative: never */
    atomic_int cuts;
    pthread_t thread;
};

static int dial(unsigned short port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, (struct sockaddr *)&a, sizeof a) ? -1 : fd;
}

/* 0, or -1: one side has hung up, or it is time to cut, in the middle of what came. */
static int carry(struct proxy *p, int from, int to)
{
    char data[4096];
    ssize_t n = recv(from, data, sizeof data, 0);
    int left = atomic_load(&p->cut), over = left >= 0 && n >= left;
    if (n <= 0)
        return -1;
    if (left >= 0)
        atomic_store(&p->cut, over ? -1 : left - (int)n);
    n = over ? left : n;
    if (n && send(to, data, (size_t)n, MSG_NOSIGNAL) != n)
        return -1;
    atomic_fetch_add(&p->cuts, over);
    return over ? -1 : 0;
}

/* One connection at a time. */
static void *relay(void *arg)
{
    struct proxy *p = arg;
    struct pollfd f[2] = {{.fd = -1, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    while (!atomic_load(&p->stop)) {
        if (f[0].fd >= 0 && atomic_exchange(&p->hold, 0))
            for (int i = 0; i < 2; i++) {
                p->held[i] = f[i].fd;
                f[i].fd = -1;
            }
        if (f[0].fd < 0) {
            struct pollfd l = {.fd = p->listener, .events = POLLIN};
            if (poll(&l, 1, 20) == 1) {
                f[0].fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
                f[1].fd = dial(p->to);
            }
            continue;
        }
        if (poll(f, 2, 20) <= 0)
            continue;
        if ((f[0].revents && carry(p, f[0].fd, f[1].fd)) || (f[1].revents && carry(p, f[1].fd, f[0].fd))) {
            close(f[0].fd);
            close(f[1].fd);
            f[0].fd = f[1].fd = -1;
        }
    }
    if (f[0].fd >= 0) {
        close(f[0].fd);
        close(f[1].fd);
    }
    return NULL;
}

static void begin_proxy(struct proxy *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    *p = (struct proxy){.cut = -1, .held = {-1, -1}};
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(p->listener, 64), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&a, &n), 0);
    snprintf(p->endpoint, sizeof p->endpoint, "tcp://127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
}

/* With the proxy between services and the hub. */
static void begin_through(struct stage *t, struct proxy *p)
{
    struct sk_link_settings hub = {0};
    begin_proxy(p);
    begin(t, p->endpoint);
    assert_int_equal(sk_hub_settings(t->hub, &hub, NULL), 0);
    p->to = (unsigned short)atoi(strrchr(hub.endpoint, ':') + 1);
    assert_int_equal(pthread_create(&p->thread, NULL, relay, p), 0);
}

static void end_proxy(struct proxy *p)
{
    atomic_store(&p->stop, 1);
    pthread_join(p->thread, NULL);
    close(p->listener);
    for (int i = 0; i < 2; i++)
        if (p->held[i] >= 0)
            close(p->held[i]);
}

/* Wherever the connection of the service is cut, in a frame or between two, up or down: it is made anew, all is said again, and nobody
 * leaves the service. */
static void what_is_lost_on_the_way_is_said_again(void **state)
{
    struct stage t;
    struct proxy p;
    begin_through(&t, &p);
    open_ways(&t);
    say_hellos(&t);
    for (int i = 0; i < 24; i++) {
        atomic_store(&p.cut, i * i * 7 % 900); /* some in the greeting of the connection, others behind it */
        all_reach(&t);
    }
    assert_true(atomic_load(&p.cuts) > 5);
    for (uint32_t r = 0; r < RANKS; r++) {
        atomic_store(&p.cut, 40 * (int)r);
        for (double end = sk_now() + long_s, next = 0; !t.ends[r]; turn(&t)) {
            assert_true(sk_now() < end);
            if (sk_now() >= next) { /* keepers repeat that until it is answered */
                say(&t, r, SK_MSG_EXIT);
                next = sk_now() + 0.1;
            }
        }
        assert_true(t.hellos[r] > 0);
    }
    assert_null(strstr(logged, "by itself"));
    atomic_store(&p.cut, -1);
    finish(&t);
    end_proxy(&p);
}

/* As far as the systems know, all is well with it. */
static void a_link_that_carries_nothing_is_made_anew(void **state)
{
    struct stage t;
    struct proxy p;
    int services;
    begin_through(&t, &p);
    set_node_timeout(&t, 6000);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    atomic_store(&p.hold, 1);
    for (double end = sk_now() + long_s; atomic_load(&p.hold); sk_sleep(0.001)) /* what is said from now on does not pass */
        assert_true(sk_now() < end);
    all_reach(&t);
    sk_hub_frames(t.hub, &services);
    assert_true(services == 2 || strstr(logged, "by itself")); /* on a very slow machine its keepers leave it */
    finish(&t);
    end_proxy(&p);
}

/* ---- others ---- */

/* A process of another user that holds the name. It says so by a byte through the pipe. */
static pid_t stand_in(const struct stage *t, int *ready)
{
    int fd[2];
    char byte = 0;
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (!pid) {
        int bad = setgid(NOBODY_UID) || setuid(NOBODY_UID) || sk_meeting_found(t->job) < 0;
        if (write(fd[1], bad ? "0" : "1", 1) == 1)
            pause();
        _exit(1);
    }
    *ready = read(fd[0], &byte, 1) == 1 && byte == '1';
    close(fd[0]);
    close(fd[1]);
    return pid;
}

static void another_user_in_the_way_is_told_and_passed_by(void **state)
{
    struct stage t;
    int ready, services;
    if (geteuid())
        skip();
    begin(&t, NULL);
    pid_t pid = stand_in(&t, &ready);
    assert_true(ready);
    open_ways(&t);
    say_hellos(&t);
    all_reach(&t);
    for (double end = sk_now() + 2; sk_now() < end;) /* they look for a service now and then */
        turn(&t);
    sk_hub_frames(t.hub, &services);
    assert_int_equal(services, 0);
    const char *first = strstr(logged, "rank 1: another user's process listens in place of the service");
    assert_non_null(first);
    assert_null(strstr(first + 1, "rank 1: another user's process")); /* it is said once */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    expect_log(&t, "rank 1 speaks through the service of this node again");
    all_reach(&t);
    finish(&t);
}

static int serve(void)
{
    struct sk_link_settings s;
    uint8_t job[SK_KEY_BYTES];
    if (sk_link_settings_parse(getenv(SK_LINK_ENV), &s, NULL) || read(SK_NODE_KEY_FD, job, sizeof job) != (ssize_t)sizeof job)
        return 1;
    return sk_node_run(&s, job, SK_NODE_LISTENER_FD);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "node"))
        return serve();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_service_speaks_for_all_and_another_after_it),
        cmocka_unit_test(who_speaks_for_itself_comes_back),
        cmocka_unit_test(a_silent_launcher_drives_nobody_away),
        cmocka_unit_test(a_service_that_never_lets_the_launcher_through_is_left),
        cmocka_unit_test(a_service_that_takes_long_to_begin_is_waited_for),
        cmocka_unit_test(services_that_die_one_after_the_other_hold_nobody_up),
        cmocka_unit_test(a_keeper_that_was_stopped_leaves_nobody),
        cmocka_unit_test(what_is_lost_on_the_way_is_said_again),
        cmocka_unit_test(a_link_that_carries_nothing_is_made_anew),
        cmocka_unit_test(another_user_in_the_way_is_told_and_passed_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
