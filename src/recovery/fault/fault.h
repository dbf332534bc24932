/* Kinds of faults: one table of functions each. A fault is what a detector found; what it is called in a sentence, what it means for
 * hosts, ranks and exit code, and whether a restart may help is said by its kind. */
#ifndef SK_RECOVERY_FAULT_H
#define SK_RECOVERY_FAULT_H

#include "base/config/kind.h"
#include "recovery/hosts.h"

enum {
    SK_RUN_FAILED = 125,
    SK_RUN_NO_PROGRAM = 126, /* it cannot be executed */
    SK_RUN_NOT_FOUND = 127,
    SK_RUN_REFUSED = 75, /* as SAIKAI_EXIT_REFUSED */
};

struct sk_differ;

struct sk_fault {
    const struct sk_fault_ops *kind; /* NULL: none */
    int rank, host;                  /* -1: does not apply */
    int code;
    double seconds; /* silence, standstill, or time since the start */
    const struct sk_differ *differ; /* of a difference: which message */
};

/* What else a sentence needs. */
struct sk_fault_words {
    const char *who;     /* "rank 2 on n3", "the job" */
    const char *host;    /* "?": not known */
    const char *program; /* what was to be executed, as it was typed */
};

struct sk_fault_ops {
    const char *name, *description;
    unsigned means; /* SK_FAULT_… bits */
    void (*describe)(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap);
    /* Exit code of `saikai run` when the job is given up for it; started: any rank had begun. NULL: SK_RUN_FAILED. */
    int (*exit_code)(const struct sk_fault *f, int started);
    /* What the next start hears of it: enum sk_last_end (backbone/keeper_page.h). NULL: it came from outside. */
    int (*last_end)(const struct sk_fault *f);
    /* Why another start would end as this one did, NULL: it may do better. ever: any rank of any start had begun. The function may
     * be NULL. */
    const char *(*hopeless)(const struct sk_fault *f, int ever);
};

enum {
    SK_FAULT_TAKES_HOST = 1,     /* its host is not used any more … */
    SK_FAULT_ENDS_HOST = 2,      /* … and nobody there will report an end */
    SK_FAULT_NOBODY_COMES = 4,   /* ranks that were not heard so far are not waited for */
    SK_FAULT_OF_PROCESS = 16,    /* a process died or does not get on; its host, if known, is not lost by that */
    SK_FAULT_SILENCE = 32,       /* nobody is known to have died: it may be the network */
    SK_FAULT_PLANNED = 64,       /* nothing has failed: the job is started again since that is better for it */
    SK_FAULT_PROGRAMS_CODE = 8,  /* the exit code is the program's own word, before all that is made of other things */
};

extern const struct sk_kind sk_fault_kind;
extern const struct sk_fault_ops sk_fault_signal,    /* rank was killed by signal code */
    sk_fault_exit,                                   /* rank exited with code, which is not 0 */
    sk_fault_no_start,                               /* rank's program could not be executed: errno code */
    sk_fault_unended,                                /* rank exited with 0 between MPI_Init and MPI_Finalize */
    sk_fault_silent_rank,                            /* rank's keeper is silent, other keepers of its host are not */
    sk_fault_lost_node,                              /* all keepers of host are silent */
    sk_fault_hang,                                   /* no rank has reached another candidate for seconds */
    sk_fault_long_setup,                             /* no rank has reached a first candidate for seconds since the start */
    sk_fault_late_start,                             /* rank has not said hello for seconds since the start */
    sk_fault_missed,                                 /* a spare died in MPI's beginning by signal code, exited with -code, or its keeper is silent for seconds */
    sk_fault_launcher,                               /* the MPI's launcher ended (wait status code) and left ranks owed */
    sk_fault_slower,                                 /* since a repair in place, code percent of the time are lost, seconds in all */
    sk_fault_difference;                             /* the two processes of rank sent different messages; code 1: that ends the job */

/* "rank 2 on n3 was killed by signal 9 (Killed)". program: as typed; NULL: not known. */
void sk_fault_describe(const struct sk_fault *f, const struct sk_hosts *h, const char *program, char *out, size_t cap);
int sk_fault_exit_code(const struct sk_fault *f, int started);
int sk_fault_last_end(const struct sk_fault *f);
/* 1: nothing says that the program did it (killed from outside, silent): that it came again may be chance. */
int sk_fault_may_be_chance(const struct sk_fault *f);
const char *sk_fault_hopeless(const struct sk_fault *f, int ever);
/* 1: all of these bits. */
int sk_fault_means(const struct sk_fault *f, unsigned bits);

#endif
