/* The states of a job and what leads from one to the next: starting, clearing after a fault,
 * waiting, stopping, and giving up. */
#include "recovery/renewal/renewing.h"
#include "recovery/repair/compare.h"
#include "recovery/repair/comparing.h"
#include "recovery/repair/moving.h"
#include "recovery/repair/repairing.h"
#include "recovery/repair/transferring.h"

#include "backbone/keeper_page.h"
#include "base/log.h"
#include "base/text/counted.h"
#include "recovery/fault/describe.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Seconds: between an order and the same again, and for each rank where there are many to be told; in which a rank that nobody heard of
 * may still come when its start is ended; between a fault and the start after it, when faults repeat without progress. */
static const double repeat_s = SK_REPEAT_S, repeat_rank_s = 5e-6, late_start_s = 1.0, longest_backoff_s = 60;
/* The same signal may come twice by two ways, such as from a terminal and through a wrapper. */
static const double echo_s = 0.1;

struct sk_supervisor *sk_supervisor_new(const struct sk_supervisor_config *c,
                                        const struct sk_supervisor_ops *ops, void *arg,
                                        struct sk_hosts *hosts, int *seat)
{
    struct sk_supervisor *s = calloc(1, sizeof *s);
    if (!s) {
        sk_hosts_free(hosts);
        free(seat);
        return NULL;
    }
    s->c = *c;
    s->ops = ops;
    s->arg = arg;
    s->hosts = *hosts;
    *hosts = (struct sk_hosts){0};
    s->seat = seat;
    s->spares = c->warm;
    s->best = s->restored = s->place_best = -1;
    sk_slower_init(&s->slower, 4 * c->detector.heartbeat_s);
    s->c.detector.n_hosts = s->hosts.n;
    s->answered = calloc((size_t)s->hosts.n, 1);
    s->answers = calloc((size_t)s->hosts.n, 1);
    s->assessor = sk_assessor_new(&c->assess, s->hosts.n, c->detector.n_ranks);
    s->lost = calloc((size_t)c->detector.n_ranks, 1);
    s->place = c->repair_s > 0 && ops->admit && !c->copies ? sk_in_place_new(c->detector.n_ranks, c->warm, c->repair_s) : NULL;
    s->spare_heard = calloc((size_t)c->warm + 1, sizeof *s->spare_heard);
    s->differed = c->compare ? calloc((size_t)c->detector.n_ranks, 1) : NULL;
    if (!s->answered || !s->answers || !s->assessor || !s->lost || !s->spare_heard || (c->compare && !s->differed) || (c->repair_s > 0 && ops->admit && !c->copies && !s->place)) {
        sk_supervisor_free(s);
        return NULL;
    }
    return s;
}

void sk_supervisor_free(struct sk_supervisor *s)
{
    if (!s)
        return;
    sk_detector_free(s->detector);
    sk_assessor_free(s->assessor);
    sk_in_place_free(s->place);
    sk_hosts_free(&s->hosts);
    free(s->seat);
    free(s->lost);
    free(s->answered);
    free(s->answers);
    free(s->differed);
    free(s->spare_heard);
    free(s);
}

static void end(struct sk_supervisor *s, int code)
{
    s->state = ENDED;
    s->exit_code = code;
}

