/* The prefix that fails, and the job that lives with it. */
#include "lib/levels/prefix_testing.h"

#include "base/clock.h"
#include "base/file/io.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = PREFIX_RANKS,
       CELLS = 3000 };

char prefix_dir[80];
struct prefix_fault prefix_fault = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- faults of the prefix ---- */

static int changes_something(const char *op, const char *path)
{
    if (!strcmp(op, "open"))
        return strstr(path, ".tmp") != NULL;
    return strcmp(op, "read") && strcmp(op, "opendir") && strcmp(op, "mmap") && strcmp(op, "unlink");
}

static int hook(const char *op, const char *path)
{
    pthread_mutex_lock(&prefix_fault.lock);
    int elsewhere = strncmp(path, prefix_dir, strlen(prefix_dir)) != 0;
    pthread_mutex_unlock(&prefix_fault.lock);
    if (atomic_load(&prefix_fault.off) || elsewhere)
        return 0;
    const char *only = atomic_load(&prefix_fault.only);
    if ((atomic_load(&prefix_fault.archives) && !strstr(path, ".ska")) || (only && strcmp(op, only) != 0))
        return 0;
    sk_sleep(atomic_load(&prefix_fault.slow_ms) * 1e-3);
    long n = atomic_fetch_add(&prefix_fault.count, 1) + 1;
    int error = atomic_load(&prefix_fault.error);
    if (n < atomic_load(&prefix_fault.first) || n > atomic_load(&prefix_fault.last))
        return 0;
    if (error)
        return error == EIO || changes_something(op, path) ? error : 0;
    pthread_mutex_lock(&prefix_fault.lock);
    if (prefix_fault.until <= 0)
        prefix_fault.until = sk_now() + prefix_fault.seconds;
    double until = prefix_fault.until;
    pthread_mutex_unlock(&prefix_fault.lock);
    while (sk_now() < until && !atomic_load(&prefix_fault.released))
        sk_sleep(0.002);
    return 0;
}

void prefix_disturb(long first, long last, int error, double seconds)
{
    atomic_store(&prefix_fault.count, 0);
    atomic_store(&prefix_fault.released, 0);
    atomic_store(&prefix_fault.error, error);
    pthread_mutex_lock(&prefix_fault.lock);
    prefix_fault.seconds = seconds;
    prefix_fault.until = 0;
    pthread_mutex_unlock(&prefix_fault.lock);
    atomic_store(&prefix_fault.last, last);
    atomic_store(&prefix_fault.first, first);
}

void prefix_heal(void)
{
    atomic_store(&prefix_fault.first, LONG_MAX);
    atomic_store(&prefix_fault.released, 1);
    atomic_store(&prefix_fault.only, NULL);
}

/* ---- the program ---- */

/* Short times only where the prefix hangs: what works, or fails at once, is slow on a busy machine and is not to be taken for that. */
static struct sk_config *configure(const struct prefix_run *r)
{
    int disturbed = atomic_load(&prefix_fault.first) != LONG_MAX;
    int hangs = r->hangs || (disturbed && !atomic_load(&prefix_fault.error));
    return world_config("schedule.every=10; store.prefix_timeout=%s; store.final_wait=%s; %s", hangs ? "30ms" : "20s",
                        disturbed || r->hangs ? "150ms" : "20s", r->config ? r->config : "");
}

static void step(double *u, int rank, int64_t it)
{
    for (size_t i = 0; i < CELLS; i++)
        u[i] = u[i] * 0.75 + (double)(it * 3 + rank) + (double)i * 1e-3;
}

static int compute(struct sk_session *s, double *u, int64_t from, const struct prefix_run *r)
{
    struct saikai_error err = {0};
    for (int64_t it = from; it < r->until; it++) {
        step(u, s->g->rank, it);
        sk_sleep(0.0005); /* the ranks agree on something every millisecond, or every few iterations */
        if (r->at && !s->g->rank)
            r->at(it + 1);
        int rc = sk_session_candidate(s, 0, it + 1, &err);
        if (r->unsaved)
            continue;
        CHECK(rc >= 0 || r->may_fail);
        if (rc > 0) { /* learn that it is complete, without waiting for the prefix */
            double since = sk_now();
            struct sk_engine_status st;
            while (sk_engine_status(s->levels.engine, &st), st.committed_seq < sk_ledger_count(s->levels.ledger) && sk_now() - since < 60)
                sk_sleep(1e-4); /* who seals it needs the processor */
            CHECK(st.committed_seq == sk_ledger_count(s->levels.ledger));
        }
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct prefix_run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double u[CELLS], right[CELLS];
    int rc = world_session(g, configure(r), &s, &err);
    if (rc && r->expect_from < 0)
        return 0;
    CHECK(!rc);
    for (size_t i = 0; i < CELLS; i++)
        right[i] = u[i] = g->rank + (double)i;
    CHECK(!world_protect(s, u, CELLS, &err));
    int restored = 0;
    int64_t from = 0;
    rc = sk_session_restart(s, &restored, &from, &err);
    if (rc && (r->expect_from < 0 || r->may_not_restart)) {
        sk_log(SK_LOG_ERROR, "%s", err.text);
        sk_session_abandon(s);
        return 0;
    }
    CHECK(!rc && from == r->expect_from && restored == (from > 0));
    for (int64_t it = 0; it < from; it++)
        step(right, g->rank, it);
    CHECK(!memcmp(u, right, sizeof u));
    if ((rc = compute(s, u, from, r)))
        return rc;
    for (int64_t it = from; it < r->until; it++)
        step(right, g->rank, it);
    CHECK(!memcmp(u, right, sizeof u));
    if (r->crash) {
        sk_session_abandon(s);
        return 0;
    }
    return sk_session_finalize(s, &err);
}

void prefix_start(struct prefix_run r)
{
    world_start(N, program, &r);
}

int prefix_begin(void **state)
{
    (void)state;
    sk_io_hook = hook; /* for good: threads that hang outlive their test */
    if (world_begin("/tmp/saikai-prefix-XXXXXX", SK_LOG_INFO))
        return -1;
    pthread_mutex_lock(&prefix_fault.lock);
    snprintf(prefix_dir, sizeof prefix_dir, "%s/prefix", world.dir);
    pthread_mutex_unlock(&prefix_fault.lock);
    prefix_heal();
    return 0;
}

int prefix_end(void **state)
{
    (void)state;
    double since = sk_now();
    int rc;
    prefix_heal();
    while ((rc = world_end()) && sk_now() - since < 20) /* what hung may still end there */
        sk_sleep(0.01);
    return rc;
}

void prefix_begin_afresh(void)
{
    double since = sk_now();
    prefix_heal();
    world_lose("local");
    while (sk_io_rmtree(prefix_dir, NULL) && sk_now() - since < 20) /* what hung may still end there */
        sk_sleep(0.01);
}

void prefix_wait_for_log(const char *text)
{
    for (double since = sk_now(); !world_says(text) && sk_now() - since < 60;)
        sk_sleep(0.002);
}

static void *heal_when_it_is_said(void *text)
{
    prefix_wait_for_log(text);
    prefix_heal();
    return NULL;
}

void prefix_start_and_heal(struct prefix_run r, const char *text)
{
    pthread_t t;
    world_forget();
    assert_int_equal(pthread_create(&t, NULL, heal_when_it_is_said, (void *)(uintptr_t)text), 0);
    prefix_start(r);
    pthread_join(t, NULL);
    world_expect(text, 1);
}
