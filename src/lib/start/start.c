/* The start of a session: what the ranks must agree on before anything is opened. */
#include "lib/start/start.h"

#include "base/file/denied.h"
#include "base/log.h"
#include "lib/start/hold_local.h"
#include "lib/start/identity.h"
#include "lib/start/incarnation.h"
#include "lib/start/memo.h"
#include "lib/start/places.h"
#include "lib/start/tries.h"
#include "schedule/failure/rates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sum of the failure rates of the hosts in use. */
static int find_rate(struct sk_session *s, const char *hosts, double *rate, struct saikai_error *err)
{
    struct sk_rates *rates = NULL;
    size_t unknown = 0, n = (size_t)s->g->size;
    double mtbf = sk_config_time(s->config, "failure.mtbf");
    const char *path = sk_config_text(s->config, "failure.rates"), **names = calloc(n, sizeof *names);
    int rc = names ? sk_rates_open(path, mtbf > 0 ? 1 / mtbf : 0, &rates, err)
                   : sk_fail(err, SAIKAI_ENOMEM, "no memory for the names of %zu hosts", n);
    for (size_t i = 0; !rc && i < n; i++)
        names[i] = hosts + i * sizeof s->place.host;
    if (!rc)
        rc = sk_rates_sum(rates, names, n, rate, &unknown, err);
    if (!rc && *path && unknown)
        sk_log(SK_LOG_INFO, "%s does not name %zu of the hosts: failure.mtbf holds for them", path, unknown);
    sk_rates_free(rates);
    free(names);
    return rc;
}

/* What the launcher knows of the starts before this one. */
static struct sk_suffered find_suffered(const struct sk_session *s)
{
    const struct sk_keeper_page *p = s->page;
    if (!p)
        return (struct sk_suffered){0};
    struct sk_suffered v = {p->past_faults, (double)p->past_ms / 1000, (int64_t)(p->past_candidates & INT64_MAX), p->past_faults > 0};
    if (p->program_rate > 0) { /* in earlier runs, too */
        v.faults = (double)p->own_faults;
        v.seconds = (double)p->own_seconds;
    }
    return v;
}

/* The rate that checkpoints are made for: of the hosts, and of the program, which dies more often than they do. */
static double find_total_rate(const struct sk_session *s)
{
    if (s->measured.program_rate > 0)
        return s->measured.host_rate + s->measured.program_rate;
    return s->measured.host_rate + sk_suffered_rate(sk_config_time(s->config, "failure.program_mtbf"), &s->measured.suffered);
}

/* Rank 0 finds the prefix. Away is what does not answer, and what cannot be made because its disk is full or read-only:
 * the job may go on without. All else is an error, unless it is known here. */
static int find_places(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err)
{
    struct saikai_error why = {0};
    st->away = sk_places_find_prefix(s, st, err);
    if (st->away && !*st->prefix)
        return st->away;
    int rc = sk_identity_name(s, st, program, &why);
    if (!rc && *st->prefix && !st->away)
        rc = sk_identity_find(s, st, &why);
    if (rc == SAIKAI_ETIMEDOUT || rc == SAIKAI_EIO) {
        st->away = rc;
        rc = 0;
    }
    if ((rc || why.code) && err)
        *err = why;
    return rc;
}

/* Rights that are missing, and settings that make no sense, are so at the next start as well. A job that once had begun may have met a
 * file server's fault. */
static int is_hopeless(const struct sk_session *s, int rc, const struct saikai_error *err)
{
    int lasts = rc == SAIKAI_ECONFIG || (rc && (sk_denied(err) || err->sys_errno == ENOTDIR));
    return lasts && s->page && !s->page->incarnation;
}

/* A program that asked for the codes may go on without the library: then the launcher judges by how soon it ends. */
static enum sk_keeper_state hopeless_state(const struct sk_session *s)
{
    return strcmp(sk_config_text(s->config, "lib.on_error"), "return") ? SK_KEEPER_HOPELESS : SK_KEEPER_UNABLE;
}

/* Collective, after a verdict: somebody else has the store, or it would be for nothing to start again. All ranks and the launcher are to
 * know that it was this. */
static int tell_refused(struct sk_session *s, int rc, int for_good, struct saikai_error *err)
{
    int64_t why_not[2] = {rc == SAIKAI_EBUSY, is_hopeless(s, rc, err)};
    struct saikai_error why = *err;
    if (!rc || sk_group_allreduce(s->g, why_not, 2, SK_OP_MAX))
        return rc;
    if (s->page && ((why_not[0] && for_good) || why_not[1]))
        atomic_store(&s->page->state, why_not[0] ? SK_KEEPER_REFUSED : hopeless_state(s));
    return why_not[0] ? sk_fail(err, SAIKAI_EBUSY, "%s", why.text) : rc;
}