void sk_supervisor_start(struct sk_supervisor *s, double now)
{
    struct saikai_error err = {0};
    sk_detector_free(s->detector);
    if (s->c.copies && s->incarnation && sk_copies_together(s->c.copies, s->seat)) /* no process has anything on the host where it was */
        sk_copies_place(s->c.copies, &s->hosts, s->seat);
    s->detector = sk_detector_new(&s->c.detector, s->seat, now);
    s->resumed_said = s->candidate_said = 0;
    if (s->noticed > 0)
        s->past.down_ms += (uint64_t)fmax(0, (now - s->noticed) * 1000);
    s->noticed = 0;
    if (s->place)
        sk_in_place_reset(s->place);
    s->place_until = 0;
    s->missed = (struct sk_fault){0};
    for (int i = 0; i < s->spares; i++) /* one that is never heard is silent since it had to be */
        s->spare_heard[i] = i < s->c.warm && s->c.detector.start_timeout_s > 0 ? now + s->c.detector.start_timeout_s : 0;
    sk_slower_begin(&s->slower, sk_fault_means(&s->fault, SK_FAULT_PLANNED), now);
    s->renewal = (struct sk_renewal){0};
    if (s->detector)
        sk_detector_slower(s->detector, s->pace);
    s->transfers = (struct sk_transfers){0};
    if (s->differed)
        memset(s->differed, 0, (size_t)s->c.detector.n_ranks);
    if (!s->detector)
        sk_fail(&err, SAIKAI_ENOMEM, "no memory for %d ranks", s->c.detector.n_ranks);
    if (!s->detector || s->ops->start(s->arg, s->incarnation, &s->past, &s->hosts, s->seat, &err)) {
        sk_say(s, SK_LOG_ERROR, "%s", err.text);
        end(s, SK_RUN_FAILED);
        return;
    }
    s->state = RUNNING;
    s->refused = s->hopeless = s->ignoring = 0;
    s->since = s->started = now;
    s->running = s->best_at = 0;
}

/* ---- after a fault ---- */

static int any_started(const struct sk_supervisor *s)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (sk_detector_rank_runs(s->detector, r) >= 0)
            return 1;
    return 0;
}

/* 1: the MPI's launcher, or a rank, wrote to a pipe that is closed, and a start after this one would do so again. */
static int is_unread(const struct sk_supervisor *s)
{
    int is_signal = s->fault.kind == &sk_fault_signal && (s->fault.code == SIGPIPE || s->fault.code == SIGTERM);
    return s->ops->unread && (is_signal || s->fault.kind == &sk_fault_launcher) && s->ops->unread(s->arg);
}

static int exit_code_of(const struct sk_supervisor *s)
{
    if (is_unread(s))
        return 128 + SIGPIPE;
    if (s->refused && !sk_fault_means(&s->fault, SK_FAULT_PROGRAMS_CODE))
        return SK_RUN_REFUSED;
    return sk_fault_exit_code(&s->fault, any_started(s));
}

/* 1: a rank that is still owed an end: its keeper runs and speaks, or may yet come. */
static int is_owed(const struct sk_supervisor *s, int rank, double now)
{
    int runs = sk_detector_rank_runs(s->detector, rank);
    int lost = sk_fault_means(&s->fault, SK_FAULT_ENDS_HOST) && s->seat[rank] == s->fault.host;
    if (!runs || lost || sk_detector_rank_silent(s->detector, rank, now) ||
        sk_detector_rank_went_along(s->detector, rank, now))
        return 0;
    if (runs < 0) /* never heard: its launcher is being ended; should it come after all, it will be
                     told to leave */
        return !sk_fault_means(&s->fault, SK_FAULT_NOBODY_COMES) && now - s->since < late_start_s;
    return 1;
}

static int n_owed(const struct sk_supervisor *s, double now)
{
    int n = 0;
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        n += is_owed(s, r, now);
    return n;
}

/* Ask the hosts when all ranks have started: what answers then can be missed later. */
static void probe_once(struct sk_supervisor *s)
{
    if (s->probed || s->hosts.n < 2 || !s->ops->probe)
        return;
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (sk_detector_rank_runs(s->detector, r) < 0)
            return;
    s->probed = 1;
    s->ops->probe(s->arg, s->answered);
}

static double backoff(const struct sk_supervisor *s)
{
    if (s->barren.all < 2)
        return 0;
    double first = s->c.backoff_s > 0 ? s->c.backoff_s : 1;
    return fmin(first * pow(2, s->barren.all - 2), longest_backoff_s);
}

/* Why there is no other restart; NULL: there is one. */
static const char *why_not(const struct sk_supervisor *s, double now)
{
    const char *hopeless = sk_fault_hopeless(&s->fault, s->incarnation || any_started(s));
    if (is_unread(s)) /* be it before a rank was heard */
        return "nobody reads its output any more (the pipe is closed), and it would end of that again";
    if (hopeless)
        return hopeless;
    if (s->hopeless && !s->c.then) /* another command may fit */
        return "it would fail again for the reason said above";
    if (s->refused)
        return "its store belongs to a job that is running, as said above";
    if (sk_barren_enough(s->barren, s->c.no_progress))
        return s->uses_library ? "the fault repeats without a newer generation (run.no_progress)"
                               : "it dies right after its start again and again (run.no_progress, run.short_life)";
    if (s->restarts >= s->c.retries)
        return "it was restarted often enough (run.retries)";
    if (s->c.deadline > 0 && now >= s->c.deadline)
        return "its time is over";
    return NULL;
}

