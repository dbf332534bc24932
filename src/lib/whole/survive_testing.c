/* The program and its nodes: every file operation and message is counted and can be the last, and
 * nodes are lost on demand. */
#include "lib/whole/local_testing.h"
#include "lib/restart/restart.h"
#include "lib/run/candidate.h"
#include "lib/whole/survive_testing.h"

#include "base/clock.h"
#include "base/host/fork_testing.h"
#include "base/file/io.h"
#include "base/log.h"
#include "redundancy/set/parity_file.h"
#include "store/form/lineage.h"
#include "store/owner/job.h"
#include "group/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { CELLS = 3000, MANY_CELLS = 9000 /* as much as is looked at for changes */, DIED = 42 };

char survive_dir[64], survive_log[16384];
long survive_die_at = -1, survive_operations;
int survive_messages, survive_errno;
static atomic_long operations;
static atomic_int counting;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d, rank %d: %s: %s\n", __LINE__, g->rank, #x, err.text);        \
            return -1000 - __LINE__;                                                               \
        }                                                                                          \
    } while (0)

/* ---- operations that can be the last one ---- */

static int operation(void)
{
    if (survive_die_at < 0 || !atomic_load(&counting))
        return 0;
    long n = atomic_fetch_add(&operations, 1);
    if (n < survive_die_at)
        return 0;
    if (!survive_errno)
        _exit(DIED);
    return n == survive_die_at ? survive_errno : 0;
}

static int io_hook(const char *op, const char *path)
{
    (void)op;
    (void)path;
    return survive_messages ? 0 : operation();
}

/* A group whose messages count. */
struct counted {
    struct sk_group g;
    struct sk_group *under;
};

static struct sk_group *under(struct sk_group *g)
{
    if (survive_messages)
        operation();
    return ((struct counted *)g)->under;
}

static struct sk_group *quietly(struct sk_group *g)
{
    return ((struct counted *)g)->under;
}

static int c_barrier(struct sk_group *g)
{
    return sk_group_barrier(under(g));
}
static int c_bcast(struct sk_group *g, void *data, size_t n, int root)
{
    return sk_group_bcast(under(g), data, n, root);
}
static int c_allreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op)
{
    return sk_group_allreduce(under(g), v, count, op);
}
static int c_allgather(struct sk_group *g, const void *in, void *out, size_t n)
{
    return sk_group_allgather(under(g), in, out, n);
}
/* the session's poll, as often as it likes: not counted */
static int c_iallreduce(struct sk_group *g, int64_t *v, int count, enum sk_op op,
                        struct sk_request **req)
{
    return sk_group_iallreduce(quietly(g), v, count, op, req);
}
static int c_isend(struct sk_group *g, const void *data, size_t n, int to, int tag,
                   struct sk_request **req)
{
    return sk_group_isend(under(g), data, n, to, tag, req);
}
static int c_irecv(struct sk_group *g, void *data, size_t n, int from, int tag,
                   struct sk_request **req)
{
    return sk_group_irecv(quietly(g), data, n, from, tag, req);
}
static int c_test(struct sk_group *g, struct sk_request **req, int *done)
{
    return sk_group_test(quietly(g), req, done);
}
static int c_wait(struct sk_group *g, struct sk_request **req)
{
    return sk_group_wait(quietly(g), req);
}
static void c_free(struct sk_group *g)
{
    sk_group_free(quietly(g));
    free(g);
}
static int c_split(struct sk_group *g, int colour, int key, struct sk_group **out);

static const struct sk_group_ops counted_ops = {c_barrier,    c_bcast, c_allreduce, c_allgather,
                                                c_iallreduce, c_isend, c_irecv,     c_test,
                                                c_wait,       c_split, c_free,      NULL};

static struct sk_group *count_group(struct sk_group *g)
{
    struct counted *c = malloc(sizeof *c);
    assert_non_null(c);
    *c = (struct counted){{&counted_ops, g->rank, g->size, g->threads}, g};
    return &c->g;
}

static int c_split(struct sk_group *g, int colour, int key, struct sk_group **out)
{
    struct sk_group *sub = NULL;
    int rc = sk_group_split(quietly(g), colour, key, &sub);
    if (!rc)
        *out = sub ? count_group(sub) : NULL;
    return rc;
}

/* ---- the program ---- */

static void log_line(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    size_t n = strlen(survive_log);
    snprintf(survive_log + n, sizeof survive_log - n, "%s\n", line);
}

