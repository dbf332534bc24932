/* How a session starts: where it saves to, what the job is called, the number of this start. Rank 0 finds out, all agree. */
#ifndef SK_LIB_START_H
#define SK_LIB_START_H

#include "lib/session/session.h"
#include "store/owner/job.h"

/* What rank 0 finds out for all. */
struct sk_start {
    char prefix[PATH_MAX - 128]; /* first where the user said, then the job's own place there */
    char local[160];             /* the job's directory below the user's node-local one */
    char old_local[160];         /* what an older version called it; "": not to be looked for */
    struct sk_job job;
    double rate;         /* of the hosts in use */
    double program_rate; /* as the launcher has learnt it; 0: it has not */
    struct sk_suffered suffered;
    uint64_t run_id;
    uint32_t incarnation, first_incarnation, unread_before;
    struct sk_id lease; /* its token; none without a prefix */
    int away;        /* the error with which the prefix cannot be asked, 0: it answers */
    int64_t stopped; /* newest start of which every rank was told to end by a signal while it restarted, 0: none */
};

/* Fill the session's directories, incarnations, run's number and advice. Collective; every rank gets the same verdict. */
int sk_start_agree(struct sk_session *s, const char *program, struct saikai_error *err);

/* places.c. 1: the path is the word 'none'. */
int sk_path_is_none(const char *path);
/* Rank 0: the prefix as an absolute path into st->prefix, made if need be; "" when there is none. After an error, too, when
 * the path alone says it: the prefix is away. */
int sk_places_find_prefix(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* Every rank: its local directory into s->place.local_root, made if need be, and the prefix into s->place.prefix_root. */
int sk_places_make_local(struct sk_session *s, const struct sk_start *st, struct saikai_error *err);

/* Every rank: *newest grows to the highest incarnation of which it finds a file in the prefix, waiting no longer than
 * store.prefix_timeout. */
int sk_places_scan_prefix(struct sk_session *s, int64_t *newest, struct saikai_error *err);

/* identity.c. Rank 0: what the job is called; without a prefix also a store's id, should it have none yet. */
int sk_identity_name(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err);
/* Rank 0: the job's place in the prefix and its store's id; takes the lease of the place. SAIKAI_EBUSY: another job has it;
 * SAIKAI_ETIMEDOUT: the prefix does not answer. A prefix that takes no files leaves the store unclaimed. */
int sk_identity_find(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* Rank 0: the store is known, and nothing is held yet since the prefix is away: the lease is taken when it is back. */
int sk_identity_wait(struct sk_session *s, const struct sk_start *st, struct saikai_error *err);

/* hold_local.c. Collective, when the prefix cannot be asked: the store of st->job.name and st->prefix that the nodes know, into
 * st. SAIKAI_ENOENT: none of them does. */
int sk_local_find(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* This user's directory below the node-local one, "" when there is none. */
void sk_local_user(const struct sk_session *s, char *out, size_t cap);
/* 1: a store of this name and place waits in the user's directory for a prefix that takes files: its id into *store. */
int sk_local_unclaimed(const char *user, const char *name, const char *place, struct sk_id *store);
/* Collective: take the node-local directories for this job, after they were made. Without a prefix also agree on
 * the store's id, which then stands in them alone. */
int sk_local_take(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* Let go; remove != 0: this rank's files are gone, and the last one of the node removes the directory. */
void sk_local_release(struct sk_session *s, int remove);

/* incarnation.c. Every rank: the highest incarnation of which it finds a file on its node into *newest. */
int sk_incarnation_scan(struct sk_session *s, int64_t *newest, struct saikai_error *err);
/* Rank 0: begin a new incarnation, above newest, in s->who.state and where it is kept. */
int sk_incarnation_begin(struct sk_session *s, struct sk_start *st, int64_t newest, struct saikai_error *err);

#endif
