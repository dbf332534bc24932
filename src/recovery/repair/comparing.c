/* Leads say in their beats how many messages differed, and which was the first. That one is told, and kept as a fault; how many there were in
 * all is said at the end of the process. */
#include "recovery/repair/comparing.h"

#include "base/log.h"
#include "recovery/repair/compare.h"

enum { NOT_TOLD, TOLD, OVER };

/* 1: the job is not to go on. */
static int tell(struct sk_supervisor *s, int rank, double now)
{
    struct sk_fault f = {&sk_fault_difference, rank, s->seat[rank], s->c.compare == SK_COMPARE_GIVE_UP, 0, &s->differ};
    s->differ = sk_detector_rank_at(s->detector, rank).differ;
    if (s->c.compare != SK_COMPARE_TELL && !s->stop_signal) {
        s->fault = f;
        sk_supervisor_clear(s, &f, now); /* what it was and what comes of it is said when all are gone */
        return 1;
    }
    struct sk_verdict v = {.answer = SAIKAI_ANSWER_IGNORE, .leaves = -1};
    sk_supervisor_record(s, &f, &v, NULL, "the job goes on, and what it computes may be wrong");
    return 0;
}

int sk_supervisor_tick_compare(struct sk_supervisor *s, double now)
{
    for (int r = 0; s->differed && r < s->c.detector.n_ranks; r++) {
        uint32_t n = sk_detector_rank_at(s->detector, r).differ.n;
        if (n && s->differed[r] == NOT_TOLD) {
            s->differed[r] = TOLD;
            if (tell(s, r, now))
                return 1;
        }
        if (n && s->differed[r] == TOLD && !sk_detector_rank_runs(s->detector, r)) {
            s->differed[r] = OVER;
            if (n > 1)
                sk_say(s, SK_LOG_NOTICE, "in all %u messages of the two processes of rank %d differed", n, r);
        }
    }
    return 0;
}
