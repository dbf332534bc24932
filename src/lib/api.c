/* Restart, candidates, files and questions, of a handle. Compiled once for each MPI. */
#include "lib/api.h"

#include "base/clock.h"

#include <mpi.h>
#include <saikai/handle.h>
#include <string.h>

/* ---- back ---- */

static int restart(struct saikai *h, const char *which, long *iteration)
{
    int restored = 0;
    int64_t at = 0;
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    int rc = sk_session_restart_from(h->session, which, &restored, &at, &sk_last);
    if (rc)
        return sk_strict(h->strict, "saikai_restart", rc, &sk_last, 1);
    if (restored && iteration)
        *iteration = (long)at;
    return restored;
}

API int saikai_h_restart(struct saikai *h, long *iteration)
{
    return restart(h, NULL, iteration);
}

API int saikai_h_restart_from(struct saikai *h, const char *generation, long *iteration)
{
    return restart(h, generation ? generation : "newest", iteration);
}

API int saikai_h_restored_place(struct saikai *h)
{
    return h ? (int)h->session->from.place : 0;
}

/* ---- candidates ---- */

API int saikai_h_checkpoint(struct saikai *h, long iteration)
{
    if (__builtin_expect(h != NULL, 1) && sk_api_passes(h, iteration))
        return 0;
    return saikai_h_checkpoint_at(h, 0, iteration);
}

API int saikai_h_checkpoint_at(struct saikai *h, int place, long iteration)
{
    struct sk_session *s = h ? h->session : NULL;
    if (!s)
        return sk_not_begun();
    if (place < 0)
        return sk_fail(&sk_last, SAIKAI_EINVAL, "place %d; 0 to 63 are possible", place);
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    if (sk_session_idle(s, iteration) && place <= SK_GEN_MAX_PLACE && !s->in_files) {
        s->tick++;
        s->last_iteration = iteration;
        return 0;
    }
    sk_error_clear(&sk_last);
    return sk_session_candidate(s, (uint32_t)place, iteration, &sk_last);
}

API int saikai_h_checkpoint_now(struct saikai *h, long iteration)
{
    struct sk_session *s = h ? h->session : NULL;
    sk_error_clear(&sk_last);
    if (!s)
        return sk_not_begun();
    int due = sk_session_due(s, 0, iteration, &sk_last);
    if (due < 0)
        return due;
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    int rc = sk_session_capture(s, 0, iteration, &sk_last);
    return rc ? rc : 1;
}

API int saikai_h_should_stop(struct saikai *h)
{
    if (!h)
        return 0;
    h->session->asked = 1;
    h->session->told |= h->session->stop_agreed;
    return h->session->stop_agreed;
}

/* ---- files ---- */

API int saikai_h_checkpoint_begin(struct saikai *h, long iteration)
{
    struct sk_session *s = h ? h->session : NULL;
    sk_error_clear(&sk_last);
    if (!s)
        return sk_not_begun();
    if (s->page)
        sk_keeper_page_progress(s->page, iteration);
    int due = sk_session_due(s, 0, iteration, &sk_last);
    if (due > 0) {
        s->in_files = 1;
        s->next_tick = 0; /* a candidate before the end takes the slow path, which says so */
        s->files_begun = sk_now();
    }
    return due;
}

API int saikai_h_file_path(struct saikai *h, const char *name, char *path, size_t size_bytes)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_file_path(h->session, name ? name : "", path, size_bytes, &sk_last) : sk_not_begun();
}

API int saikai_h_checkpoint_end(struct saikai *h, int ok)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    if (!h->session->in_files)
        return sk_fail(&sk_last, SAIKAI_ESTATE, "saikai_checkpoint_begin did not return 1 before saikai_checkpoint_end");
    h->session->in_files = 0;
    return sk_session_capture_files(h->session, 0, h->session->last_iteration, ok, &sk_last);
}

API int saikai_h_restored_file(struct saikai *h, const char *name, char *path, size_t size_bytes)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_restored_file(h->session, name ? name : "", path, size_bytes, &sk_last) : sk_not_begun();
}

/* ---- questions ---- */

API int saikai_h_get_status(struct saikai *h, struct saikai_status *out, size_t size_bytes)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    if (!out)
        return sk_fail(&sk_last, SAIKAI_EINVAL, "saikai_get_status: status is NULL");
    const struct sk_session *s = h->session;
    struct saikai_status st = {
        .checkpoints = (long)s->checkpoints,
        .failed = (long)s->failed,
        .complete_iteration = (long)sk_ledger_iteration(s->ledger, SK_LEDGER_COMPLETE),
        .archived_iteration = (long)sk_ledger_iteration(s->ledger, SK_LEDGER_ARCHIVED),
        .advice_every = s->every ? s->every : (long)s->advice.now.every,
        .cost_seconds = s->cost_seconds,
        .blocked_seconds = s->blocked_seconds,
        .failure_rate = s->advice.policy.rate,
        .bytes = s->bytes_last,
        .protected_iteration = (long)sk_ledger_iteration(s->ledger, SK_LEDGER_PROTECTED),
    };
    struct sk_protector_status coding;
    sk_protector_status(s->protector, &coding);
    st.coding_seconds = coding.seconds;
    /* all of what was given: a program of a later version finds zeros in what this one does not know */
    memset(out, 0, size_bytes);
    memcpy(out, &st, size_bytes < sizeof st ? size_bytes : sizeof st);
    return 0;
}

API int saikai_h_wait(struct saikai *h)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_wait(h->session, &sk_last) : sk_not_begun();
}
