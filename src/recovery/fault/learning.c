/* Beliefs about the hosts and the program of one job, from the failure database and from what the job sees. */
#include "recovery/fault/learning.h"

#include "backbone/keeper_page.h"
#include "backbone/rates/spool.h"
#include "base/clock.h"
#include "base/config/units.h"
#include "base/file/io.h"
#include "base/file/patience.h"
#include "base/log.h"
#include "schedule/failure/rates.h"
#include "schedule/learn/exchange.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds that anybody waits for a database that hangs, and for the server of a site; how long that is left alone after it did not answer; from
 * one adding of what passed to the next. */
static const double patience_s = 2, server_s = 3, rest_s = 300, hour_s = 3600;

struct sk_learning {
    struct sk_patience *patience;
    struct sk_belief node_prior, program_prior;
    char path[PATH_MAX];
    int own;
    struct sk_rates_peer server;
    struct sk_rates_exchange *x;
    int told, server_told; /* that the database, or the server, is of no use */
    double server_at;      /* when the server is tried again; 0: it answers */
    double counted_until;  /* the job runs since then; 0: it does not */
    double added;          /* when something was last added */
};

/* What goes to the databases and comes from them; a call that hangs keeps its own. */
struct call {
    char path[PATH_MAX], spool[PATH_MAX];
    int own, ask_server;
    struct sk_rates_peer server;
    struct saikai_error why; /* the server does not answer */
    struct sk_rates_exchange *x;
};

static void drop(void *arg)
{
    struct call *c = arg;
    free(c->x);
    free(c);
}

/* ---- the databases, from a thread that may hang ---- */

/* The server's word in place of the database's. */
static int ask_server(struct call *c)
{
    struct sk_rates_message question = {.kind = SK_RATES_ASK, .id = sk_id_random(), .x = c->x}, answer;
    if (!c->ask_server || sk_rates_call(&c->server, &question, server_s, &answer, &c->why))
        return -1;
    int ok = answer.kind == SK_RATES_TOLD && answer.x->n == c->x->n;
    if (ok) {
        c->x->nodes = answer.x->nodes;
        c->x->others = answer.x->others;
        c->x->seen = answer.x->seen;
        c->x->shape = answer.x->shape;
    }
    for (int i = 0; ok && i < c->x->n; i++) {
        c->x->host[i].seen = answer.x->host[i].seen;
        if (c->x->host[i].stated < 0)
            c->x->host[i].stated = answer.x->host[i].stated;
    }
    sk_rates_message_free(&answer);
    if (ok)
        sk_rates_spool_send(c->spool, &c->server, server_s, NULL);
    return ok ? 0 : sk_fail(&c->why, SAIKAI_EFORMAT, "the server of failure rates at %s answers something else", c->server.address);
}

static int ask(void *arg, struct saikai_error *err)
{
    struct call *c = arg;
    struct sk_database *db = NULL;
    if (!ask_server(c))
        return 0;
    int rc = sk_database_open(c->path, c->own, 0, &db, err);
    if (!rc)
        rc = sk_exchange_ask(db, c->x, err);
    sk_database_close(db);
    return rc;
}

/* 1: the server has it, or will. */
static int add_to_server(struct call *c)
{
    struct sk_rates_message question = {.kind = SK_RATES_ADD, .id = sk_id_random(), .x = c->x}, answer;
    struct saikai_error err = {0};
    if (c->ask_server && !sk_rates_call(&c->server, &question, server_s, &answer, &c->why)) {
        sk_rates_message_free(&answer);
        sk_rates_spool_send(c->spool, &c->server, server_s, NULL);
        return 1;
    }
    if (!sk_rates_spool_add(c->spool, &question, &err))
        return 1;
    if (!c->why.code)
        c->why = err;
    return 0;
}

static int add(void *arg, struct saikai_error *err)
{
    struct call *c = arg;
    struct sk_database *db = NULL;
    int rc = sk_database_open(c->path, c->own, 1, &db, err);
    if (!rc)
        rc = sk_exchange_add(db, c->x, err);
    sk_database_close(db);
    if (*c->server.address && add_to_server(c)) /* not twice there because the other one fails */
        return 0;
    return rc;
}

static void note_server(struct sk_learning *l, const struct call *c)
{
    if (!c->ask_server)
        return;
    l->server_at = c->why.code ? sk_now() + rest_s : 0;
    if (c->why.code && !l->server_told)
        sk_log(SK_LOG_WARN, "%s; going on with this user's own database, and what is learnt is sent later (failure.server)", c->why.text);
    l->server_told |= c->why.code != 0;
}

