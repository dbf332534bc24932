/* Restarts that did not come to anything, and the marks that a rank leaves when it is told to end. */
#include "lib/start/tries.h"

#include "base/hash.h"
#include "base/file/io.h"
#include "base/log.h"
#include "base/file/patience.h"
#include "base/text/counted.h"
#include "lib/start/memo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- marks ---- */

/* What a handler may touch: paths that were made before. One for each session of the process (tests have several). */
enum { MOST_ARMED = 64, SIGNALS = 5 };
static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
static struct {
    _Atomic int armed;
    const struct sk_session *owner;
    char path[PATH_MAX];
} marks[MOST_ARMED];
static struct sigaction before[SIGNALS]; /* what these signals did without us */
static int handlers; /* sessions that need them */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void leave_marks(void)
{
    for (int i = 0; i < MOST_ARMED; i++)
        if (atomic_load(&marks[i].armed)) {
            int fd = open(marks[i].path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            if (fd >= 0)
                close(fd);
        }
}

/* Leave the marks, and then do what would have been done without us. */
static void on_end(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    for (int i = 0; i < SIGNALS; i++) {
        if (numbers[i] != number || before[i].sa_handler == SIG_IGN)
            continue;
        leave_marks();
        if (before[i].sa_flags & SA_SIGINFO) {
            before[i].sa_sigaction(number, info, context);
        } else if (before[i].sa_handler != SIG_DFL) {
            before[i].sa_handler(number);
        } else { /* it is delivered when this returns */
            signal(number, SIG_DFL);
            raise(number);
        }
    }
    errno = saved;
}

static void install(void)
{
    struct sigaction act = {.sa_sigaction = on_end, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&act.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        if (!sigaction(numbers[i], NULL, &before[i]) && before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &act, NULL);
}

/* Handlers that the program has put in place of ours stay. */
static void uninstall(void)
{
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (!sigaction(numbers[i], NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_end)
            sigaction(numbers[i], &before[i], NULL);
    }
}

void sk_tries_arm(struct sk_session *s)
{
    int at = -1;
    pthread_mutex_lock(&lock);
    for (int i = MOST_ARMED; i-- > 0;)
        if (atomic_load(&marks[i].armed) && marks[i].owner == s)
            at = MOST_ARMED; /* is armed already */
        else if (at < MOST_ARMED && !atomic_load(&marks[i].armed))
            at = i;
    if (at >= 0 && at < MOST_ARMED &&
        !sk_io_path(marks[at].path, sizeof marks[at].path, NULL, "%s/stopped-%04u-%06d", s->place.local_root, s->who.incarnation,
                    s->g->rank)) {
        marks[at].owner = s;
        if (s->page && strlen(marks[at].path) < sizeof s->page->stop_mark)
            strcpy(s->page->stop_mark, marks[at].path);
        atomic_store(&marks[at].armed, 1);
        if (!handlers++)
            install();
    }
    pthread_mutex_unlock(&lock);
}

void sk_tries_disarm(struct sk_session *s)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_ARMED; i++)
        if (atomic_load(&marks[i].armed) && marks[i].owner == s) {
            atomic_store(&marks[i].armed, 0);
            if (s->page)
                *s->page->stop_mark = 0;
            if (!--handlers)
                uninstall();
        }
    pthread_mutex_unlock(&lock);
}

/* The newest mark of this rank; remove 1: all of them go. */
static int64_t look(const struct sk_session *s, int remove)
{
    DIR *d = opendir(s->place.local_root);
    int64_t newest = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        unsigned start;
        int rank, n = 0;
        if (sscanf(e->d_name, "stopped-%5u-%9d%n", &start, &rank, &n) != 2 || e->d_name[n] || rank != s->g->rank)
            continue;
        newest = start > newest ? start : newest;
        char path[PATH_MAX];
        if (remove && !sk_io_path(path, sizeof path, NULL, "%s/%s", s->place.local_root, e->d_name))
            sk_io_unlink(path, NULL);
    }
    if (d)
        closedir(d);
    return newest;
}

int64_t sk_tries_marked(const struct sk_session *s)
{
    return look(s, 0);
}

void sk_tries_clear_marks(const struct sk_session *s)
{
    look(s, 1);
}

/* ---- counting ---- */

void sk_tries_judge(struct sk_session *s, int64_t marked)
{
    struct sk_tried t = s->who.state.trying;
    uint32_t start = s->who.state.trying_start;
    uint32_t end = s->page ? s->page->last_end : SK_LAST_END_UNKNOWN;
    s->who.state.trying = (struct sk_tried){0};
    s->who.state.trying_start = 0;
    if (!t.gen.incarnation || end == SK_LAST_END_FROM_OUTSIDE || (end == SK_LAST_END_UNKNOWN && marked == start))
        return;
    sk_state_count(&s->who.state, t.gen, t.files, end == SK_LAST_END_BY_ITSELF);
    sk_log(SK_LOG_INFO, "the start before this one read the generation of iteration %lld and %s",
           (long long)t.gen.iteration,
           end == SK_LAST_END_BY_ITSELF ? "died by itself" : "ended before a candidate, nobody knows why");
}

