/* What happens next with a job: a state machine without processes or sockets of its own, so that a
 * test can play the world with a clock it sets itself.
 *
 *   RUNNING ─fault─▶ CLEARING (every keeper ordered to kill, until all are gone or lost)
 *      ▲                 │
 *      └── start ◀── WAITING (back-off) ◀─┤ restart, lost hosts replaced
 *                                         └▶ ENDED (given up, or the user ended it)
 *   RUNNING ─fault that is repaired in place─▶ RUNNING, until all ranks are back or a limit is over; then CLEARING
 *   RUNNING ─all ranks exited with 0─▶ ENDED */
#ifndef SK_RECOVERY_SUPERVISOR_H
#define SK_RECOVERY_SUPERVISOR_H

#include "recovery/fault/assess.h"
#include "recovery/fault/detector.h"
#include "recovery/history/history.h"
#include "recovery/hosts.h"
#include "recovery/repair/rank_copies.h"
#include "recovery/repair/in_place.h"

struct sk_supervisor_config {
    struct sk_detector_config detector; /* n_hosts is taken from the hosts */
    struct sk_assess_config assess;     /* what a fault is taken for */
    int retries;                        /* most restarts */
    int no_progress;  /* faults of the program in a row without progress after which the job is given up, twice as many where some came from outside; 0: never */
    double short_life_s; /* a program without the library that dies sooner has made no progress */
    double backoff_s; /* before the second restart without progress; doubled each time; 0: 1 s */
    double grace_s;   /* between a signal that ends the job, or a kill, and the next harder step; 0:
                         for ever */
    double stop_grace_s; /* the same where the program is to save itself first; 0: for ever */
    const struct sk_copies *copies; /* ranks that are two processes, whose number is n_ranks of the detector's, for as long as the supervisor lives; NULL: all are one */
    int compare;      /* enum sk_compare: what is done when the messages of two processes of a rank differ */
    int mpi_notices;  /* survivors of a death need their MPI to notice it before a recovery in place can go on */
    int hides_deaths; /* … or must not, as the twins of the dead go on in the world that there is */
    int renews;       /* where a repair in place has made it slower, it is started again when that costs less */
    int warm;         /* processes beyond the ranks, which wait to take the place of dead ones */
    double repair_s;  /* most time for a recovery in place, and for MPI's end after a death; 0: there is none */
    double deadline;  /* no restart after this time; 0: none */
    const char *command; /* what to type to go on; NULL: not known */
    int then;            /* starts after the first execute another command */
    const char *program; /* what every start executes; NULL: not known, or not always the same */
};

/* The world, as the supervisor acts on it. */
struct sk_supervisor_ops {
    /* Start the job's launcher; past: what went before. 0 or an error that ends the job. */
    int (*start)(void *arg, uint32_t incarnation, const struct sk_past *past,
                 const struct sk_hosts *h, const int *seat, struct saikai_error *err);
    /* The launcher of this incarnation is of no more use: end it behind the scenes. urgent: it has
     * nothing to flush. */
    void (*abandon)(void *arg, uint32_t incarnation, int urgent);
    void (*send)(void *arg, const struct sk_message *m);
    /* answers[i] = 1 for each host that is there; NULL: hosts cannot be asked. */
    void (*probe)(void *arg, char *answers);
    void (*say)(void *arg, int level, const char *line); /* level of base/log.h */
    /* A fault and what was done about it, to be kept; time and command are filled in by the callee. NULL: not kept. */
    void (*record)(void *arg, struct sk_event *e);
    /* A start ended with this fault, which nobody asked for. counts: it had done something that a checkpoint keeps. May be NULL. */
    void (*suffer)(void *arg, const struct sk_fault *f, const struct sk_hosts *h, int counts);
    /* Keepers will report as the order to repair says, in this incarnation: let them in. NULL: nothing is repaired. */
    int (*admit)(void *arg, uint32_t incarnation, const struct sk_message *order, struct saikai_error *err);
    /* 1: nobody reads what the job prints, and whoever prints dies of that. NULL: somebody does. */
    int (*unread)(void *arg);
};

struct sk_supervisor;

/* hosts and seat are the supervisor's from now on (hosts: content moved, seat: allocated by
 * malloc), freed with it, also on failure. NULL: out of memory. */
struct sk_supervisor *sk_supervisor_new(const struct sk_supervisor_config *c,
                                        const struct sk_supervisor_ops *ops, void *arg,
                                        struct sk_hosts *hosts, int *seat);
void sk_supervisor_free(struct sk_supervisor *s); /* NULL is accepted */

void sk_supervisor_start(struct sk_supervisor *s, double now);
/* A message from a keeper, of this or an earlier incarnation. */
void sk_supervisor_heard(struct sk_supervisor *s, const struct sk_message *m, double now);
/* What this process did not listen in since it was told the last time, in seconds, and how seldom keepers may speak from now on: see
 * sk_detector_deaf and sk_detector_slower. */
void sk_supervisor_deaf(struct sk_supervisor *s, double seconds);
void sk_supervisor_slower(struct sk_supervisor *s, int pace);
void sk_supervisor_launcher_ended(struct sk_supervisor *s, uint32_t incarnation, int wait_status,
                                  double now);
/* The user's signal: passed to the ranks. SIGINT, SIGTERM, SIGHUP and SIGQUIT also end the job: no
 * restart any more, the program has the grace time, and a second one kills at once. Where the library
 * is used, checkpoint makes it a request for a checkpoint, and stop one to save all and to stop then. */
void sk_supervisor_signal(struct sk_supervisor *s, int number, int checkpoint, int stop,
                          double now);
/* Let time pass: checks, repeats orders, restarts. */
void sk_supervisor_tick(struct sk_supervisor *s, double now);
/* When to tick again if nothing happens. */
double sk_supervisor_next(const struct sk_supervisor *s, double now);
/* 1 when the job is over; then *exit_code is that of `saikai run`. */
int sk_supervisor_ended(const struct sk_supervisor *s, int *exit_code);
/* How the start before this one ended: enum sk_last_end (backbone/keeper_page.h). */
int sk_supervisor_last_end(const struct sk_supervisor *s);
/* How many processes beyond the ranks the next start is to have: as many as were asked for, unless one of them was in the way. */
int sk_supervisor_warm(const struct sk_supervisor *s);
uint32_t sk_supervisor_incarnation(const struct sk_supervisor *s);

#endif