/* x is taken; *out, if wanted, gets what has come of it. */
static int with_database(struct sk_learning *l, int (*fn)(void *, struct saikai_error *), struct sk_rates_exchange *x, struct sk_rates_exchange **out)
{
    struct saikai_error err = {0};
    struct call *c = x ? calloc(1, sizeof *c) : NULL;
    if (!c) {
        free(x);
        return SAIKAI_ENOMEM;
    }
    *c = (struct call){.own = l->own, .server = l->server, .x = x};
    strcpy(c->path, l->path);
    c->ask_server = *l->server.address && sk_now() >= l->server_at;
    int rc = sk_io_path(c->spool, sizeof c->spool, &err, "%s.unsent", l->path);
    if (!rc)
        rc = sk_patience_call(l->patience, l->path, fn, drop, c, &err);
    int kept = rc == SAIKAI_ETIMEDOUT;
    if (!kept)
        note_server(l, c);
    if (!rc && out) {
        *out = c->x;
        c->x = NULL;
    }
    if (!kept)
        drop(c);
    if (rc == SAIKAI_ENOENT && fn == ask) /* nobody has learnt anything yet */
        return rc;
    if (rc && !l->told)
        sk_log(SK_LOG_WARN, "%s; going on without learning (failure.database)", err.text);
    l->told |= rc != 0;
    return rc;
}

/* ---- what is known ---- */

static double stated_rate(const struct sk_rates *rates, const char *host)
{
    int known = 0;
    double rate = rates ? sk_rates_of(rates, host, &known) : -1;
    return known ? rate : -1;
}

static int set_place(struct sk_learning *l, const struct sk_config *c)
{
    struct saikai_error err = {0};
    int rc = sk_database_place(sk_config_text(c, "failure.database"), l->path, sizeof l->path, &l->own, &err);
    if (rc < 0)
        sk_log(SK_LOG_WARN, "%s: nothing is learnt of faults (failure.database)", err.text);
    if (!rc && sk_rates_peer_of(c, &l->server, &err)) {
        sk_log(SK_LOG_WARN, "%s: only this user's own database is asked", err.text);
        *l->server.address = 0;
    }
    return rc;
}

struct sk_learning *sk_learning_new(const struct sk_config *c, const char *program, const struct sk_hosts *h)
{
    struct sk_learning *l = calloc(1, sizeof *l);
    struct sk_rates *rates = NULL;
    const char *slash = strrchr(program, '/'), *name = sk_config_text(c, "job.name");
    if (l)
        l->x = sk_exchange_new(h->n);
    if (!l || !l->x || set_place(l, c) || sk_patience_new(patience_s + (*l->server.address ? 2 * server_s : 0), &l->patience, NULL)) {
        sk_learning_free(l, 0);
        return NULL;
    }
    l->node_prior = sk_belief_prior(sk_config_time(c, "failure.mtbf"), 1);
    l->program_prior = sk_belief_prior(sk_config_time(c, "failure.program_mtbf"), 1);
    snprintf(l->x->job, sizeof l->x->job, "%s", *name ? name : slash ? slash + 1 : program);
    sk_rates_open(sk_config_text(c, "failure.rates"), 0, &rates, NULL); /* what is wrong with it is told by the ranks */
    double rest = stated_rate(rates, "*");
    if (rest > 0) /* the site's own word for all hosts that it does not name */
        l->node_prior = sk_belief_prior(1 / rest, 1);
    for (int i = 0; i < h->n; i++) {
        snprintf(l->x->host[i].name, sizeof l->x->host[i].name, "%s", h->host[i].name);
        l->x->host[i].stated = stated_rate(rates, h->host[i].name);
    }
    sk_rates_free(rates);
    struct sk_rates_exchange *x = NULL;
    if (!with_database(l, ask, sk_exchange_copy(l->x), &x)) {
        free(l->x);
        l->x = x;
    }
    l->added = sk_now();
    return l;
}

/* Weibull's shape of the faults of hosts and program together: that of the hosts is learnt, while a program's own faults are taken as independent
 * of each other (nobody knows for which of them it ran all the time in between), and each counts by its part in the rate. */
static double find_shape(const struct sk_learning *l, double hosts, double program)
{
    return l->x->shape > 0 && hosts > 0 ? exp(log(l->x->shape) * hosts / (hosts + program)) : 1;
}

/* What all were seen for is the belief to begin with for one of them; what is stated of a host takes the place of that. */
static double rate_of_host(const struct sk_learning *l, const struct sk_exchange_host *h)
{
    struct sk_belief all = sk_belief_with(l->node_prior, l->x->nodes);
    struct sk_belief prior = h->stated > 0 ? sk_belief_prior(1 / h->stated, 1) : sk_belief_of_one(all, 1);
    return h->stated == 0 ? 0 : sk_belief_mean(sk_belief_with(prior, h->seen));
}

static const char *how_often(char out[40], double rate)
{
    char mean[32];
    snprintf(out, 40, rate > 0 ? "once in %s" : "never", rate > 0 ? sk_format_time(mean, sizeof mean, 1 / rate) : "");
    return out;
}

