/* What the public functions ask a session, and tell it in passing. */
#include "lib/run/questions.h"

#include "base/clock.h"
#include "lib/run/candidate.h"

#include <string.h>

struct sk_id sk_session_store(const struct sk_session *s)
{
    return s->who.job.store;
}

struct sk_vars *sk_session_vars(struct sk_session *s)
{
    return &s->vars;
}

int sk_session_unprotect(struct sk_session *s, const char *name, struct saikai_error *err)
{
    sk_saver_wait(s->capture.saver); /* afterwards the memory may be freed */
    return sk_vars_remove(&s->vars, name, err);
}

uint32_t sk_session_restored_place(const struct sk_session *s)
{
    return s->resume.from.place;
}

void sk_session_progress(struct sk_session *s, int64_t iteration)
{
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
}

int sk_session_should_stop(struct sk_session *s)
{
    s->ending.asked = 1;
    s->ending.told |= s->ending.stop_agreed;
    return s->ending.stop_agreed;
}

int sk_session_files_begin(struct sk_session *s, int64_t iteration, struct saikai_error *err)
{
    sk_session_progress(s, iteration);
    int due = sk_session_due(s, 0, iteration, err);
    if (due > 0) {
        s->capture.in_files = 1;
        s->clock.next_tick = 0; /* a candidate before the end takes the slow path, which says so */
        s->capture.files_begun = sk_now();
    }
    return due;
}

int sk_session_files_end(struct sk_session *s, int valid, struct saikai_error *err)
{
    if (!s->capture.in_files)
        return sk_fail(err, SAIKAI_ESTATE, "saikai_checkpoint_begin did not return 1 before saikai_checkpoint_end");
    s->capture.in_files = 0;
    return sk_session_capture_files(s, 0, s->clock.last_iteration, valid, err);
}

void sk_session_status(const struct sk_session *s, struct saikai_status *out, size_t size_bytes)
{
    static const struct saikai_status none = {.complete_iteration = -1, .archived_iteration = -1, .protected_iteration = -1};
    struct sk_ledger *l = s->levels.ledger;
    struct sk_level_cost coding;
    memset(out, 0, size_bytes); /* all of it: a program of a later version finds zeros in what this one does not know */
    if (s->silent) {
        memcpy(out, &none, size_bytes < sizeof none ? size_bytes : sizeof none);
        return;
    }
    sk_level_cost(&s->levels.at[SK_LEVEL_PARITY], &coding);
    struct saikai_status st = {
        .checkpoints = (long)s->capture.checkpoints,
        .failed = (long)s->capture.failed,
        .complete_iteration = (long)sk_ledger_iteration(l, SK_LEDGER_COMPLETE),
        .archived_iteration = (long)sk_ledger_iteration(l, sk_session_in_prefix(s)),
        .advice_every = s->clock.every ? s->clock.every : (long)s->measured.advice.now.every,
        .cost_seconds = s->measured.cost_seconds,
        .blocked_seconds = s->capture.blocked_seconds,
        .failure_rate = s->measured.rate,
        .bytes = s->capture.bytes_last,
        .protected_iteration = (long)sk_ledger_iteration(l, SK_LEDGER_PROTECTED),
        .coding_seconds = coding.seconds,
    };
    memcpy(out, &st, size_bytes < sizeof st ? size_bytes : sizeof st);
}
