/* Where this rank's files are, and by what right they are written and removed. The same from the engine's begin to its end: read
 * without the lock. */
#ifndef SK_LIB_ENGINE_WHERE_H
#define SK_LIB_ENGINE_WHERE_H

#include "lib/engine/engine.h"

#include <limits.h>

struct sk_where {
    char *local_root, *prefix_root; /* prefix_root NULL: no archive */
    char *leased_root;              /* the one of both that another job may take over, NULL: none … */
    struct sk_id lease;             /* … and the lease by which it is this job's */
    struct sk_hold *hold;           /* of local_root, NULL: none; its owner's */
    uint32_t incarnation;
    int rank, nranks, sync_local, sync_prefix;
};

/* How long something that is written waits for the lease of a prefix that is just coming back, in seconds. */
#define SK_WHERE_LEASE_WAIT 1.0

/* 0, or SAIKAI_ENOMEM; sk_where_free in any case. */
int sk_where_set(struct sk_where *w, const struct sk_engine_config *c);
void sk_where_free(struct sk_where *w);
/* 0: files of root may be written and removed; else why not. wait_s: for a prefix that is just coming back. */
int sk_where_may_write(const struct sk_where *w, const char *root, double wait_s, struct saikai_error *err);
/* A temporary file in root, swept like a slot when this process dies; the numbers that are in use at a time are different. */
int sk_where_tmp(const struct sk_where *w, const char *root, int number, char out[PATH_MAX], struct saikai_error *err);
/* 1: this rank's file of the generation has its name in the local directory. */
int sk_where_has_file(const struct sk_where *w, struct sk_gen gen);

#endif
