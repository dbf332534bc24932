/* A job of four ranks on two hosts and a spare one: keepers that beat, die, fall silent or obey. */
#include "recovery/supervisor_testing.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void say_beat(struct crew *w, int rank, enum sk_message_kind kind)
{
    struct sk_message m = {
        .kind = kind, .incarnation = w->incarnation, .rank = w->id[rank], .at = w->at};
    m.at.world = w->world[rank];
    snprintf(m.host, sizeof m.host, "h%d", w->seat[rank]);
    if (w->seat[rank] != w->silent_host)
        sk_supervisor_heard(w->s, &m, w->now);
}

void crew_exit(struct crew *w, int rank, uint32_t how, uint32_t code, uint32_t ordered)
{
    struct sk_message m = {.kind = SK_MSG_EXIT,
                           .incarnation = w->incarnation,
                           .rank = w->id[rank],
                           .at = w->at,
                           .how = how,
                           .code = code,
                           .ordered = ordered};
    m.at.world = w->world[rank];
    m.at.printed = w->printed;
    w->alive[rank] = 0;
    if (w->seat[rank] != w->silent_host)
        sk_supervisor_heard(w->s, &m, w->now);
}

static int start(void *arg, uint32_t incarnation, const struct sk_past *past,
                 const struct sk_hosts *h, const int *seat, struct saikai_error *err)
{
    struct crew *w = arg;
    w->past = *past;
    if (w->start_fails)
        return sk_fail(err, SAIKAI_EIO, "no launcher today");
    w->incarnation = incarnation;
    w->started_at[w->starts++ % 16] = w->now;
    memcpy(w->seat, seat, sizeof w->seat);
    for (int r = 0; r < N; r++) {
        w->alive[r] = 2; /* says hello at the next step */
        w->id[r] = (uint32_t)r;
        w->world[r] = 0;
    }
    return 0;
}

static void abandon(void *arg, uint32_t incarnation, int urgent)
{
    ((struct crew *)arg)->abandoned++;
}

/* Keepers that die by order report with the next step, not within the call, as in life. */
static void send_order(void *arg, const struct sk_message *m)
{
    struct crew *w = arg;
    w->kills += m->kind == SK_MSG_KILL;
    w->releases += m->kind == SK_MSG_RELEASE;
    w->signals += m->kind == SK_MSG_SIGNAL;
    w->requests += m->kind == SK_MSG_REQUEST;
    w->asked = m->kind == SK_MSG_REQUEST ? m->number : w->asked;
    if (m->kind == SK_MSG_REPAIR) {
        w->order = *m;
        w->orders++;
    }
    for (int r = 0; r < N; r++)
        if (m->kind == SK_MSG_KILL && m->incarnation == w->incarnation && m->rank == w->id[r] && w->obeys && w->alive[r])
            w->alive[r] = -1;
}

static void probe(void *arg, char *answers)
{
    const struct crew *w = arg;
    for (int h = 0; h < HOSTS; h++)
        answers[h] = h != w->mute_host && h != w->silent_host;
}

static void say(void *arg, int level, const char *line)
{
    struct crew *w = arg;
    size_t n = strlen(w->said);
    snprintf(w->said + n, sizeof w->said - n, "%s\n", line);
}

static void record(void *arg, struct sk_event *e)
{
    struct crew *w = arg;
    w->event = *e;
    w->events++;
}

static int admit(void *arg, uint32_t incarnation, const struct sk_message *order, struct saikai_error *err)
{
    struct crew *w = arg;
    return w->admit_fails ? sk_fail(err, SAIKAI_EIO, "no key today") : 0;
}

static int unread(void *arg)
{
    return ((struct crew *)arg)->is_unread;
}

const struct sk_supervisor_ops crew_ops = {start, abandon, send_order, probe, say, record, NULL, admit, unread};

static void step(struct crew *w)
{
    for (int r = 0; r < N; r++) {
        if (w->alive[r] == 2) {
            w->alive[r] = 1;
            say_beat(w, r, SK_MSG_HELLO);
        } else if (w->alive[r] == 1) {
            say_beat(w, r, SK_MSG_BEAT);
        } else if (w->alive[r] == -1) {
            crew_exit(w, r, SK_EXIT_SIGNAL, SIGKILL, 1);
        }
    }
    sk_supervisor_tick(w->s, w->now);
}

void crew_run(struct crew *w, double seconds)
{
    int code;
    for (double end = w->now + seconds; w->now < end && !sk_supervisor_ended(w->s, &code);
         w->now += 0.05)
        step(w);
}

struct sk_supervisor_config crew_config(void)
{
    return (struct sk_supervisor_config){
        .detector = {.n_ranks = N, .heartbeat_s = 0.5, .node_timeout_s = 4, .start_timeout_s = 60},
        .assess = {.repeated_faults = 3, .repeated_window_s = 3600},
        .retries = 100,
        .no_progress = 3,
        .short_life_s = 3,
        .grace_s = 5,
        .stop_grace_s = 25,
        .command = "saikai run -n 4 -- ./solver",
    };
}

static struct crew *crew_begin_on(const struct sk_supervisor_config *c, int mute_host, int n_hosts)
{
    struct crew *w = calloc(1, sizeof *w);
    struct sk_hosts h = {0};
    struct saikai_error err = {0};
    int *seat = calloc(N, sizeof *seat);
    for (int i = 0; i < n_hosts; i++) {
        char name[8];
        snprintf(name, sizeof name, "h%d", i);
        assert_int_equal(sk_hosts_add(&h, name, n_hosts == 1 ? N : 2, &err), 0);
    }
    assert_int_equal(sk_hosts_place(&h, n_hosts == 1 ? 0 : 1, N, seat, &err), 0);
    w->now = 1000;
    w->silent_host = -1;
    w->mute_host = mute_host;
    w->obeys = 1;
    w->at = (struct sk_progress){.complete_iteration = -1, .restored_iteration = -1};
    w->s = sk_supervisor_new(c, &crew_ops, w, &h, seat);
    assert_non_null(w->s);
    sk_supervisor_start(w->s, w->now);
    crew_run(w, 1);
    return w;
}

struct crew *crew_begin_with(const struct sk_supervisor_config *c, int mute_host)
{
    return crew_begin_on(c, mute_host, c->repair_s > 0 ? 1 : HOSTS);
}

struct crew *crew_begin(const struct sk_supervisor_config *c)
{
    return crew_begin_with(c, -1);
}

void crew_finish(struct crew *w)
{
    sk_supervisor_free(w->s);
    free(w);
}

int crew_exit_code(struct crew *w)
{
    int code = -1;
    return sk_supervisor_ended(w->s, &code) ? code : -1;
}

static struct crew *with_library(struct crew *w)
{
    w->at.state = SK_KEEPER_INITIALISED;
    w->at.progress = 50;
    w->at.iteration = 50;
    w->at.complete_iteration = 40;
    w->at.complete_count = 1;
    crew_run(w, 0.5);
    return w;
}

struct crew *crew_begin_with_library(struct sk_supervisor_config *c)
{
    return with_library(crew_begin(c));
}

struct crew *crew_begin_on_hosts(struct sk_supervisor_config *c)
{
    return with_library(crew_begin_on(c, -1, HOSTS));
}
