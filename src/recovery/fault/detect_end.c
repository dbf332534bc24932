/* What is found at the end of programs and of the MPI's launcher. */
#include "recovery/fault/detector_watch.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>

/* A report that is still on its way can be overtaken by what follows from it by this much. */
static const double late_report_s = 0.3;

/* A program whose ranks all leave without MPI_Finalize has them do so at about the same time; who is waited for after that has died. */
static const double late_leaver_s = 1.0;

static double never(const struct sk_detector *d)
{
    (void)d;
    return INFINITY;
}

/* What may only follow from another rank's end waits for the report of that. */
static int is_awaited(const struct sk_detector *d)
{
    return sk_detector_is_echo(&d->first) && d->gone < d->c.n_ranks;
}

static double patience(const struct sk_detector *d)
{
    return d->first.kind == &sk_fault_unended ? late_leaver_s : late_report_s;
}

/* Who left so long before the MPI's launcher ended the others is taken for why. */
static const double leaver_s = 3.0;

/* MPI's launchers end all others when a rank leaves with 0 and without MPI_Finalize, which only they can tell from a good end. -1: there is none. */
static int find_leaver(const struct sk_detector *d, double at)
{
    int first = -1;
    for (int r = 0; r < d->c.n_ranks; r++) {
        const struct sk_watched *k = &d->rank[r];
        double before = at - k->gone_at;
        if (k->state == SK_WATCHED_GONE && k->clean && before < leaver_s && before > -late_report_s && (first < 0 || k->gone_at < d->rank[first].gone_at))
            first = r;
    }
    return first;
}

/* In place of *f, if there is one. */
static void blame_leaver(const struct sk_detector *d, double at, struct sk_fault *f)
{
    int leaver = find_leaver(d, at);
    if (leaver >= 0)
        *f = (struct sk_fault){&sk_fault_unended, leaver, d->rank[leaver].host, 0, 0, NULL};
}

static enum sk_job check_reports(const struct sk_detector *d, double now, struct sk_fault *f)
{
    int all_have_left = d->first.kind == &sk_fault_unended && d->gone == d->c.n_ranks;
    if (!d->first.kind || all_have_left || (is_awaited(d) && now - d->first_at <= patience(d)))
        return SK_JOB_RUNS;
    *f = d->first;
    if (d->first_ended && f->kind == &sk_fault_signal && f->code == SIGTERM)
        blame_leaver(d, d->first_at, f);
    return SK_JOB_FAULT;
}

static double next_report(const struct sk_detector *d)
{
    return is_awaited(d) ? d->first_at + patience(d) : INFINITY;
}

const struct sk_detector_ops sk_detect_reports = {
    "reports", "a keeper tells how its rank's program ended", check_reports, next_report,
};

/* All are gone and nobody is to blame: success only if each ended well. */
static enum sk_job check_end(const struct sk_detector *d, double now, struct sk_fault *f)
{
    (void)now;
    if (d->gone < d->c.n_ranks)
        return SK_JOB_RUNS;
    for (int r = 0; r < d->c.n_ranks; r++)
        if (!d->rank[r].clean && !d->rank[r].left) {
            *f = (struct sk_fault){&sk_fault_signal, r, d->rank[r].host, SIGKILL, 0, NULL};
            return SK_JOB_FAULT;
        }
    return SK_JOB_DONE;
}

const struct sk_detector_ops sk_detect_end = {"all-ended", "the programs of all ranks have ended", check_end, never};

static enum sk_job check_launcher(const struct sk_detector *d, double now, struct sk_fault *f)
{
    if (!d->launcher_ended || d->first.kind || now - d->launcher_ended_at <= late_report_s)
        return SK_JOB_RUNS;
    *f = (struct sk_fault){&sk_fault_launcher, -1, -1, d->launcher_status, now - d->started, NULL};
    if (WIFEXITED(d->launcher_status)) /* MPICH's kills the others and their keepers */
        blame_leaver(d, d->launcher_ended_at, f);
    return SK_JOB_FAULT;
}

static double next_launcher(const struct sk_detector *d)
{
    return d->launcher_ended ? d->launcher_ended_at + late_report_s : INFINITY;
}

const struct sk_detector_ops sk_detect_launcher = {
    "launcher-ended", "the MPI's launcher has ended and ranks are still owed", check_launcher, next_launcher,
};

static enum sk_job check_finish(const struct sk_detector *d, double now, struct sk_fault *f)
{
    (void)f;
    int over = d->finished > 0 && d->c.finish_timeout_s > 0 && now - d->finished > d->c.finish_timeout_s;
    return over ? SK_JOB_STUCK_AT_END : SK_JOB_RUNS;
}

const struct sk_detector_ops sk_detect_finish = {
    "finish", "all have ended their use of Saikai and stay (run.finish_timeout)", check_finish, NULL,
};
