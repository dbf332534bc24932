/* The end that a scheduler or a ^C asks for, of a program that never asks whether it should stop.
 *
 * All ranks took the request up at the same candidate and captured a checkpoint there. One candidate later they know whether the
 * program asks (saikai_should_stop): then it ends by itself. Else they wait here until all is saved, and for their end: by the
 * launcher, which kills them when all ranks have come this far, or, without one, by the signal itself. The library does not exit. */
#include "lib/run/stop.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/run/requests.h"

#include <signal.h>
#include <string.h>

void (*sk_stop_hook)(void);

/* The MPI's own launcher drops what it has not read yet when a rank dies: it gets a moment. */
static const double reading_s = 0.3;
/* How long the launcher may take to end what told it that it waits for its end. */
static const double patience_s = 60;

static void say_saved(const struct sk_session *s, int number)
{
    int64_t complete = sk_ledger_newest(s->levels.ledger, SK_LEDGER_COMPLETE);
    const char *name = sigabbrev_np(number);
    if (s->g->rank)
        return;
    if (complete < sk_ledger_count(s->levels.ledger))
        sk_log(SK_LOG_WARN, "SIG%s: the last checkpoint could not be saved by all ranks; the one before stays", name);
    else
        sk_log(SK_LOG_NOTICE, "SIG%s: iteration %lld is saved%s, and the program ends; started again, it goes on from there",
               name, (long long)sk_ledger_iteration(s->levels.ledger, SK_LEDGER_COMPLETE),
               *s->place.prefix_root && sk_ledger_newest(s->levels.ledger, sk_session_in_prefix(s)) == complete
                   ? " in the prefix" : " in the memory of this node only");
}

static void wait_for_the_end(struct sk_session *s, int number)
{
    if (sk_stop_hook) {
        sk_stop_hook();
        return;
    }
    if (s->page) {
        atomic_store(&s->page->state, SK_KEEPER_STOPPED);
        sk_sleep(patience_s);
        sk_log(SK_LOG_WARN, "rank %d: nobody has ended this process for %g s: it ends itself", s->g->rank, patience_s);
    } else {
        int64_t all = 0; /* rank 0 has said what there is to say */
        if (!sk_group_allreduce(s->g, &all, 1, SK_OP_MIN))
            sk_sleep(reading_s);
    }
    sk_requests_die(number);
}

int sk_stop_step(struct sk_session *s, struct saikai_error *err)
{
    int number = sk_requests_reason();
    /* what ends the process would end the other sessions in it unsaved: the program must ask, or the grace time ends it */
    int64_t v[2] = {-(int64_t)(s->ending.asked || sk_requests_shared()), -(int64_t)sk_requests_left_to_program(number)};
    s->ending.end_tick = UINT64_MAX;
    int rc = sk_group_allreduce(s->g, v, 2, SK_OP_MIN);
    if (rc)
        return sk_fail(err, rc, "the ranks could not agree on how to stop");
    if (v[0])
        return 0;
    if (v[1]) { /* it has its own way to end, which may be at once: under a launcher, the signal has not come to it yet */
        rc = s->page ? sk_session_keep_safe(s, err) : 0;
        if (s->page && sk_requests_left_to_program(number))
            raise(number);
        return rc;
    }
    s->ending.halted = 1;
    rc = sk_session_wind_up(s, err);
    if (rc)
        sk_log(SK_LOG_WARN, "rank %d: %s", s->g->rank, err ? err->text : "the end could not be prepared");
    say_saved(s, number);
    wait_for_the_end(s, number);
    return sk_fail(err, SAIKAI_ESTATE, "the program is at its end, as a signal asked for");
}
