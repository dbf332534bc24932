/* How a session starts: where it saves to, what the job is called, the number of this start. Rank 0 finds out, all agree. */
#ifndef SK_LIB_START_H
#define SK_LIB_START_H

#include "lib/session.h"

/* What rank 0 finds out for all. */
struct sk_start {
    char prefix[PATH_MAX - 128], job[128];
    double rate; /* of the hosts in use */
    struct sk_suffered suffered;
    uint64_t run_id;
    uint32_t incarnation, first_incarnation;
    int64_t stopped; /* newest start of which every rank was told to end by a signal while it restarted, 0: none */
};

/* Fill the session's directories, incarnations, run's number and advice. Collective; every rank gets the same verdict. */
int sk_start_agree(struct sk_session *s, const char *program, struct saikai_error *err);

/* places.c. 1: the path is the word 'none'. */
int sk_path_is_none(const char *path);
/* Rank 0: the prefix as an absolute path into st->prefix, made if need be; "" when there is none. After an error, too, when
 * the path alone says it: the prefix is away. */
int sk_places_find_prefix(struct sk_session *s, struct sk_start *st, struct saikai_error *err);
/* Every rank: its local directory into s->local_root, made if need be, and the prefix into s->prefix_root. */
int sk_places_make_local(struct sk_session *s, const struct sk_start *st, struct saikai_error *err);

/* incarnation.c. Rank 0: the name of the job's directory below the local one into st->job. */
int sk_incarnation_name_job(struct sk_session *s, struct sk_start *st, const char *program, struct saikai_error *err);
/* Every rank: *newest grows to the highest incarnation of which it finds a file in the prefix, waiting no longer than
 * store.prefix_timeout. */
int sk_places_scan_prefix(struct sk_session *s, int64_t *newest, struct saikai_error *err);
/* Every rank: the highest incarnation of which it finds a file on its node into *newest. */
int sk_incarnation_scan(struct sk_session *s, int64_t *newest, struct saikai_error *err);
/* Rank 0: begin a new incarnation, above newest, in s->state and where it is kept. */
int sk_incarnation_begin(struct sk_session *s, struct sk_start *st, int64_t newest, struct saikai_error *err);

#endif
