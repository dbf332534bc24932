/* One process for each source: it looks, tells, waits. This side reads what comes of a host's state, a bounded part at a time. */
#include "recovery/source/watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "recovery/beside/beside.h"
#include "recovery/fault/unwell.h"
#include "recovery/source/ask.h"
#include "recovery/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16, READS = 16 };
/* How often the pipes are looked at; how often a store is looked for that takes what waits; how long the end of a source is waited for. */
static const double look_s = 0.25, store_s = 1, end_s = 2;
/* Shortest time between two looks of a source. */
static const double least_s = 0.05;

struct watched {
    const struct sk_source_ops *of;
    pid_t pid; /* 0: it was collected */
    int fd;    /* -1: it has ended */
    double heard;
    int silent; /* that was said */
    size_t n;
    char line[SK_EVENT_LINE]; /* that has not come to its end */
};

struct sk_watch {
    double silence_s, looked;
    int n;
    struct watched at[MOST];
};

/* ---- the process of a source ---- */

static void on_term(int number)
{
    (void)number;
    sk_ask_stop();
    _exit(0);
}

static void live(const struct sk_source_ops *s, const struct sk_source_view *v, uint64_t run, int out)
{
    struct sk_teller *t = sk_teller_new(s->name, sk_config_text(v->config, "store.prefix"), run, out);
    double every = s->every_s > 0 ? s->every_s : fmax(sk_config_time(v->config, "events.every"), least_s);
    void *state = NULL;
    int told = 0;
    while (t && !sk_teller_is_alone(t)) {
        struct saikai_error err = {0};
        double next = sk_now() + every;
        int rc = sk_source_look(s, v, &state, t, &err);
        if (rc && !told)
            sk_log(SK_LOG_WARN, "source of events %s: %s; that is said once, and it goes on looking", s->name, err.text);
        told |= rc != 0;
        sk_teller_beat(t);
        sk_teller_flush(t);
        for (double left; (left = next - sk_now()) > 0;) {
            sk_sleep(fmin(left, store_s));
            sk_teller_flush(t);
        }
    }
    sk_source_end(s, state);
    sk_teller_free(t);
    _exit(1);
}

/* ---- `saikai run` ---- */

static void begin(struct sk_watch *w, const struct sk_source_ops *s, const struct sk_source_view *v, uint64_t run)
{
    int p[2];
    if (w->n == MOST || pipe2(p, O_CLOEXEC)) {
        sk_log(SK_LOG_WARN, "the source of events %s cannot be started", s->name);
        return;
    }
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        sk_beside_become(parent, p[1], "saikai-source", on_term);
        fcntl(3, F_SETFL, O_NONBLOCK);
        live(s, v, run, 3);
    }
    close(p[1]);
    if (pid < 0) {
        close(p[0]);
        sk_log(SK_LOG_WARN, "the source of events %s cannot be started: %s", s->name, strerror(errno));
        return;
    }
    sk_log(SK_LOG_INFO, "source of events: %s", s->name);
    w->at[w->n++] = (struct watched){.of = s, .pid = pid, .fd = p[0], .heard = sk_now()};
}

int sk_watch_new(const struct sk_config *c, const struct sk_hosts *hosts, int told_hosts, const char *launcher, uint64_t run,
                 struct sk_watch **out, struct saikai_error *err)
{
    struct sk_source_view v = {c, hosts, told_hosts, launcher};
    const struct sk_source_ops *s;
    double rounds = ceil((double)hosts->n / SK_ASK_AT_ONCE);
    struct sk_watch *w = calloc(1, sizeof *w);
    int rc = w ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for sources of events");
    for (int i = 0; rc >= 0 && (s = sk_source_at(i)); i++)
        rc = sk_source_wanted(s, &v, err);
    if (rc < 0) {
        free(w);
        return rc;
    }
    sk_unwell_forget_all();
    w->silence_s = 2 + 3 * (fmax(sk_config_time(c, "events.every"), least_s) + rounds * sk_config_time(c, "events.limit"));
    for (int i = 0; (s = sk_source_at(i)); i++)
        if (sk_source_wanted(s, &v, NULL) > 0)
            begin(w, s, &v, run);
    if (!w->n) {
        free(w);
        w = NULL;
    }
    *out = w;
    return 0;
}

static void take_event(const struct watched *a, const struct saikai_event *e)
{
    const char *node = sk_event_field(e, SK_NODE_FIELD), *text = sk_event_field(e, SK_NODE_WHY);
    if (!node || !*e->host)
        return;
    if (!strcmp(node, SK_NODE_UNWELL) && sk_unwell_set(e->host, a->of->name, text ? text : e->name))
        sk_log(SK_LOG_WARN, "node %s is not well: %s (source of events %s)", e->host, text ? text : e->name, a->of->name);
    else if (!strcmp(node, SK_NODE_WELL) && sk_unwell_set(e->host, a->of->name, NULL))
        sk_log(SK_LOG_NOTICE, "node %s is well again (source of events %s)", e->host, a->of->name);
}

static void take(struct watched *a, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct saikai_event e;
        if (text[i] != '\n') {
            if (a->n < sizeof a->line)
                a->line[a->n++] = text[i];
            continue;
        }
        if (a->n && a->n < sizeof a->line && !sk_event_parse(a->line, a->n, &e))
            take_event(a, &e);
        a->n = 0;
    }
}

static void hear(struct sk_watch *w, struct watched *a, double now)
{
    char text[4096];
    ssize_t n = -1;
    for (int i = 0; i < READS && (n = read(a->fd, text, sizeof text)) > 0; i++) {
        take(a, text, (size_t)n);
        a->heard = now;
    }
    if (!n) {
        sk_log(SK_LOG_WARN, "the source of events %s has ended by itself: the job goes on without it", a->of->name);
        close(a->fd);
        a->fd = -1;
    } else if (!a->silent && now - a->heard > w->silence_s) {
        sk_log(SK_LOG_WARN, "nothing was heard of the source of events %s for %.3g s: the job goes on without it", a->of->name, now - a->heard);
        a->silent = 1;
    }
}

void sk_watch_tick(struct sk_watch *w, double now)
{
    if (!w || now - w->looked < look_s)
        return;
    w->looked = now;
    for (int i = 0; i < w->n; i++)
        if (w->at[i].fd >= 0)
            hear(w, &w->at[i], now);
}

void sk_watch_free(struct sk_watch *w)
{
    double end = sk_now() + end_s;
    for (int i = 0; w && i < w->n; i++)
        if (!sk_beside_is_gone(&w->at[i].pid))
            kill(w->at[i].pid, SIGTERM);
    for (int i = 0; w && i < w->n; i++) {
        while (!sk_beside_is_gone(&w->at[i].pid) && sk_now() < end)
            sk_sleep(0.005);
        if (!sk_beside_is_gone(&w->at[i].pid)) {
            kill(w->at[i].pid, SIGKILL);
            waitpid(w->at[i].pid, NULL, WNOHANG);
        }
        if (w->at[i].fd >= 0)
            close(w->at[i].fd);
    }
    free(w);
}