static struct sk_config *configure(const struct survive_run *r, int rank)
{
    struct sk_config *c = sk_config_new();
    char text[700];
    snprintf(text, sizeof text,
             "store.prefix=%s/prefix; store.local=%s/node%d; schedule.poll=1ms; schedule.signals=; "
             "job.name=test; "
             "store.fsync=no; store.scrub=0; schedule.every=10; schedule.first=no; redundancy.domain=process; "
             "store.archive_every=0; "
             "store.archive_last=no; restart.tries=1000; %s",
             survive_dir, survive_dir, r->node_of[rank], r->config ? r->config : "");
    assert_int_equal(sk_config_set_all(c, text, SK_FROM_API, NULL), 0);
    return c;
}

/* Ranks have parts of different sizes. */
static size_t cells_of(const struct survive_run *r, int rank)
{
    return (r->changes ? MANY_CELLS : CELLS) + 217 * (size_t)(rank % 5);
}

/* Different for each rank, iteration and cell; or only somewhere since the checkpoint before. */
static void values(const struct survive_run *r, double *u, int rank, int64_t it)
{
    size_t n = cells_of(r, rank);
    for (size_t i = 0; i < n; i++)
        u[i] = (double)((r->changes ? 0 : it) * 1000 + rank) + (double)i * 1e-4;
    for (int64_t k = 1; r->changes && k <= it; k++)
        for (int i = 0; i < r->changes; i++)
            u[((size_t)k * 997 + (size_t)i) % n] = (double)(k * 1000 + rank);
}

/* Candidates at which nothing is due, until the checkpoint of this iteration is protected. */
static int wait_for_protection(struct sk_session *s, int64_t it, int may_fail)
{
    struct saikai_error err = {0};
    struct sk_group *g = s->g;
    CHECK(!sk_session_wait(s, &err) || may_fail);
    double begun = sk_now();
    for (int i = 0; (may_fail ? i < 300 : sk_now() - begun < 100) && sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED) < it; i++) {
        CHECK(sk_session_due(s, 1, it, &err) == 0);
        sk_sleep(50e-6); /* a thread may be at work */
    }
    CHECK(may_fail || sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED) >= it);
    return 0;
}

static int go(struct sk_session *s, const struct survive_run *r, int64_t from, double *u)
{
    struct saikai_error err = {0};
    struct sk_group *g = s->g;
    if (from && r->until == from && sk_levels_has(&s->levels, SK_LEVEL_PARITY)) /* made whole again while the program runs */
        CHECK(!wait_for_protection(s, from, r->may_fail));
    for (int64_t it = from + 1; it <= r->until; it++) {
        values(r, u, g->rank, it);
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0 || r->may_fail);
        int waits = sk_levels_has(&s->levels, SK_LEVEL_PARITY) && !(r->unprotected && it >= r->unprotected);
        if (it % 10 == 0 && !waits)
            CHECK(!sk_session_wait(s, &err) || r->may_fail);
        else if (it % 10 == 0)
            CHECK(!wait_for_protection(s, it, r->may_fail));
        if (it == r->begin_at) {
            CHECK(!sk_group_barrier(g));
            atomic_store(&counting, 1);
        }
    }
    if (r->protects)
        CHECK(sk_ledger_iteration(s->levels.ledger, SK_LEDGER_PROTECTED) == r->protects);
    return 0;
}

static int look_at_data(struct survive_run *r, struct sk_group *g, const double *u, int rc,
                        int64_t from)
{
    size_t n = cells_of(r, g->rank);
    double *expect = malloc(n * sizeof *expect);
    values(r, expect, g->rank, from);
    int64_t bad = !rc && from && memcmp(u, expect, n * sizeof *u);
    free(expect);
    int agreed = sk_group_allreduce(g, &bad, 1, SK_OP_MAX);
    if (g->rank == 0)
        r->found = rc ? -2 : bad ? -1 : from;
    return agreed ? agreed : bad ? -1 : 0;
}

static int program(struct sk_group *g, void *arg)
{
    struct survive_run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    struct sk_group *own;
    size_t n = cells_of(r, g->rank);
    CHECK(!sk_group_dup(g, &own));
    double *u = calloc(n, sizeof *u);
    if (sk_session_new(count_group(own), configure(r, g->rank), "program", &s, &err)) {
        CHECK(r->may_fail);
        free(u);
        return 0;
    }
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {n}, .data = u};
    CHECK(!sk_vars_put(&s->vars, &v, &err));
    int restored = 0;
    int64_t from = 0;
    int rc = sk_session_restart(s, &restored, &from, &err);
    if (g->rank == 0)
        snprintf(r->said, sizeof r->said, "%s", rc ? err.text : "");
    CHECK(r->may_fail || (r->expect ? rc == r->expect || rc == SAIKAI_EPEER : !rc));
    CHECK(!look_at_data(r, g, u, rc, from));
    CHECK(rc || r->from < 0 || (from == r->from && restored == (from != 0)));
    rc = rc ? 0 : go(s, r, from, u);
    if (r->finalize && !rc)
        CHECK(!sk_session_finalize(s, &err) || r->may_fail);
    else
        sk_session_abandon(s);
    free(u);
    return rc;
}

