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
    double shape;        /* Weibull's, of the times between failures, as it has learnt that, too; 0: it has not */
    struct sk_suffered suffered;
    uint64_t run_id;
    uint32_t incarnation, first_incarnation, unread_before;
    struct sk_id lease; /* its token; none without a prefix */
    int away;        /* the error with which the prefix cannot be asked, 0: it answers */
    int64_t stopped; /* newest start of which every rank was told to end by a signal while it restarted, 0: none */
};

/* Fill the session's directories, incarnations, run's number and advice. Collective; every rank gets the same verdict. */
int sk_start_agree(struct sk_session *s, const char *program, struct saikai_error *err);

#endif
