#include "lib/session.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "schedule/rates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* What rank 0 finds out for all. */
struct start {
    char prefix[PATH_MAX - 128], job[128];
    double rate;
    uint64_t run_id;
    uint32_t incarnation, first_incarnation;
};

static int is_none(const char *path)
{
    return !strcmp(path, "none");
}

static int find_prefix(struct sk_session *s, struct start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.prefix");
    char real[PATH_MAX];
    if (is_none(given))
        return 0;
    int rc = sk_io_mkdirs(given, err);
    if (rc)
        return rc;
    if (!realpath(given, real))
        return sk_fail_errno(err, errno, "cannot resolve %s", given);
    if (access(real, W_OK | X_OK))
        return sk_fail_errno(err, errno, "cannot write in %s (store.prefix)", real);
    return sk_io_path(st->prefix, sizeof st->prefix, err, "%s", real);
}

/* A job is known by where its prefix is, so that the next start finds the local generations of this one. */
static int name_job(struct sk_session *s, struct start *st, const char *program,
                    struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "job.name");
    char from[PATH_MAX];
    if (*given) {
        if (strchr(given, '/') || *given == '.')
            return sk_fail(err, SAIKAI_ECONFIG, "job.name '%.60s' is no plain name", given);
        return sk_io_path(st->job, sizeof st->job, err, "%s", given);
    }
    snprintf(from, sizeof from, "%s", st->prefix);
    if (!*from && !getcwd(from, sizeof from))
        return sk_fail_errno(err, errno, "cannot find the working directory");
    const char *base = strrchr(program, '/');
    return sk_io_path(st->job, sizeof st->job, err, "%.60s-%012llx", base ? base + 1 : program,
                      (unsigned long long)(sk_hash64(from, strlen(from)) & 0xffffffffffff));
}

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
        names[i] = hosts + i * sizeof s->host;
    if (!rc)
        rc = sk_rates_sum(rates, names, n, rate, &unknown, err);
    if (!rc && *path && unknown)
        sk_log(SK_LOG_INFO, "%s does not name %zu of the hosts: failure.mtbf holds for them", path, unknown);
    sk_rates_free(rates);
    free(names);
    return rc;
}

static int make_local_root(struct sk_session *s, const struct start *st, struct saikai_error *err)
{
    const char *given = sk_config_text(s->config, "store.local");
    char user[PATH_MAX];
    struct stat sb;
    snprintf(s->prefix_root, sizeof s->prefix_root, "%s", st->prefix);
    if (is_none(given)) {
        if (!*st->prefix)
            return sk_fail(err, SAIKAI_ECONFIG,
                           "store.local and store.prefix are both 'none': there is nowhere to save to");
        snprintf(s->local_root, sizeof s->local_root, "%s", st->prefix);
        return 0;
    }
    int rc = sk_io_path(user, sizeof user, err, "%s/saikai-%ld", given, (long)getuid());
    if (!rc)
        rc = sk_io_mkdirs(given, err);
    if (rc)
        return rc;
    if (mkdir(user, 0700) && errno != EEXIST)
        return sk_fail_errno(err, errno, "cannot make directory %s (store.local)", user);
    /* a directory of this name that somebody else put into a public place must not be trusted */
    if (lstat(user, &sb) || !S_ISDIR(sb.st_mode) || sb.st_uid != getuid())
        return sk_fail(err, SAIKAI_EAUTH, "%s does not belong to this user: set store.local", user);
    rc = sk_io_path(s->local_root, sizeof s->local_root, err, "%s/%s", user, st->job);
    return rc ? rc : sk_io_mkdirs(s->local_root, err);
}

/* Highest incarnation of which this rank finds a file. */
static int scan_incarnation(struct sk_session *s, int64_t *newest, struct saikai_error *err)
{
    const char *roots[2] = {s->local_root, s->prefix_root};
    int rc = 0;
    *newest = 0;
    for (int i = 0; !rc && i < 2; i++) {
        struct sk_gen_list l = {0};
        /* rank 0 also looks at files of ranks that there are no more */
        rc = *roots[i] ? sk_gen_scan(roots[i], s->g->rank ? s->g->rank : -1, &l, err) : 0;
        if (!rc && l.count && l.gen[0].incarnation > *newest)
            *newest = l.gen[0].incarnation;
        sk_gen_list_free(&l);
    }
    return rc;
}