int survive_start(struct survive_run *r)
{
    survive_log[0] = 0;
    atomic_store(&operations, 0);
    atomic_store(&counting, r->begin_at < 0);
    int rc = sk_loop_run(r->ranks, program, r);
    if (rc)
        fprintf(stderr, "%s", survive_log);
    survive_operations = atomic_load(&operations);
    return rc;
}

int survive_child(const struct survive_run *r, long at)
{
    struct survive_run own = *r;
    pid_t pid = sk_testing_fork();
    if (pid == 0) {
        alarm(300);
        survive_die_at = at;
        sk_io_hook = io_hook;
        int rc = survive_start(&own);
        _exit(rc ? 1 : survive_errno && survive_operations > at ? DIED : 0);
    }
    int status = 0;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!WIFEXITED(status))
        fail_msg("operation %ld: ended by signal %d", at, WTERMSIG(status));
    return WEXITSTATUS(status);
}

int survive_begin(void **state)
{
    (void)state;
    strcpy(survive_dir, "/dev/shm/saikai-survive-XXXXXX"); /* hundreds of runs: rather in memory */
    if (!mkdtemp(survive_dir)) {
        strcpy(survive_dir, "/tmp/saikai-survive-XXXXXX");
        if (!mkdtemp(survive_dir))
            return -1;
    }
    sk_log_set(log_line, NULL, SK_LOG_INFO);
    return 0;
}

int survive_finish(void **state)
{
    (void)state;
    return sk_io_rmtree(survive_dir, NULL);
}

void survive_lose(int node)
{
    char path[200];
    snprintf(path, sizeof path, "%s/node%d", survive_dir, node);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

void survive_says(const char *text)
{
    if (!strstr(survive_log, text))
        fail_msg("'%s' is not in the log:\n%s", text, survive_log);
}

int64_t survive_builds_on(int node, int rank, int64_t it)
{
    char root[200], base[200];
    struct sk_gen on = {0};
    snprintf(base, sizeof base, "%s/node%d", survive_dir, node);
    local_testing_root(root, sizeof root, base, 0);
    assert_int_equal(sk_lineage_base(root, (struct sk_gen){1, it, 0}, rank, &on, NULL), 0);
    return on.incarnation ? on.iteration : 0;
}

/* Parity, as long as nothing is wrong with it, says which store it is of. */
static void check_whose(const char *root, const char *path)
{
    struct sk_parity_header h = {0};
    struct sk_parity_file *f = NULL;
    struct sk_job j;
    if (sk_parity_open(path, &h, &f, NULL))
        return;
    assert_int_equal(sk_job_load(root, &j, NULL), 0);
    assert_true(!sk_id_none(h.store) && sk_id_same(h.store, j.store));
    sk_parity_header_free(&h);
    sk_parity_file_free(f);
}

int survive_flip(int node, int rank, int parity, long at)
{
    char root[200], path[PATH_MAX];
    struct sk_holdings h;
    struct stat st;
    char base[200];
    snprintf(base, sizeof base, "%s/node%d", survive_dir, node);
    local_testing_root(root, sizeof root, base, 0);
    assert_int_equal(sk_holdings_scan(root, &h, NULL), 0);
    for (size_t i = 0; i < h.count; i++) {
        const struct sk_holding_entry *e = &h.entry[i];
        if (e->rank != rank || (e->coder > 0) != parity)
            continue;
        if (parity)
            sk_parity_set_path(root, (struct sk_parity_set){e->gen, e->coder}, rank, path,
                               sizeof path, NULL);
        else
            sk_gen_file(root, e->gen, rank, path, sizeof path, NULL);
        if (parity)
            check_whose(root, path);
        int fd = open(path, O_RDWR);
        assert_true(fd >= 0 && !fstat(fd, &st));
        uint8_t byte;
        off_t where = at % st.st_size;
        assert_int_equal(pread(fd, &byte, 1, where), 1);
        byte ^= 1u << at % 8;
        assert_int_equal(pwrite(fd, &byte, 1, where), 1);
        close(fd);
        sk_holdings_free(&h);
        return 1;
    }
    sk_holdings_free(&h);
    return 0;
}