static void release_all(struct sk_supervisor *s)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (!sk_detector_rank_runs(s->detector, r))
            sk_supervisor_send(s, r, s->incarnation, SK_MSG_RELEASE, 0);
}

/* What the next start is told, so that it saves itself before it dies as this one did. */
static void remember(struct sk_supervisor *s, const struct sk_progress *p)
{
    double good = s->best_at > 0 ? s->best_at : s->started;
    s->noticed = s->since;
    s->past.faults += !sk_fault_means(&s->fault, SK_FAULT_PLANNED);
    s->past.lost_ms += (uint64_t)fmax(0, (s->since - good) * 1000);
    s->past.ms += (uint64_t)fmax(0, (s->since - s->started) * 1000); /* since: when it was noticed */
    if (p->progress)
        s->past.last_candidates = p->progress;
}

/* What is known of the newest generation, whenever something is heard. */
static void note_progress(struct sk_supervisor *s, const struct sk_progress *p, double now)
{
    s->uses_library |= p->state != SK_KEEPER_NONE && p->state != SK_KEEPER_UNABLE;
    s->refused |= p->state == SK_KEEPER_REFUSED;
    s->hopeless |= p->state == SK_KEEPER_HOPELESS;
    if (p->complete_iteration > s->best) {
        s->best = p->complete_iteration;
        s->best_at = now;
    }
    if (p->restored_iteration > s->best)
        s->best = p->restored_iteration;
}

static int lived(const struct sk_supervisor *s)
{
    return s->running > 0 && s->since - s->running >= s->c.short_life_s;
}

/* The program was told that the library cannot begin, and ended of that: by a code, soon. A signal, or a later end, has other reasons. */
static int ended_unable(const struct sk_supervisor *s, const struct sk_progress *p)
{
    int by_code = sk_fault_means(&s->fault, SK_FAULT_PROGRAMS_CODE) || (s->fault.kind == &sk_fault_launcher && WIFEXITED(s->fault.code));
    return p->state == SK_KEEPER_UNABLE && by_code && !lived(s);
}

/* Progress that cannot be seen is not none: a program without the library, which may have files of its own, only has to live. */
static int got_on(const struct sk_supervisor *s, const struct sk_progress *p)
{
    if (s->uses_library)
        return p->complete_count > 0;
    return lived(s);
}

static void say_how_to_go_on(struct sk_supervisor *s)
{
    if (!s->c.command || s->best < 0)
        return;
    sk_say(s, SK_LOG_NOTICE, "to go on from iteration %lld, type:", (long long)s->best);
    s->ops->say(s->arg, SK_LOG_NOTICE, strlen(s->c.command) < 1000 ? s->c.command : "the same command again");
}

/* As the user wanted. */
static void end_by_signal(struct sk_supervisor *s)
{
    say_how_to_go_on(s);
    end(s, sk_fault_means(&s->fault, SK_FAULT_PROGRAMS_CODE) ? s->fault.code : 128 + s->stop_signal);
}

static void say_restart(struct sk_supervisor *s, const struct sk_progress *p, double wait)
{
    struct sk_way_back w = {s->uses_library, s->best, -1, 0};
    char from[200], after[64] = "";
    if (s->best_at > 0 && p->iteration > s->best) {
        w.again = p->iteration - s->best;
        w.seconds = s->since - s->best_at;
    }
    sk_way_back_describe(&w, from, sizeof from);
    if (wait > 0)
        snprintf(after, sizeof after, " in %g s", wait);
    sk_say(s, SK_LOG_WARN, "restart %d%s, %s", s->restarts, after, from);
}