/* What this rank's files of g are like: a number that changes when one does. For a thread that may hang in the prefix. */
struct looking {
    char root[2][PATH_MAX];
    struct sk_gen gen;
    int rank;
    uint64_t sum;
};

static int look_at_files(void *arg, struct saikai_error *err)
{
    struct looking *l = arg;
    (void)err;
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX];
        struct stat sb;
        if (!*l->root[i] || sk_gen_file(l->root[i], l->gen, l->rank, path, sizeof path, NULL) || stat(path, &sb))
            continue;
        int64_t what[5] = {i, l->rank, sb.st_size, sb.st_mtim.tv_sec, sb.st_mtim.tv_nsec};
        l->sum += sk_hash64(what, sizeof what) & 0xffffffffff; /* many ranks can be added up */
    }
    return 0;
}

/* 0: nobody knows. */
static int64_t look_of(const struct sk_session *s, struct sk_gen g)
{
    struct looking *l = calloc(1, sizeof *l);
    if (!l)
        return 0;
    snprintf(l->root[0], sizeof l->root[0], "%s", s->place.local_root);
    snprintf(l->root[1], sizeof l->root[1], "%s", s->place.prefix_root);
    l->gen = g;
    l->rank = s->g->rank;
    int rc = *s->place.prefix_root ? sk_patience_call(s->place.patience, s->place.prefix_root, look_at_files, free, l, NULL) : look_at_files(l, NULL);
    if (rc == SAIKAI_ETIMEDOUT)
        return 0;
    int64_t sum = (int64_t)l->sum;
    free(l);
    return sum;
}

static void tell_refused(const struct sk_session *s, struct sk_gen g)
{
    const struct sk_tried *t = sk_state_tried(&s->who.state, g);
    char name[48];
    sk_gen_name(g, name);
    if (t->bad)
        sk_log(SK_LOG_WARN,
               "generation %s of iteration %lld is marked bad and passed over; 'saikai mark --good %s %s' lets it be used",
               name, (long long)g.iteration, name, sk_place_state_root(&s->place));
    else
        sk_log(SK_LOG_WARN,
               "generation %s of iteration %lld is passed over: %s died after reading it%s (restart.tries is %lld); "
               "'saikai mark --good %s %s' lets it be tried again",
               name, (long long)g.iteration, sk_counted((unsigned)(t->deaths + t->unexplained), "start(s)"),
               t->unexplained ? ", some of them nobody knows why (these count half)" : "",
               (long long)sk_config_int(s->config, "restart.tries"), name, sk_place_state_root(&s->place));
}

int sk_tries_may(struct sk_session *s, struct sk_gen g, int *allowed, struct saikai_error *err)
{
    int64_t v[2] = {look_of(s, g), 1};
    int rc = sk_group_allreduce(s->g, v, 1, SK_OP_SUM);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on a generation");
    uint64_t files = (uint64_t)v[0];
    if (s->g->rank == 0 && sk_state_refuses(&s->who.state, g, files, (int)sk_config_int(s->config, "restart.tries"))) {
        tell_refused(s, g);
        v[1] = 0;
    } else if (s->g->rank == 0) {
        s->who.state.trying = (struct sk_tried){.gen = g, .files = files};
        s->who.state.trying_start = s->who.state.incarnation;
        rc = sk_memo_save(s, err);
    }
    rc = sk_group_verdict(s->g, rc, err);
    if (!rc && (rc = sk_group_bcast(s->g, &v[1], sizeof v[1], 0)))
        sk_fail(err, rc, "the ranks could not agree on a generation");
    *allowed = v[1] != 0;
    if (!rc && *allowed)
        sk_tries_arm(s);
    return rc;
}

void sk_tries_refresh(struct sk_session *s)
{
    struct sk_state now;
    if (s->g->rank || sk_memo_read(s, &now) || now.incarnation != s->who.state.incarnation)
        return;
    memcpy(s->who.state.tried, now.tried, sizeof s->who.state.tried);
    s->who.state.tried_count = now.tried_count;
}

void sk_tries_end(struct sk_session *s, struct sk_gen g, int good)
{
    struct saikai_error err = {0};
    sk_tries_disarm(s);
    if (s->g->rank || (!s->who.state.trying.gen.incarnation && !(good && sk_state_tried(&s->who.state, g))))
        return;
    sk_tries_refresh(s);
    s->who.state.trying = (struct sk_tried){0};
    s->who.state.trying_start = 0;
    if (good)
        sk_state_untry(&s->who.state, g);
    if (sk_memo_save(s, &err))
        sk_log(SK_LOG_WARN, "%s", err.text);
}
