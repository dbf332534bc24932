/* Events, of a handle and of the default one. Compiled once for each MPI. */
#include "lib/api/api.h"

#include "lib/run/events.h"

#include <mpi.h>
#include <saikai/handle.h>

API int saikai_h_event_publish(struct saikai *h, const char *name, int severity, const char *const fields[])
{
    sk_error_clear(&sk_last);
    return h ? sk_session_publish(h->session, name ? name : "", severity, fields, &sk_last) : sk_not_begun();
}

API int saikai_h_event_next(struct saikai *h, const char *filter, double seconds, struct saikai_event *out, size_t size_bytes)
{
    sk_error_clear(&sk_last);
    if (!h)
        return sk_not_begun();
    if (!out)
        return sk_fail(&sk_last, SAIKAI_EINVAL, "saikai_event_next: out is NULL");
    return sk_session_next_event(h->session, filter ? filter : "", seconds, out, size_bytes, &sk_last);
}

API int saikai_event_publish(const char *name, int severity, const char *const fields[])
{
    return saikai_h_event_publish(sk_default, name, severity, fields);
}

API int saikai_event_next(const char *filter, double seconds, struct saikai_event *out, size_t size_bytes)
{
    return saikai_h_event_next(sk_default, filter, seconds, out, size_bytes);
}