/* All ranks are gone: what the fault was, whether the job goes on, where and when. */
static void decide(struct sk_supervisor *s, double now)
{
    struct sk_progress p = sk_detector_progress(s->detector);
    note_progress(s, &p, s->since);
    s->hopeless |= ended_unable(s, &p);
    if (p.restored_iteration > s->restored) /* the start before got on, although it died before that was known */
        s->barren = (struct sk_barren){0};
    s->restored = p.restored_iteration > s->restored ? p.restored_iteration : s->restored;
    s->barren = got_on(s, &p) ? (struct sk_barren){0} : sk_barren_next(s->barren, &s->fault);
    release_all(s);
    s->ops->abandon(s->arg, s->incarnation, 0);
    if (s->stop_signal) {
        end_by_signal(s);
        return;
    }
    struct sk_verdict v = sk_supervisor_assess(s, &s->fault, 1, (struct sk_means){0}, now);
    char then[900];
    if (s->c.copies && *s->no_place)
        snprintf(then, sizeof then, "not by its twin: %s", s->no_place);
    else
        snprintf(then, sizeof then, "%s", v.said);
    *s->no_place = 0;
    if (v.leaves >= 0 && v.spares && sk_fault_means(&s->fault, SK_FAULT_OF_PROCESS))
        s->barren = (struct sk_barren){0}; /* another node may do better */
    int planned = sk_fault_means(&s->fault, SK_FAULT_PLANNED);
    if (s->ops->suffer && !planned)
        s->ops->suffer(s->arg, &s->fault, &s->hosts, p.progress || !s->uses_library);
    const char *no = why_not(s, now);
    if (!no && v.answer == SAIKAI_ANSWER_MIGRATION && sk_supervisor_move(s, &v, then, sizeof then))
        no = "no host is left";
    sk_supervisor_record(s, &s->fault, &v, no, then);
    if (!planned)
        sk_assess_remember(s->assessor, &s->fault, s->since);
    if (no) {
        sk_say(s, SK_LOG_ERROR, "the job is given up: %s", no);
        end(s, exit_code_of(s));
        return;
    }
    double wait = backoff(s);
    remember(s, &p);
    s->restarts++;
    s->incarnation += 1 + (s->place ? sk_in_place_count(s->place) : 0); /* each repair counts as a start where starts are told apart */
    say_restart(s, &p, wait);
    s->state = WAITING;
    s->since = now;
    s->restart_at = now + wait;
    if (!(wait > 0))
        sk_supervisor_start(s, now);
}

static void tick_clearing(struct sk_supervisor *s, double now)
{
    int owed = n_owed(s, now);
    if (owed && s->c.grace_s > 0 && now - s->since > s->c.grace_s) {
        sk_say(s, SK_LOG_WARN, "%s did not report the end within %g s; going on without", sk_counted((unsigned)owed, "rank(s)"),
            s->c.grace_s);
        owed = 0;
    }
    if (!owed) {
        decide(s, now);
    } else if (now >= s->repeat) {
        sk_supervisor_send_to_all(s, SK_MSG_KILL, 0);
        s->repeat = now + fmax(repeat_s, repeat_rank_s * s->c.detector.n_ranks);
    }
}

/* ---- running ---- */

static int any_runs(const struct sk_supervisor *s)
{
    for (int r = 0; r < s->c.detector.n_ranks; r++)
        if (sk_detector_rank_runs(s->detector, r) == 1)
            return 1;
    return 0;
}

/* The program runs, but somebody wants it to end. */
static void tick_stopping(struct sk_supervisor *s, double now)
{
    struct sk_fault f = {&sk_fault_signal, -1, -1, s->stop_signal, 0, NULL};
    if (sk_detector_all_stopped(s->detector)) {
        if (!s->stop_signal) /* it came to the ranks by another way */
            s->stop_signal = f.code = SIGTERM;
        sk_say(s, SK_LOG_NOTICE, "all is saved: the job ends, as SIG%s asked for", sigabbrev_np(s->stop_signal));
        sk_supervisor_clear(s, &f, now);
    } else if (s->stop_signal && s->kill_at > 0 && now >= s->kill_at) {
        sk_say(s, SK_LOG_WARN, s->saves ? "the program did not save itself within %g s: it is killed (schedule.stop_grace)"
                                     : "the program did not end within %g s after the signal: it is killed",
            s->saves ? s->c.stop_grace_s : s->c.grace_s);
        sk_supervisor_clear(s, &f, now);
    }
}

