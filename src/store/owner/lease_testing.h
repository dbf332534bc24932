/* For tests of leases: a directory that is a job's store, and what may lie there. */
#ifndef SK_STORE_LEASE_TESTING_H
#define SK_STORE_LEASE_TESTING_H

#include "base/file/io.h"
#include "store/owner/job.h"
#include "store/owner/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[64];
static struct sk_job job = {.name = "job"};

static int begin(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/saikai-lease-XXXXXX");
    job.store = sk_id_random();
    return mkdtemp(dir) && !sk_job_claim(dir, &job, NULL) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return sk_io_rmtree(dir, NULL);
}

static struct sk_owner self(void)
{
    struct sk_owner o;
    sk_owner_self("job", NULL, 0, &o);
    o.store = job.store;
    return o;
}

static int take(double timeout_s, struct sk_lease **l, struct saikai_error *err)
{
    struct sk_owner o = self();
    return sk_lease_take(dir, &o, timeout_s, l, err);
}

static const char *lease_path(void)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/" SK_LEASE_FILE, dir);
    return path;
}

__attribute__((unused)) static void write_lease(const struct sk_owner *o)
{
    struct sk_buf b = {0};
    assert_int_equal(sk_owner_encode(o, &b, NULL), 0);
    assert_int_equal(sk_io_replace(lease_path(), b.data, b.len, NULL), 0);
    sk_buf_free(&b);
}

/* A holder on another host. */
__attribute__((unused)) static struct sk_owner elsewhere(void)
{
    struct sk_owner o = self();
    strcpy(o.host, "far-away");
    strcpy(o.life.place, "11111111-2222-3333-4444-555555555555/4026531836");
    return o;
}

#endif
