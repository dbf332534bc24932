/* Beliefs about the hosts and the program of one job, from the failure database and from what the job sees. */
#include "recovery/fault/learning.h"

#include "backbone/keeper_page.h"
#include "base/clock.h"
#include "base/file/patience.h"
#include "base/log.h"
#include "schedule/failure/rates.h"
#include "schedule/learn/database.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_EVENTS = 16 };
/* Seconds that anybody waits for a database that hangs; from one adding of what passed to the next. */
static const double patience_s = 2, hour_s = 3600;

struct host {
    char name[SK_NAME_BYTES];
    struct sk_belief seen; /* of it alone */
    double stated;         /* failures per second that somebody told; -1: nobody */
    double to_add;         /* seconds that the database does not have yet */
    int used;              /* by the start under way */
};

/* What goes to the database and comes from it; a call that hangs keeps its own. */
struct exchange {
    char path[PATH_MAX];
    int own;
    double memory;
    char job[SK_NAME_BYTES];
    double now, job_seconds;
    struct sk_belief nodes, others, seen; /* of all hosts, all other programs, this one */
    int n_events;
    struct sk_fault_event event[MOST_EVENTS];
    int n;
    struct host host[];
};

struct sk_learning {
    struct sk_patience *patience;
    struct sk_belief node_prior, program_prior;
    struct exchange *x;
    int told;             /* that the database is of no use */
    double counted_until; /* the job runs since then; 0: it does not */
    double added;         /* when something was last added */
};

static struct exchange *copy_of(const struct exchange *x)
{
    size_t n = sizeof *x + (size_t)x->n * sizeof *x->host;
    struct exchange *c = malloc(n);
    return c ? memcpy(c, x, n) : NULL;
}

/* ---- the database, from a thread that may hang ---- */

static int ask(void *arg, struct saikai_error *err)
{
    struct exchange *x = arg;
    struct sk_database *db = NULL;
    int rc = sk_database_open(x->path, x->own, 0, &db, err);
    if (!rc)
        rc = sk_database_seen(db, SK_SIDE_NODE, NULL, x->memory, &x->nodes, err);
    if (!rc)
        rc = sk_database_others(db, x->job, x->memory, &x->others, err);
    if (!rc)
        rc = sk_database_seen(db, SK_SIDE_PROGRAM, x->job, x->memory, &x->seen, err);
    for (int i = 0; i < x->n && !rc; i++) {
        double stated = -1;
        rc = sk_database_seen(db, SK_SIDE_NODE, x->host[i].name, x->memory, &x->host[i].seen, err);
        if (!rc)
            rc = sk_database_stated(db, x->host[i].name, &stated, err);
        if (stated >= 0 && x->host[i].stated < 0)
            x->host[i].stated = stated;
    }
    sk_database_close(db);
    return rc;
}

static int add(void *arg, struct saikai_error *err)
{
    struct exchange *x = arg;
    struct sk_database *db = NULL;
    int rc = sk_database_open(x->path, x->own, 1, &db, err);
    if (!rc)
        rc = sk_database_begin(db, err);
    if (!rc)
        rc = sk_database_add_time(db, SK_SIDE_PROGRAM, x->job, x->now, x->job_seconds, 0, err);
    for (int i = 0; i < x->n && !rc; i++)
        rc = sk_database_add_time(db, SK_SIDE_NODE, x->host[i].name, x->now, x->host[i].to_add, 0, err);
    for (int i = 0; i < x->n_events && !rc; i++)
        rc = sk_database_add_event(db, &x->event[i], err);
    if (!rc)
        rc = sk_database_commit(db, err);
    sk_database_close(db);
    return rc;
}

static int with_database(struct sk_learning *l, int (*fn)(void *, struct saikai_error *), struct exchange **out)
{
    struct saikai_error err = {0};
    struct exchange *x = copy_of(l->x);
    int rc = x ? sk_patience_call(l->patience, l->x->path, fn, free, x, &err) : sk_fail(&err, SAIKAI_ENOMEM, "no memory");
    if (rc == SAIKAI_ENOENT && fn == ask) { /* nobody has learnt anything yet */
        free(x);
        return rc;
    }
    if (rc && !l->told)
        sk_log(SK_LOG_WARN, "%s; going on without learning (failure.database)", err.text);
    l->told |= rc != 0;
    if (rc != SAIKAI_ETIMEDOUT && (rc || !out))
        free(x);
    else if (!rc)
        *out = x;
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
    int rc = sk_database_place(sk_config_text(c, "failure.database"), l->x->path, sizeof l->x->path, &l->x->own, &err);
    if (rc < 0)
        sk_log(SK_LOG_WARN, "%s: nothing is learnt of faults (failure.database)", err.text);
    return rc;
}

struct sk_learning *sk_learning_new(const struct sk_config *c, const char *program, const struct sk_hosts *h)
{
    struct sk_learning *l = calloc(1, sizeof *l);
    struct sk_rates *rates = NULL;
    const char *slash = strrchr(program, '/'), *name = sk_config_text(c, "job.name");
    if (l)
        l->x = calloc(1, sizeof *l->x + (size_t)h->n * sizeof *l->x->host);
    if (!l || !l->x || set_place(l, c) || sk_patience_new(patience_s, &l->patience, NULL)) {
        sk_learning_free(l, 0);
        return NULL;
    }
    l->node_prior = sk_belief_prior(sk_config_time(c, "failure.mtbf"), 1);
    l->program_prior = sk_belief_prior(sk_config_time(c, "failure.program_mtbf"), 1);
    l->x->memory = SK_BELIEF_MEMORY;
    l->x->n = h->n;
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
    struct exchange *x = NULL;
    if (!with_database(l, ask, &x)) {
        free(l->x);
        l->x = x;
    }
    l->added = sk_now();
    return l;
}

/* What all were seen for is the belief to begin with for one of them; what is stated of a host takes the place of that. */
static double rate_of_host(const struct sk_learning *l, const struct host *h)
{
    struct sk_belief all = sk_belief_with(l->node_prior, l->x->nodes);
    struct sk_belief prior = h->stated > 0 ? sk_belief_prior(1 / h->stated, 1) : sk_belief_of_one(all, 1);
    return h->stated == 0 ? 0 : sk_belief_mean(sk_belief_with(prior, h->seen));
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
    snprintf(out, SK_LEARNT_TEXT, "%.9g,%.9g,%.9g,%.9g", hosts, program, l->x->seen.faults, l->x->seen.seconds);
    sk_log(SK_LOG_INFO, "failure rates: the program once in %.3g h, the hosts once in %.3g h (%.3g faults of this program in %.3g h count)",
           program > 0 ? 1 / program / 3600 : INFINITY, hosts > 0 ? 1 / hosts / 3600 : INFINITY, l->x->seen.faults,
           l->x->seen.seconds / 3600);
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
    if (l->x->n_events == MOST_EVENTS) /* the database does not take them: the newest are worth most */
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
    int rc = with_database(l, add, NULL);
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
