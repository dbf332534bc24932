/* Whose a store is: the small file `job` in its directory, written once by the job that came first.
 *
 * A job is known by its name: two starts of the same name in one prefix are the same job, the second goes on where the first
 * ended. A directory belongs to one job; `job` is made by link(2), so of two that come together one succeeds, also on a
 * shared file system. It holds the store's id, which every file of the store carries. */
#ifndef SK_STORE_JOB_H
#define SK_STORE_JOB_H

#include "base/error.h"
#include "base/id.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define SK_JOB_NAME_MAX 96
#define SK_JOB_FORMER   8
#define SK_JOB_FILE     "job"

struct sk_job {
    char name[SK_JOB_NAME_MAX + 1];
    struct sk_id store;
    struct sk_id former[SK_JOB_FORMER]; /* a copied store: ids of those that it was copied from, newest first */
    int former_count;
    int unclaimed;        /* only in a node's own directory: the prefix did not take the file so far */
    int adopted;          /* the directory held generations of an older version: files without an id are its own */
    char place[PATH_MAX]; /* where the store was made (of a node's own: where the job's store is), as an absolute path */
    uint64_t inode;       /* of that directory */
    char command[1024];   /* for people */
    int64_t since_ms;     /* wall clock, for people */
};

/* SAIKAI_ENOENT: nobody's. */
int sk_job_load(const char *dir, struct sk_job *out, struct saikai_error *err);
/* Make it this job's; SAIKAI_EEXIST: it is somebody's already. */
int sk_job_claim(const char *dir, const struct sk_job *j, struct saikai_error *err);
/* Write it anew, whoever's it was. */
int sk_job_replace(const char *dir, const struct sk_job *j, struct saikai_error *err);
/* Pure part of load, for any bytes. */
int sk_job_decode(const char *text, size_t n, struct sk_job *out, struct saikai_error *err);

/* 1: a plain name that a directory can have. */
int sk_job_name_ok(const char *name);
/* 1: a file with this id may be one of the store's. */
int sk_job_accepts(const struct sk_job *j, struct sk_id id);
/* The name of the job's directory below a user's node-local one: "<name>-<12 digits of the store's id>". */
int sk_job_local_name(const struct sk_job *j, char *out, size_t cap, struct saikai_error *err);

#endif
