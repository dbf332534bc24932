/* Draws the verdict on a job: the table of what is looked for, in this order. */
#include "recovery/fault/detector_watch.h"

#include <math.h>

/* What explains more stands before what follows from it: a report before the launcher that ended of it, and an end before silence. */
static const struct sk_detector_ops *const forms[] = {
    &sk_detect_reports, &sk_detect_end, &sk_detect_launcher, &sk_detect_finish, &sk_detect_silence, &sk_detect_start,
    &sk_detect_standstill,
};

static const struct sk_detector_ops *form_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

SK_KIND(sk_detector_kind, "detector", "detector of faults", struct sk_detector_ops, form_at, description);

/* Often enough to notice that this process was stopped. */
static const double look_s = 0.5;

enum sk_job sk_detector_check(struct sk_detector *d, double now, struct sk_fault *f)
{
    enum sk_job job = SK_JOB_RUNS;
    sk_detector_time(d, now);
    sk_detector_look(d, now);
    for (int i = 0; job == SK_JOB_RUNS && form_at(i); i++)
        job = form_at(i)->check(d, sk_detector_clock(d, now), f);
    return job;
}

double sk_detector_next(const struct sk_detector *d, double now)
{
    double next = now + look_s;
    for (int i = 0; form_at(i); i++)
        if (form_at(i)->next)
            next = fmin(next, form_at(i)->next(d) + d->lost);
    return fmax(next + 0.001, now + 0.001);
}