const char *sk_session_state_root(const struct sk_session *s)
{
    return *s->prefix_root ? s->prefix_root : s->local_root;
}

int sk_session_has_local(const struct sk_session *s)
{
    return !is_none(sk_config_text(s->config, "store.local"));
}

/* Rank 0: begin a new incarnation in the state file. */
static int begin_incarnation(struct sk_session *s, struct start *st, int64_t newest,
                             struct saikai_error *err)
{
    const char *mode = sk_config_text(s->config, "restart.mode"), *root = sk_session_state_root(s);
    struct saikai_error damage = {0};
    int rc = sk_state_load(root, &s->state, &damage);
    if (rc == SAIKAI_EDAMAGED || rc == SAIKAI_EFORMAT) {
        sk_log(SK_LOG_WARN, "%s; going on from the generations that are there", damage.text);
        memset(&s->state, 0, sizeof s->state);
    } else if (rc) {
        return sk_fail(err, rc, "%s", damage.text);
    }
    if (newest < s->state.incarnation)
        newest = s->state.incarnation;
    if (newest >= SK_GEN_MAX_INCARNATION)
        return sk_fail(err, SAIKAI_ESTATE, "%s was started %lld times: move it away to begin anew", root,
                       (long long)newest);
    int resumes = s->page && s->page->incarnation > 0; /* the launcher restarts what it started */
    int fresh = !resumes && (!strcmp(mode, "never") || (s->state.finished && strcmp(mode, "always")));
    if (fresh && s->state.finished && strcmp(mode, "never"))
        sk_log(SK_LOG_INFO, "the last run in %s finished: starting fresh (restart.mode=always resumes)", root);
    s->state.incarnation = (uint32_t)newest + 1;
    s->state.finished = 0;
    if (fresh || !s->state.first_incarnation)
        s->state.first_incarnation = fresh ? s->state.incarnation : 1;
    st->incarnation = s->state.incarnation;
    st->first_incarnation = s->state.first_incarnation;
    if (getrandom(&st->run_id, sizeof st->run_id, 0) != sizeof st->run_id)
        st->run_id = sk_hash64(&s->state, sizeof s->state) ^ (uint64_t)sk_wall_ms();
    return sk_state_save(root, &s->state, err);
}

static int agree_on_start(struct sk_session *s, const char *program, struct saikai_error *err)
{
    struct start st = {0};
    char *hosts = malloc((size_t)s->g->size * sizeof s->host);
    int rc = hosts ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for the names of %d hosts", s->g->size);
    if ((rc = sk_group_verdict(s->g, rc, err)))
        goto out;
    rc = sk_group_allgather(s->g, s->host, hosts, sizeof s->host);
    if (!rc && s->g->rank == 0) {
        rc = find_prefix(s, &st, err);
        if (!rc)
            rc = name_job(s, &st, program, err);
        if (!rc)
            rc = find_rate(s, hosts, &st.rate, err);
    }
    if ((rc = sk_group_verdict(s->g, rc, err)) || (rc = sk_group_bcast(s->g, &st, sizeof st, 0)))
        goto out;
    int64_t newest = 0;
    rc = make_local_root(s, &st, err);
    if (!rc)
        rc = scan_incarnation(s, &newest, err);
    if ((rc = sk_group_verdict(s->g, rc, err)) ||
        (rc = sk_group_allreduce(s->g, &newest, 1, SK_OP_MAX)))
        goto out;
    if (s->g->rank == 0)
        rc = begin_incarnation(s, &st, newest, err);
    if ((rc = sk_group_verdict(s->g, rc, err)) || (rc = sk_group_bcast(s->g, &st, sizeof st, 0)))
        goto out;
    s->run_id = st.run_id;
    s->incarnation = st.incarnation;
    s->first_incarnation = st.first_incarnation;
    struct sk_advice_policy policy = {
        .model = sk_model_find(sk_config_text(s->config, "schedule.model")),
        .rate = st.rate,
        .threshold = sk_config_real(s->config, "schedule.threshold"),
        .max_interval = sk_config_time(s->config, "schedule.max_interval"),
        .interval = sk_config_time(s->config, "schedule.interval"),
    };
    sk_advice_init(&s->advice, &policy);
out:
    free(hosts);
    return rc;
}