/* Which job this is, and which store: of the prefix, or of what the nodes know while it does not answer. Collective; one verdict.
 * err also says why the prefix is away. */
static int find_job(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err)
{
    for (;;) {
        struct saikai_error why = {0};
        int rc = s->g->rank ? 0 : find_places(s, st, program, &why);
        if ((rc = sk_group_verdict(s->g, rc, &why)) == 0 && (rc = sk_group_bcast(s->g, st, sizeof *st, 0)))
            sk_fail(&why, rc, "the ranks lost contact");
        if (!rc && st->away && (rc = sk_local_find(s, st, &why)) == SAIKAI_ENOENT)
            rc = st->away == SAIKAI_ETIMEDOUT ? SAIKAI_ENOENT : sk_group_verdict(s->g, s->g->rank ? 0 : st->away, &why);
        if (rc != SAIKAI_ENOENT) {
            if (err)
                *err = why;
            return rc;
        }
        if (s->g->rank == 0) {
            sk_log(SK_LOG_WARN, "%s; nothing is known of this job without it: waiting", why.text);
            sk_patience_wait(s->place.patience, 0);
        }
    }
}

/* What the ranks see of earlier starts. Collective; one verdict. *away: the error with which a rank could not read the prefix. */
static int look_around(struct sk_session *s, int trouble, int64_t *newest, int *away, struct sk_memo *memo,
                       struct saikai_error *err)
{
    struct saikai_error why = err ? *err : (struct saikai_error){0};
    int rc = sk_group_verdict(s->g, sk_incarnation_scan(s, newest, err), err);
    if (rc)
        return rc;
    if (!trouble && *s->place.prefix_root)
        trouble = sk_places_scan_prefix(s, newest, &why);
    *away = sk_group_verdict(s->g, trouble, &why);
    if (*away && err)
        *err = why;
    rc = sk_memo_find(s, away, memo, err);
    s->place.prefix_away = *away != 0;
    return rc;
}

/* The same until the prefix can be read, or need not be: where nothing is known of the job, what it holds must be seen
 * before anything is begun. */
static int look_until_known(struct sk_session *s, struct sk_start *st, int trouble, int64_t *newest, struct sk_memo *memo,
                            struct saikai_error *err)
{
    for (;;) {
        int away = 0, rc = look_around(s, trouble, newest, &away, memo, err);
        if (rc || !away)
            return rc;
        int64_t hangs = away == SAIKAI_ETIMEDOUT || sk_patience_hangs(s->place.patience);
        if ((rc = sk_group_allreduce(s->g, &hangs, 1, SK_OP_MAX)))
            return rc;
        if (memo->known && sk_session_has_local(s)) {
            if (s->g->rank == 0)
                sk_log(SK_LOG_WARN, "%s; going on with what is in %s (newer generations may be in the prefix)",
                       err->text, s->place.local_root);
            return 0;
        }
        if (!hangs)
            return away;
        if (s->g->rank == 0)
            sk_log(SK_LOG_WARN, "%s; nothing is known of this job without it: waiting", err->text);
        sk_patience_wait(s->place.patience, 0);
        trouble = s->g->rank ? 0 : sk_places_find_prefix(s, st, err);
    }
}

