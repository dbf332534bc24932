/* The world of tests of sessions: its folder, its log, and how a program starts and ends in it. */
#include "lib/whole/session_testing.h"
#include "lib/whole/local_testing.h"

#include "base/file/io.h"
#include "group/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct world world;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the log: what hung in an earlier start may still say something */

static void note(void *arg, int level, const char *line)
{
    (void)arg;
    (void)level;
    pthread_mutex_lock(&lock);
    size_t n = strlen(world.said);
    snprintf(world.said + n, sizeof world.said - n, "%s\n", line);
    pthread_mutex_unlock(&lock);
}

void world_forget(void)
{
    pthread_mutex_lock(&lock);
    world.said[0] = 0;
    pthread_mutex_unlock(&lock);
}

int world_says(const char *text)
{
    pthread_mutex_lock(&lock);
    int found = strstr(world.said, text) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

void world_expect(const char *text, int is_there)
{
    if (world_says(text) != is_there)
        fail_msg("the log %s '%s':\n%s", is_there ? "does not say" : "says", text, world.said);
}

int world_begin(const char *pattern, int level)
{
    snprintf(world.dir, sizeof world.dir, "%s", pattern);
    world_forget();
    sk_log_set(note, NULL, level);
    return mkdtemp(world.dir) ? 0 : -1;
}

int world_end(void)
{
    return sk_io_rmtree(world.dir, NULL);
}

void world_anew(void)
{
    assert_int_equal(sk_io_rmtree(world.dir, NULL), 0);
    assert_int_equal(sk_io_mkdirs(world.dir, NULL), 0);
}

struct sk_config *world_config(const char *more, ...)
{
    struct sk_config *c = sk_config_new();
    char text[1024];
    va_list args;
    int n = snprintf(text, sizeof text,
                     "store.prefix=%s/prefix; store.local=%s/local; schedule.poll=1ms; schedule.signals=; job.name=test; "
                     "store.fsync=no; ",
                     world.dir, world.dir);
    va_start(args, more);
    n += vsnprintf(text + n, sizeof text - (size_t)n, more, args);
    va_end(args);
    assert_true(c && n < (int)sizeof text);
    assert_int_equal(sk_config_set_all(c, text, SK_FROM_API, NULL), 0);
    return c;
}

void world_start(int ranks, int (*program)(struct sk_group *g, void *arg), void *arg)
{
    world_forget();
    int rc = sk_loop_run(ranks, program, arg);
    if (rc)
        fail_msg("a start ended with %d (line %d); the log:\n%s", rc, -1000 - rc, world.said);
}

int world_session(struct sk_group *g, struct sk_config *c, struct sk_session **s, struct saikai_error *err)
{
    struct sk_group *own;
    int rc = sk_group_dup(g, &own);
    return rc ? rc : sk_session_new(own, c, "program", s, err);
}

int world_protect(struct sk_session *s, double *u, size_t cells, struct saikai_error *err)
{
    struct sk_var v = {.name = "u", .type = SAIKAI_F64, .ndims = 1, .dims = {cells}, .data = u};
    return sk_vars_put(&s->vars, &v, err);
}

int world_settle(struct sk_session *s, int64_t it)
{
    struct saikai_error err = {0};
    struct sk_ledger *l = s->levels.ledger;
    CHECK(!sk_session_wait(s, &err));
    /* exchanges at further candidates start the copy and learn of its end */
    int apart = sk_place_is_apart(&s->place);
    while (apart && sk_ledger_newest(l, SK_LEDGER_ARCHIVED) < sk_ledger_newest(l, SK_LEDGER_COMPLETE)) {
        sk_engine_drain(s->levels.engine);
        CHECK(sk_session_due(s, 1, it, &err) == 0);
    }
    sk_engine_drain(s->levels.engine);
    return 0;
}

int world_leave(struct sk_session *s, int rc, int finishes)
{
    struct saikai_error err = {0};
    if (!rc && finishes)
        return sk_session_finalize(s, &err);
    if (!rc)
        rc = sk_group_barrier(s->g); /* rank 0 gives the lease back, and the others may still be removing what is old */
    sk_session_abandon(s);
    return rc;
}

const char *world_local_of(const char *node)
{
    static _Thread_local char root[128]; /* ranks are threads */
    char base[128];
    snprintf(base, sizeof base, "%s/%s", world.dir, node);
    return local_testing_root(root, sizeof root, base, strlen(world.dir) + 1);
}

const char *world_local(void)
{
    return world_local_of("local");
}

void world_path(char path[256], const char *root, int incarnation, int64_t it, int rank)
{
    snprintf(path, 256, "%s/%s/gen-%04d-%012lld-0/rank-%06d.skc", world.dir, root, incarnation, (long long)it, rank);
}

int world_has(const char *root, int incarnation, int64_t it, int rank)
{
    char path[256];
    world_path(path, root, incarnation, it, rank);
    return !access(path, F_OK);
}

void world_damage(const char *root, int incarnation, int64_t it, int rank, long at)
{
    char path[256];
    world_path(path, root, incarnation, it, rank);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "damage", 6, at), 6);
    close(fd);
}

void world_lose(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world.dir, name);
    assert_int_equal(sk_io_rmtree(path, NULL), 0);
}

int world_generations(const char *root)
{
    char path[256];
    struct sk_gen_list l;
    snprintf(path, sizeof path, "%s/%s", world.dir, root);
    assert_int_equal(sk_gen_scan(path, -1, &l, NULL), 0);
    int n = (int)l.count;
    sk_gen_list_free(&l);
    return n;
}
