/* Restart, candidates, files and questions, of a handle. Compiled once for each MPI. */
#include "lib/api/api.h"

#include "base/host/vectors.h"
#include "lib/restart/restart.h"
#include "lib/restart/restore.h"
#include "lib/run/candidate.h"
#include "lib/run/questions.h"
#include "world/world.h"

#include <mpi.h>
#include <saikai/handle.h>

/* ---- back ---- */

static int go_back(struct saikai *h, const char *which, long *iteration)
{
    int restored = 0;
    int64_t at = 0;
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    int rc = sk_session_restart_from(h->session, which, &restored, &at, &sk_last);
    if (rc)
        return sk_strict(h->strict, "saikai_restart", rc, &sk_last, 1);
    h->chose |= which != NULL;
    if ((rc = sk_rejoin_place(h, 0, 0)))
        return sk_strict(h->strict, "saikai_restart", rc, &sk_last, 1);
    if (restored && iteration)
        *iteration = (long)at;
    return restored;
}

/* What MPI and the libraries below left in the vector registers would make the program slower. */
static int restart(struct saikai *h, const char *which, long *iteration)
{
    int rc = go_back(h, which, iteration);
    sk_vectors_clear();
    return rc;
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
    return h ? (int)sk_session_restored_place(h->session) : 0;
}

/* ---- candidates ---- */

int sk_api_inside;

/* That other ranks are gone for a while is no error where the layer between program and MPI makes them again. */
static int end_candidate(int rc)
{
    sk_api_inside--;
    sk_vectors_clear();
    return rc < 0 && saikai_world_goes_on && saikai_world_goes_on() ? 0 : rc;
}

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
    if (place <= SK_GEN_MAX_PLACE && sk_session_passes(s, iteration))
        return 0;
    sk_session_progress(s, iteration);
    sk_error_clear(&sk_last);
    sk_api_inside++;
    return end_candidate(sk_session_candidate(s, (uint32_t)place, iteration, &sk_last));
}

API int saikai_h_checkpoint_now(struct saikai *h, long iteration)
{
    struct sk_session *s = h ? h->session : NULL;
    sk_error_clear(&sk_last);
    if (!s)
        return sk_not_begun();
    int sleeps = s->clock.asleep > 0, due = sk_session_due(s, 0, iteration, &sk_last);
    sk_api_inside++;
    if (due < 0)
        return end_candidate(due);
    sk_session_progress(s, iteration);
    int rc = sleeps ? 0 : sk_session_capture(s, 0, iteration, &sk_last);
    return end_candidate(rc ? rc : 1);
}

API int saikai_h_should_stop(struct saikai *h)
{
    return h ? sk_session_should_stop(h->session) : 0;
}

/* ---- files ---- */

API int saikai_h_checkpoint_begin(struct saikai *h, long iteration)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_files_begin(h->session, iteration, &sk_last) : sk_not_begun();
}

API int saikai_h_file_path(struct saikai *h, const char *name, char *path, size_t size_bytes)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_file_path(h->session, name ? name : "", path, size_bytes, &sk_last) : sk_not_begun();
}

API int saikai_h_checkpoint_end(struct saikai *h, int ok)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_files_end(h->session, ok, &sk_last) : sk_not_begun();
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
    sk_session_status(h->session, out, size_bytes);
    return 0;
}

API int saikai_h_wait(struct saikai *h)
{
    sk_error_clear(&sk_last);
    return h ? sk_session_wait(h->session, &sk_last) : sk_not_begun();
}