static int start_engine(struct sk_session *s, struct saikai_error *err)
{
    int apart = *s->prefix_root && strcmp(s->prefix_root, s->local_root);
    struct sk_engine_config c = {
        .local_root = s->local_root,
        .prefix_root = apart ? s->prefix_root : NULL,
        .incarnation = s->incarnation,
        .rank = s->g->rank,
        .nranks = s->g->size,
        .keep_local = (int)sk_config_int(s->config, apart ? "store.keep_local" : "store.keep_prefix"),
        .keep_prefix = (int)sk_config_int(s->config, "store.keep_prefix"),
        .sync_local = !apart && sk_config_bool(s->config, "store.fsync"),
        .sync_prefix = sk_config_bool(s->config, "store.fsync"),
        .limits = {.max_deltas = (unsigned)sk_config_int(s->config, "capture.max_deltas"),
                   .max_ratio = sk_config_real(s->config, "capture.max_ratio")},
    };
    int rc = sk_coding_policy_new(s->config, &s->coding, err);
    c.coding = s->coding;
    if (!rc)
        rc = sk_changes_open(s->config, &s->changes, err);
    if (!rc)
        rc = sk_saver_open(s->config, &s->saver, err);
    return rc ? rc : sk_engine_new(&c, &s->engine, err);
}

static int start_protector(struct sk_session *s, struct saikai_error *err)
{
    int apart = *s->prefix_root && strcmp(s->prefix_root, s->local_root);
    struct sk_protector_setup p = {
        .g = s->g,
        .config = s->config,
        .engine = s->engine,
        .root = s->local_root,
        .host = s->host,
        .incarnation = s->incarnation,
        .sync = !apart && sk_config_bool(s->config, "store.fsync"),
    };
    /* without a local directory all is on the shared file system already */
    return sk_session_has_local(s) ? sk_protector_new(&p, &s->protector, err) : 0;
}

static int start_aggregator(struct sk_session *s, struct saikai_error *err)
{
    struct sk_aggregator_setup a = {.g = s->g,
                                    .config = s->config,
                                    .engine = s->engine,
                                    .local_root = s->local_root,
                                    .prefix_root = s->prefix_root,
                                    .host = s->host,
                                    .incarnation = s->incarnation};
    int apart = *s->prefix_root && strcmp(s->prefix_root, s->local_root);
    return apart ? sk_aggregator_new(&a, &s->aggregator, err) : 0;
}

void sk_session_archive_status(struct sk_session *s, int64_t *archived_seq, int *idle)
{
    struct sk_engine_status e;
    struct sk_aggregator_status a;
    sk_engine_report(s->engine, &e);
    if (s->aggregator)
        sk_aggregator_report(s->aggregator, &a);
    *archived_seq = s->aggregator ? a.archived_seq : e.archived_seq;
    *idle = s->aggregator ? a.idle : e.archive_idle;
}

void sk_session_archive(struct sk_session *s, int64_t seq)
{
    if (s->aggregator)
        sk_aggregator_begin(s->aggregator, s->gen_of_seq[seq % 16], seq);
    else
        sk_engine_archive(s->engine, seq);
}

static void find_deadline(struct sk_session *s)
{
    double limit = sk_config_time(s->config, "schedule.time_limit");
    const char *slurm = getenv("SLURM_JOB_END_TIME"); /* seconds since 1970 */
    if (s->page && s->page->deadline_ms)
        s->deadline = (double)s->page->deadline_ms / 1e3;
    else if (limit > 0)
        s->deadline = s->started_at + limit;
    else if (slurm && atoll(slurm) > 0)
        s->deadline = s->started_at + (double)atoll(slurm) - (double)sk_wall_ms() / 1e3;
}

int sk_session_new(struct sk_group *g, struct sk_config *config, const char *program,
                   struct sk_session **out, struct saikai_error *err)
{
    struct sk_session *s = calloc(1, sizeof *s);
    int rc = s ? 0 : sk_fail(err, SAIKAI_ENOMEM, "no memory for a session");
    if (s) {
        s->g = g;
        s->config = config;
        s->started_at = s->last_checkpoint_at = s->tick_mark = sk_now();
        s->archived_at = s->started_at;
        s->due_tick = s->now_tick = UINT64_MAX;
        s->due_iteration = INT64_MAX;
        s->last_iteration = -1;
        s->next_iteration = INT64_MIN; /* the first candidate always looks */
        s->poll_span = 1;
        s->poll_post_tick = 1;
        s->poll_take_tick = UINT64_MAX;
        s->every = (int)sk_config_int(config, "schedule.every");
        gethostname(s->host, sizeof s->host - 1);
        rc = sk_keeper_page_attach(&s->page, err);
    }
    rc = sk_group_verdict(g, rc, err);
    if (!rc)
        rc = agree_on_start(s, program, err);
    if (!rc)
        rc = sk_group_verdict(g, start_engine(s, err), err);
    if (!rc)
        rc = start_protector(s, err);
    if (!rc)
        rc = start_aggregator(s, err);
    if (!rc)
        rc = sk_group_verdict(g, sk_requests_install(config, err), err);
    if (rc) {
        if (s)
            sk_session_abandon(s);
        else {
            sk_group_free(g);
            sk_config_free(config);
        }
        return rc;
    }
    find_deadline(s);
    sk_pace_start(s);
    if (s->page)
        atomic_store(&s->page->state, SK_KEEPER_INITIALISED);
    *out = s;
    return 0;
}

