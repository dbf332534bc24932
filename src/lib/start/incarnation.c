/* The number of this start of the job. */
#include "lib/start/incarnation.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/file/io.h"
#include "lib/start/memo.h"
#include "lib/start/tries.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Highest incarnation of which this rank finds a file on its node. */
int sk_incarnation_scan(struct sk_session *s, int64_t *newest, struct saikai_error *err)
{
    struct sk_gen_list l = {0};
    *newest = 0;
    /* rank 0 also looks at files of ranks that there are no more */
    int rc = sk_gen_scan(s->place.local_root, s->g->rank ? s->g->rank : -1, &l, err);
    if (!rc && l.count)
        *newest = l.gen[0].incarnation;
    sk_gen_list_free(&l);
    return rc;
}

/* Numbers left out where the prefix, which would know of starts on other nodes, cannot be read. */
enum { UNKNOWN_STARTS = 8 };

/* Rank 0: begin a new incarnation in the state file. */
int sk_incarnation_begin(struct sk_session *s, struct sk_start *st, int64_t newest,
                             struct saikai_error *err)
{
    const char *mode = sk_config_text(s->config, "restart.mode"), *root = sk_place_state_root(&s->place);
    if (!sk_id_none(s->who.state.store) && !sk_job_accepts(&s->who.job, s->who.state.store))
        memset(&s->who.state, 0, sizeof s->who.state); /* it was left by another store in a node's own directory */
    s->who.state.store = s->who.job.store;
    s->who.state.run = s->who.run;
    sk_tries_judge(s, st->stopped);
    if (newest < s->who.state.incarnation)
        newest = s->who.state.incarnation;
    if (s->place.prefix_away) /* it may have been started on other nodes since */
        newest += UNKNOWN_STARTS;
    if (newest >= SK_GEN_MAX_INCARNATION)
        return sk_fail(err, SAIKAI_ESTATE, "%s was started %lld times: move it away to begin anew", root,
                       (long long)newest);
    int resumes = s->page && s->page->incarnation > 0; /* the launcher restarts what it started */
    int fresh = !resumes && (!strcmp(mode, "never") || (s->who.state.finished && strcmp(mode, "always")));
    if (fresh)
        snprintf(s->who.fresh_why, sizeof s->who.fresh_why, "%s",
                 strcmp(mode, "never") ? "the last run finished (restart.mode=always goes on from it)" : "restart.mode=never");
    s->who.finished_from = !s->who.state.finished ? 0 : s->who.state.first_incarnation ? s->who.state.first_incarnation : 1;
    s->who.state.incarnation = (uint32_t)newest + 1;
    s->who.state.finished = 0;
    if (fresh || !s->who.state.first_incarnation)
        s->who.state.first_incarnation = fresh ? s->who.state.incarnation : 1;
    st->incarnation = s->who.state.incarnation;
    st->first_incarnation = s->who.state.first_incarnation;
    st->unread_before = s->who.state.unread_before;
    if (getrandom(&st->run_id, sizeof st->run_id, 0) != sizeof st->run_id)
        st->run_id = sk_hash64(&s->who.state, sizeof s->who.state) ^ (uint64_t)sk_wall_ms();
    return sk_memo_save(s, err);
}
