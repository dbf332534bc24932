/* The job of the tests of healing. */
#include "lib/engine/heal/heal_testing.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 2,
       CELLS = 40000 };

/* HEAL_EVERY iterations. */
#define SETTINGS                                                                                                           \
    "store.prefix=none; schedule.every=10; schedule.first=no; capture.tracker=hash; capture.max_deltas=4; store.scrub=0; " \
    "restart.tries=1000; "

/* Few values change in an iteration. */
static void step(double *u, int rank, int64_t it)
{
    for (int i = 0; i < 5; i++)
        u[(it * 7919 + i * 31 + rank) % CELLS] += (double)(it + i);
}

static void start_values(double *u, int rank)
{
    for (int i = 0; i < CELLS; i++)
        u[i] = rank + i * 0.5;
}

static int iterate(struct sk_session *s, const struct heal_run *r, double *u, int64_t from)
{
    struct saikai_error err = {0};
    for (int64_t it = from + 1; it <= r->until; it++) {
        step(u, s->g->rank, it);
        int rc = sk_session_candidate(s, 0, it, &err);
        CHECK(rc >= 0 || r->may_fail);
        if (rc == 1)
            sk_session_wait(s, &err);
        sk_engine_drain(s->levels.engine);
        CHECK(!r->body || !(rc = r->body(s, it)));
    }
    return 0;
}

static int program(struct sk_group *g, void *arg)
{
    const struct heal_run *r = arg;
    struct saikai_error err = {0};
    struct sk_session *s = NULL;
    double *u = malloc(CELLS * sizeof *u), *expect = malloc(CELLS * sizeof *u);
    int restored = 0;
    int64_t from = 0;
    CHECK(u && expect && !world_session(g, world_config(SETTINGS "%s", r->config), &s, &err));
    start_values(u, g->rank);
    start_values(expect, g->rank);
    CHECK(!world_protect(s, u, CELLS, &err));
    CHECK(!sk_session_restart(s, &restored, &from, &err));
    CHECK(restored == (r->from >= 0) && from >= (r->from < 0 ? 0 : r->from));
    for (int64_t it = 1; it <= from; it++)
        step(expect, g->rank, it);
    CHECK(!memcmp(u, expect, CELLS * sizeof *u));
    free(expect);
    int rc = world_leave(s, iterate(s, r, u, from), 0);
    free(u);
    return rc;
}

void heal_start(struct heal_run r)
{
    world_start(N, program, &r);
}

int heal_begin(void **state)
{
    (void)state;
    return world_begin("/dev/shm/saikai-heal-XXXXXX", SK_LOG_INFO);
}

int heal_end(void **state)
{
    (void)state;
    return world_end();
}

void heal_path(char path[256], int64_t it, int rank)
{
    world_path(path, world_local(), 1, it, rank);
}

int heal_flip(const char *path, off_t at)
{
    uint8_t byte;
    int fd = open(path, O_RDWR), good = fd >= 0 && pread(fd, &byte, 1, at) == 1;
    byte ^= 0x10;
    good = good && pwrite(fd, &byte, 1, at) == 1;
    if (fd >= 0)
        close(fd);
    return good;
}