static void set_advice(struct sk_session *s)
{
    s->measured.rate = find_total_rate(s);
    struct sk_advice_policy policy = {
        .model = sk_model_find(sk_config_text(s->config, "schedule.model")),
        .rate = s->measured.rate,
        .threshold = sk_config_real(s->config, "schedule.threshold"),
        .max_interval = sk_config_time(s->config, "schedule.max_interval"),
        .interval = sk_config_time(s->config, "schedule.interval"),
    };
    sk_advice_init(&s->measured.advice, &policy);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sorts them; there is one or more. */
static int count_nodes(char *hosts, size_t n, size_t bytes)
{
    int nodes = 1;
    qsort(hosts, n, bytes, by_name);
    for (size_t i = 1; i < n; i++)
        nodes += strcmp(hosts + (i - 1) * bytes, hosts + i * bytes) != 0;
    return nodes;
}

/* Collective: the names of all ranks' hosts, to be freed after a failure as well. */
static int share_hosts(struct sk_session *s, char **hosts, struct saikai_error *err)
{
    *hosts = malloc((size_t)s->g->size * sizeof s->place.host);
    int rc = *hosts ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the names of %d hosts", s->g->size);
    if ((rc = sk_group_verdict(s->g, rc, err)))
        return rc;
    rc = sk_group_allgather(s->g, s->place.host, *hosts, sizeof s->place.host);
    return rc ? sk_fail(err, rc, "the ranks could not tell each other their hosts") : 0;
}

/* Collective: by which lease the place is this job's, or will be, and how often its hosts fail. */
static int find_lease_and_rates(struct sk_session *s, struct sk_start *st, const char *hosts, struct saikai_error *err)
{
    int rc = 0;
    if (s->g->rank == 0 && *st->prefix && !s->place.lease)
        rc = sk_identity_wait(s, st, err);
    s->place.lease_token = st->lease = sk_lease_token(s->place.lease);
    if (s->g->rank == 0 && !rc)
        rc = find_rate(s, hosts, &st->rate, err);
    st->suffered = find_suffered(s);
    if (!rc && s->page && s->page->program_rate > 0) { /* the launcher's failure database */
        st->rate = (double)s->page->host_rate;
        st->program_rate = (double)s->page->program_rate;
        st->shape = (double)s->page->shape;
    }
    return sk_group_verdict(s->g, rc, err);
}

/* Collective: the number of this start, above the newest that any rank has found, and all that rank 0 knows. */
static int begin_start(struct sk_session *s, struct sk_start *st, int64_t newest, char *hosts, struct saikai_error *err)
{
    int64_t found[2] = {newest, -sk_tries_marked(s)};
    int rc = sk_group_allreduce(s->g, found, 2, SK_OP_MAX);
    if (rc)
        return sk_fail(err, rc, "the ranks lost contact before the start had its number");
    st->stopped = -found[1];
    if (s->g->rank == 0)
        rc = sk_incarnation_begin(s, st, found[0], err);
    if ((rc = sk_group_verdict(s->g, rc, err)))
        return rc;
    if ((rc = sk_group_bcast(s->g, st, sizeof *st, 0)) || (rc = sk_memo_share(s, hosts)))
        return sk_fail(err, rc, "the ranks lost contact at start %u", st->incarnation);
    sk_tries_clear_marks(s);
    sk_lease_begun(s->place.lease, st->incarnation);
    return 0;
}

static double find_shape(const struct sk_session *s, const struct sk_start *st)
{
    double told = sk_config_real(s->config, "failure.shape");
    return told > 0 ? told : st->shape > 0 ? st->shape : 1;
}

/* Into the session what all ranks agree on. */
static void set_session(struct sk_session *s, const struct sk_start *st, char *hosts)
{
    s->who.run_id = st->run_id;
    s->place.lease_token = st->lease;
    s->who.incarnation = st->incarnation;
    s->who.first_incarnation = st->first_incarnation;
    s->who.unread_before = st->unread_before;
    s->measured.host_rate = st->rate;
    s->measured.program_rate = st->program_rate;
    s->measured.shape = find_shape(s, st);
    for (int i = 0; i < s->g->size; i++)
        s->place.node_ranks += !strcmp(hosts + (size_t)i * sizeof s->place.host, s->place.host);
    if (s->g->rank == 0)
        s->place.nodes = count_nodes(hosts, (size_t)s->g->size, sizeof s->place.host);
    s->measured.suffered = st->suffered;
    set_advice(s);
}

/* What was found out for all becomes their verdict: the sentence that says why. */
static int told(int rc, const struct saikai_error *why, struct saikai_error *err)
{
    if (rc && err)
        *err = *why;
    return rc;
}

int sk_start_agree(struct sk_session *s, const char *program, struct saikai_error *err)
{
    struct sk_start st = {0};
    struct sk_memo memo = {0};
    struct saikai_error why = {0};
    int64_t newest = 0;
    char *hosts = NULL;
    int rc = share_hosts(s, &hosts, err);
    if (!rc)
        rc = told(tell_refused(s, find_job(s, &st, program, &why), 1, &why), &why, err);
    if (!rc)
        rc = find_lease_and_rates(s, &st, hosts, err);
    if (!rc) {
        s->who.job = st.job;
        rc = sk_group_verdict(s->g, sk_places_make_local(s, &st, &why), &why);
        rc = told(tell_refused(s, rc, 1, &why), &why, err);
    }
    if (!rc) /* after a restart it may be processes of the start before that die slowly: worth another try */
        rc = told(tell_refused(s, sk_local_take(s, &st, &why), !s->page || !s->page->incarnation, &why), &why, err);
    if (!rc)
        rc = told(look_until_known(s, &st, s->g->rank ? 0 : st.away, &newest, &memo, &why), &why, err);
    if (!rc) {
        s->who.state = memo.state;
        rc = begin_start(s, &st, newest, hosts, err);
    }
    if (!rc)
        set_session(s, &st, hosts);
    free(hosts);
    return rc;
}