/* 1: the silence counts as the network's, and the job goes on. */
static int is_ignored(struct sk_supervisor *s, const struct sk_fault *f, double now)
{
    if (s->stop_signal || !sk_fault_means(f, SK_FAULT_SILENCE))
        return 0;
    struct sk_verdict v = sk_supervisor_assess(s, f, 0, (struct sk_means){0}, now);
    if (v.answer != SAIKAI_ANSWER_IGNORE)
        return 0;
    if (!s->ignoring)
        sk_supervisor_record(s, f, &v, NULL, v.said);
    s->ignoring = 1;
    return 1;
}

/* The job runs, as far as is known: say what is new of it, and what to do when the detector says otherwise. */
static void tick_running(struct sk_supervisor *s, double now)
{
    struct sk_fault f;
    char text[256];
    struct sk_progress p = sk_detector_progress(s->detector);
    probe_once(s);
    note_progress(s, &p, now);
    if (!(s->running > 0) && any_runs(s))
        s->running = now;
    if (!s->resumed_said && p.restored_iteration >= 0 && s->incarnation) {
        sk_say(s, SK_LOG_INFO, "resumed at iteration %lld", (long long)p.restored_iteration);
        s->resumed_said = 1;
    }
    if (!s->candidate_said && p.state == SK_KEEPER_INITIALISED && p.progress) {
        sk_say(s, SK_LOG_INFO, "the program reached its first candidate");
        s->candidate_said = 1;
    }
    if (sk_supervisor_tick_repair(s, now) || sk_supervisor_tick_transfer(s, now) || sk_supervisor_tick_compare(s, now))
        return;
    switch (sk_detector_check(s->detector, now, &f)) {
    case SK_JOB_RUNS:
        if (s->ignoring)
            sk_say(s, SK_LOG_NOTICE, "all ranks are heard again");
        s->ignoring = 0;
        tick_stopping(s, now);
        if (s->state == RUNNING)
            sk_supervisor_tick_missed(s, now);
        if (s->state == RUNNING)
            sk_supervisor_tick_renew(s, now);
        return;
    case SK_JOB_DONE:
        if (s->stop_signal)
            say_how_to_go_on(s);
        s->ops->abandon(s->arg, s->incarnation, 0);
        end(s, 0);
        return;
    case SK_JOB_STUCK_AT_END:
        sk_say(s, SK_LOG_WARN,
            "all ranks have finished their work but do not end: they are killed "
            "(run.finish_timeout)");
        sk_supervisor_send_to_all(s, SK_MSG_KILL, 0);
        s->ops->abandon(s->arg, s->incarnation, 1);
        end(s, 0);
        return;
    case SK_JOB_FAULT:
        break;
    }
    if (s->stop_signal && s->kill_at > 0 && now < s->kill_at && any_runs(s))
        return; /* the others are still ending by themselves, in the time they have */
    if (is_ignored(s, &f, now))
        return;
    if (sk_supervisor_transfer(s, &f, now))
        return;
    if (sk_supervisor_repair(s, &f, now)) {
        sk_supervisor_tick_repair(s, now);
        return;
    }
    sk_fault_describe(&f, &s->hosts, s->c.program, text, sizeof text);
    if (!s->stop_signal)
        sk_say(s, SK_LOG_INFO, "%s", text); /* with the model and the answer: when all ranks are gone */
    sk_supervisor_clear(s, &f, now);
    tick_clearing(s, now);
}

void sk_supervisor_tick(struct sk_supervisor *s, double now)
{
    switch (s->state) {
    case RUNNING:
        tick_running(s, now);
        break;
    case CLEARING:
        sk_detector_time(s->detector, now);
        tick_clearing(s, now);
        break;
    case WAITING:
        if (s->stop_signal)
            end(s, 128 + s->stop_signal);
        else if (now >= s->restart_at)
            sk_supervisor_start(s, now);
        break;
    case ENDED:
        break;
    }
}