void sk_session_abandon(struct sk_session *s)
{
    if (!s)
        return;
    sk_aggregator_free(s->aggregator);
    sk_protector_free(s->protector);
    sk_engine_free(s->engine);
    sk_coding_policy_free(s->coding);
    sk_changes_close(s->changes);
    sk_saver_close(s->saver);
    sk_vars_free(&s->vars);
    sk_keeper_page_unmap(s->page);
    if (*s->restored_files)
        sk_io_rmtree(s->restored_files, NULL);
    sk_group_free(s->g);
    sk_config_free(s->config);
    free(s);
}

/* Everything is committed or has failed: learn what is complete, blocking. */
static int settle(struct sk_session *s)
{
    struct sk_engine_status st;
    int64_t archived;
    int idle;
    sk_engine_drain(s->engine);
    sk_engine_report(s->engine, &st);
    sk_session_archive_status(s, &archived, &idle);
    int64_t v[4] = {st.committed_seq, -st.committed_seq, archived, -archived};
    int rc = sk_group_allreduce(s->g, v, 4, SK_OP_MIN);
    if (!rc)
        sk_session_learn(s, v[0] == -v[1] ? v[0] : 0, v[2] == -v[3] ? v[2] : 0);
    return rc;
}

int sk_session_wait(struct sk_session *s, struct saikai_error *err)
{
    struct sk_engine_status st;
    int rc = settle(s);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on what is complete");
    sk_engine_status(s->engine, &st);
    if (s->complete_seq < s->seq && st.committed_seq < s->seq)
        rc = sk_fail(err, st.failures ? st.last_error.code : SAIKAI_EIO, "%s",
                     st.failures ? st.last_error.text : "the newest checkpoint was not captured");
    return sk_group_verdict(s->g, rc, err);
}

static void remove_local(struct sk_session *s)
{
    sk_engine_free(s->engine); /* its slots go with it */
    s->engine = NULL;
    sk_holdings_remove_rank(s->local_root, s->g->rank, s->g->size);
    rmdir(s->local_root); /* the last rank of the node succeeds */
}

int sk_session_finalize(struct sk_session *s, struct saikai_error *err)
{
    struct sk_gen coded;
    int64_t seq;
    sk_poll_end(s);
    if (sk_protector_drain(s->protector, &coded, &seq))
        sk_session_learn_protected(s, coded, seq);
    sk_aggregator_drain(s->aggregator);
    int rc = settle(s);
    /* whoever goes on later, perhaps on other nodes, must find the last generation: this memory is given back */
    int last = s->stop_agreed || sk_config_bool(s->config, "store.archive_last");
    if (!rc && last && s->complete_seq > s->archived_seq) {
        sk_session_archive(s, s->complete_seq);
        sk_aggregator_drain(s->aggregator);
        rc = settle(s);
    }
    sk_engine_drain(s->engine);
    if (!rc && s->g->rank == 0 && !s->stop_agreed) {
        s->state.finished = 1;
        rc = sk_state_save(sk_session_state_root(s), &s->state, err);
    } else if (rc) {
        sk_fail(err, rc, "the ranks could not agree at the end");
    }
    rc = sk_group_verdict(s->g, rc, err);
    /* What nobody will resume from must not keep a node's memory. */
    if (!rc && *s->prefix_root && strcmp(s->prefix_root, s->local_root) &&
        (!last || s->archived_seq == s->complete_seq))
        remove_local(s);
    if (s->page)
        atomic_store(&s->page->state, SK_KEEPER_FINALIZED);
    sk_session_abandon(s);
    return rc;
}