void sk_learning_print(const struct sk_learning *l, char out[SK_LEARNT_TEXT])
{
    double hosts = 0;
    *out = 0;
    if (!l)
        return;
    for (int i = 0; i < l->x->n; i++)
        if (l->x->host[i].used)
            hosts += rate_of_host(l, &l->x->host[i]);
    struct sk_belief all = sk_belief_with(l->program_prior, l->x->others);
    double program = sk_belief_mean(sk_belief_with(sk_belief_of_one(all, 1), l->x->seen));
    snprintf(out, SK_LEARNT_TEXT, "%.9g,%.9g,%.9g,%.9g,%.9g", hosts, program, l->x->seen.faults, l->x->seen.seconds, find_shape(l, hosts, program));
    char once[2][40], seen[32];
    sk_log(SK_LOG_INFO, "failure rates: the program %s, the hosts %s (%.3g faults of this program in %s count)", how_often(once[0], program),
           how_often(once[1], hosts), l->x->seen.faults, sk_format_time(seen, sizeof seen, l->x->seen.seconds));
}

/* ---- what is seen ---- */

static void count_time(struct sk_learning *l, double now)
{
    double passed = l->counted_until > 0 ? fmax(0, now - l->counted_until) : 0;
    l->x->job_seconds += passed;
    sk_belief_time(&l->x->seen, passed);
    for (int i = 0; i < l->x->n; i++) {
        if (!l->x->host[i].used)
            continue;
        l->x->host[i].to_add += passed;
        sk_belief_time(&l->x->host[i].seen, passed);
        sk_belief_time(&l->x->nodes, passed);
    }
    if (l->counted_until > 0)
        l->counted_until = now;
}

void sk_learning_started(struct sk_learning *l, const struct sk_hosts *h, const int *seat, int n_ranks, double now)
{
    if (!l)
        return;
    count_time(l, now);
    l->counted_until = now;
    for (int i = 0; i < l->x->n; i++)
        l->x->host[i].used = 0;
    for (int r = 0; r < n_ranks; r++)
        if (seat[r] >= 0 && seat[r] < h->n && seat[r] < l->x->n)
            l->x->host[seat[r]].used = 1;
}

static void note(struct sk_learning *l, enum sk_side side, const char *host, const char *source)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (l->x->n_events == SK_EXCHANGE_EVENTS) /* the database does not take them: the newest are worth most */
        memmove(l->x->event, l->x->event + 1, (size_t)--l->x->n_events * sizeof *l->x->event);
    struct sk_fault_event *e = &l->x->event[l->x->n_events++];
    *e = (struct sk_fault_event){.time = (double)t.tv_sec + (double)t.tv_nsec * 1e-9, .side = side};
    snprintf(e->host, sizeof e->host, "%s", host);
    snprintf(e->source, sizeof e->source, "%s", source);
    snprintf(e->job, sizeof e->job, "%s", l->x->job);
}

void sk_learning_fault(struct sk_learning *l, const struct sk_fault *f, const struct sk_hosts *h, int counts, double now)
{
    if (!l || !f->kind)
        return;
    int of_node = f->host >= 0 && f->host < l->x->n && sk_fault_means(f, SK_FAULT_TAKES_HOST);
    count_time(l, now);
    l->counted_until = 0;
    if (!of_node && !counts)
        return;
    if (of_node) {
        sk_belief_fault(&l->x->host[f->host].seen, l->x->memory);
        sk_belief_fault(&l->x->nodes, l->x->memory);
    } else {
        sk_belief_fault(&l->x->seen, l->x->memory);
    }
    note(l, of_node ? SK_SIDE_NODE : SK_SIDE_PROGRAM, f->host >= 0 && f->host < h->n ? h->host[f->host].name : "", f->kind->name);
}

static void add_all(struct sk_learning *l, double now)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    l->x->now = (double)t.tv_sec;
    l->added = now;
    int rc = with_database(l, add, sk_exchange_to_add(l->x), NULL);
    if (rc && rc != SAIKAI_ETIMEDOUT) /* another time; one that hangs may yet come to its end */
        return;
    l->x->n_events = 0;
    l->x->job_seconds = 0;
    for (int i = 0; i < l->x->n; i++)
        l->x->host[i].to_add = 0;
}

void sk_learning_tick(struct sk_learning *l, double now)
{
    if (!l || (!l->x->n_events && now - l->added < hour_s) || (l->told && now - l->added < hour_s))
        return;
    count_time(l, now);
    add_all(l, now);
}

void sk_learning_free(struct sk_learning *l, double now)
{
    if (!l)
        return;
    if (l->patience && now > 0) {
        count_time(l, now);
        if (l->x->n_events || l->x->job_seconds > 0)
            add_all(l, now);
    }
    sk_patience_free(l->patience);
    free(l->x);
    free(l);
}