double sk_supervisor_next(const struct sk_supervisor *s, double now)
{
    switch (s->state) {
    case RUNNING: {
        double next = sk_detector_next(s->detector, now);
        if (s->ignoring) /* what is ignored is found again at each look */
            next = fmax(next, now + repeat_s);
        if (s->place && sk_in_place_under_way(s->place))
            next = fmin(next, s->order_at);
        if (s->transfers.order_at > 0)
            next = fmin(next, s->transfers.order_at);
        if (s->place_until > 0)
            next = fmin(next, now + repeat_s / 2);
        return s->kill_at > 0 ? fmin(next, s->kill_at) : next;
    }
    case CLEARING:
        return s->repeat;
    case WAITING:
        return s->restart_at;
    case ENDED:
        break;
    }
    return now;
}

void sk_supervisor_launcher_ended(struct sk_supervisor *s, uint32_t incarnation, int wait_status,
                                  double now)
{
    if (incarnation == s->incarnation && s->detector && s->state != ENDED)
        sk_detector_launcher_ended(s->detector, wait_status, now);
}

/* A signal that is to end the job: what it says to the ranks depends on whether there is anything to save. */
static void begin_to_stop(struct sk_supervisor *s, int number, double now)
{
    uint32_t bits = SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP | SK_REQUEST_END;
    if (s->saves)
        sk_supervisor_send_to_all(s, SK_MSG_REQUEST, bits | (uint32_t)number << SK_REQUEST_SIGNAL);
    else if (s->state == RUNNING)
        sk_supervisor_send_to_all(s, SK_MSG_SIGNAL, (uint32_t)number);
    s->stop_signal = number;
    s->stop_at = now;
    double limit = s->saves ? s->c.stop_grace_s : s->c.grace_s;
    s->kill_at = limit > 0 ? now + limit : 0;
    if (s->saves && limit > 0)
        sk_say(s, SK_LOG_NOTICE, "SIG%s: the job is saved and ended, within %g s; a second signal ends it at once",
            sigabbrev_np(number), limit);
    else if (s->saves)
        sk_say(s, SK_LOG_NOTICE, "SIG%s: the job is saved and ended; a second signal ends it at once", sigabbrev_np(number));
}

void sk_supervisor_signal(struct sk_supervisor *s, int number, int checkpoint, int stop,
                          double now)
{
    int ends = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
    if (s->state == ENDED)
        return;
    struct sk_progress p = sk_detector_progress(s->detector);
    int library = s->state == RUNNING && p.state == SK_KEEPER_INITIALISED;
    if (checkpoint && s->c.copies)
        sk_say(s, SK_LOG_NOTICE, "SIG%s: nothing is saved where each rank is two processes (run.protocol); it is passed on to the program", sigabbrev_np(number));
    if (ends && s->stop_signal) {
        if (s->state == RUNNING && now - s->stop_at > echo_s)
            sk_supervisor_clear(s, &(struct sk_fault){&sk_fault_signal, -1, -1, s->stop_signal, 0, NULL}, now);
    } else if (ends) {
        s->saves = stop && library && p.progress;
        begin_to_stop(s, number, now);
    } else if (stop && library) {
        sk_supervisor_send_to_all(s, SK_MSG_REQUEST, SK_REQUEST_CHECKPOINT | SK_REQUEST_STOP);
    } else if (checkpoint && library) {
        sk_supervisor_send_to_all(s, SK_MSG_REQUEST, SK_REQUEST_CHECKPOINT);
    } else if (s->state == RUNNING && (!checkpoint || !s->uses_library)) {
        sk_supervisor_send_to_all(s, SK_MSG_SIGNAL, (uint32_t)number);
    }
}

int sk_supervisor_ended(const struct sk_supervisor *s, int *exit_code)
{
    if (s->state != ENDED)
        return 0;
    *exit_code = s->exit_code;
    return 1;
}

uint32_t sk_supervisor_incarnation(const struct sk_supervisor *s)
{
    return s->incarnation;
}

int sk_supervisor_last_end(const struct sk_supervisor *s)
{
    if (!s || !s->incarnation)
        return SK_LAST_END_UNKNOWN;
    return sk_fault_last_end(&s->fault);
}

int sk_supervisor_warm(const struct sk_supervisor *s)
{
    return s->c.warm;
}
