/* The kinds of faults and their table. */
#include "recovery/fault/fault.h"

#include "backbone/keeper_page.h"
#include "backbone/message.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* ---- a rank's program ended ---- */

static void describe_signal(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    snprintf(out, cap, "%s was killed by signal %d (%s)", w->who, f->code, strsignal(f->code));
}

static int code_of_signal(const struct sk_fault *f, int started)
{
    (void)started;
    return 128 + f->code;
}

static int end_by_signal(const struct sk_fault *f)
{
    static const int from_outside[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
    if (f->code == SIGKILL) /* out of memory, or somebody's hand */
        return SK_LAST_END_UNKNOWN;
    for (size_t i = 0; i < sizeof from_outside / sizeof *from_outside; i++)
        if (f->code == from_outside[i])
            return SK_LAST_END_FROM_OUTSIDE;
    return SK_LAST_END_BY_ITSELF;
}

const struct sk_fault_ops sk_fault_signal = {
    "signal", "a rank was killed by a signal", SK_FAULT_OF_PROCESS, describe_signal, code_of_signal, end_by_signal, NULL,
};

static void describe_exit(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    snprintf(out, cap, "%s exited with code %d", w->who, f->code);
}

static int code_of_exit(const struct sk_fault *f, int started)
{
    (void)started;
    return f->code;
}

static int by_itself(const struct sk_fault *f)
{
    (void)f;
    return SK_LAST_END_BY_ITSELF;
}

const struct sk_fault_ops sk_fault_exit = {
    "exit-code", "a rank's program ended with a code that is not 0", SK_FAULT_PROGRAMS_CODE | SK_FAULT_OF_PROCESS, describe_exit, code_of_exit,
    by_itself,   NULL,
};

static void describe_no_start(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    if (f->code == SK_EXIT_BARE) {
        snprintf(out, cap, "%s: the program came to MPI without libsaikai-world, which LD_PRELOAD names, and would have run with twins or spares as further "
                           "ranks (run.warm=0: no spares): a script took the variable away, or the file is not seen there (a container)", w->who);
        return;
    }
    snprintf(out, cap, "%s: %.200s cannot be executed: %s", w->who, w->program, strerror(f->code));
}

static int code_of_no_start(const struct sk_fault *f, int started)
{
    (void)started;
    return f->code == ENOENT ? SK_RUN_NOT_FOUND : SK_RUN_NO_PROGRAM;
}

static const char *always_hopeless(const struct sk_fault *f, int ever)
{
    (void)f;
    (void)ever;
    return "it would fail again";
}

const struct sk_fault_ops sk_fault_no_start = {
    "no-start", "a rank's program cannot be executed", SK_FAULT_OF_PROCESS, describe_no_start, code_of_no_start, NULL, always_hopeless,
};

static void describe_unended(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    (void)f;
    snprintf(out, cap, "%s exited with code 0 before MPI_Finalize: its program died in a script that hides that, or ended too early", w->who);
}

const struct sk_fault_ops sk_fault_unended = {
    "unended", "a rank's program ended with 0 and without MPI_Finalize", SK_FAULT_OF_PROCESS, describe_unended, NULL, by_itself, NULL,
};

/* ---- silence ---- */

static void describe_silent_rank(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    snprintf(out, cap, "the keeper of %s has been silent for %.1f s", w->who, f->seconds);
}

const struct sk_fault_ops sk_fault_silent_rank = {
    "silent-rank", "a rank's keeper is silent, others of its host are not", SK_FAULT_OF_PROCESS | SK_FAULT_SILENCE, describe_silent_rank, NULL, NULL, NULL,
};

static void describe_lost_node(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    snprintf(out, cap, "host %s has been silent for %.1f s and counts as lost", w->host, f->seconds);
}

const struct sk_fault_ops sk_fault_lost_node = {
    "lost-node", "all keepers of a host are silent (run.node_timeout)", SK_FAULT_TAKES_HOST | SK_FAULT_ENDS_HOST | SK_FAULT_SILENCE,
    describe_lost_node, NULL, NULL, NULL,
};

/* ---- nothing moves ---- */

static void describe_hang(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    (void)w;
    snprintf(out, cap, "no rank has reached another candidate for %.1f s: the job hangs (run.hang_timeout)", f->seconds);
}

const struct sk_fault_ops sk_fault_hang = {
    "hang", "no rank reaches another candidate (run.hang_timeout)", SK_FAULT_OF_PROCESS, describe_hang, NULL, by_itself, NULL,
};

static void describe_long_setup(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    (void)w;
    snprintf(out, cap, "no rank has reached a first candidate within %.1f s of the start (run.setup_timeout)", f->seconds);
}

const struct sk_fault_ops sk_fault_long_setup = {
    "long-setup", "no rank reaches a first candidate (run.setup_timeout)", SK_FAULT_OF_PROCESS, describe_long_setup, NULL, NULL, NULL,
};

static void describe_late_start(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    snprintf(out, cap, "%s was not heard within %.1f s of the start (run.start_timeout)", w->who, f->seconds);
}

const struct sk_fault_ops sk_fault_late_start = {
    "late-start", "a rank is not heard after the start (run.start_timeout)", SK_FAULT_TAKES_HOST | SK_FAULT_NOBODY_COMES,
    describe_late_start, NULL, NULL, NULL,
};

/* ---- a process beyond the ranks ---- */

static void describe_missed(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    char how[96];
    (void)w;
    if (f->seconds > 0) {
        snprintf(out, cap, "the keeper of a warm spare has been silent for %.1f s while its process is in MPI_Init, where all ranks wait for it: there is none from now "
                           "on (run.warm)", f->seconds);
        return;
    }
    if (f->code > 0)
        snprintf(how, sizeof how, "was killed by signal %d (%s)", f->code, strsignal(f->code));
    else
        snprintf(how, sizeof how, "exited with code %d", -f->code);
    snprintf(out, cap, "a warm spare %s in MPI_Init, where all ranks wait for it: there is none from now on (run.warm)", how);
}

const struct sk_fault_ops sk_fault_missed = {
    "missed-spare", "a warm spare ends in MPI_Init, where the ranks wait for it (run.warm)", SK_FAULT_OF_PROCESS, describe_missed, NULL, NULL, NULL,
};

/* ---- the MPI's launcher ---- */

static void describe_launcher(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    (void)w;
    if (WIFSIGNALED(f->code))
        snprintf(out, cap, "the MPI launcher was killed by signal %d", WTERMSIG(f->code));
    else
        snprintf(out, cap, "the MPI launcher ended with code %d before the ranks did", WEXITSTATUS(f->code));
}

/* MPI_Abort of MPICH kills the keepers before they can report: the launcher has the code. */
static int code_of_launcher(const struct sk_fault *f, int started)
{
    return started && WIFEXITED(f->code) && WEXITSTATUS(f->code) ? WEXITSTATUS(f->code) : SK_RUN_FAILED;
}

/* The program called MPI_Abort, or somebody ended the launcher. */
static int unknown(const struct sk_fault *f)
{
    (void)f;
    return SK_LAST_END_UNKNOWN;
}

static const char *hopeless_at_first(const struct sk_fault *f, int ever)
{
    (void)f;
    return ever ? NULL : "it could not be started at all";
}

const struct sk_fault_ops sk_fault_launcher = {
    "launcher-end", "the MPI's launcher ends and leaves ranks behind", SK_FAULT_NOBODY_COMES | SK_FAULT_OF_PROCESS, describe_launcher,
    code_of_launcher, unknown, hopeless_at_first,
};

/* ---- a repair was not good enough ---- */

static void describe_slower(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    snprintf(out, cap, "%s is slower since a repair in place, and has lost %.1f s by that (%d %% of its time)", w->who, f->seconds, f->code);
}

const struct sk_fault_ops sk_fault_slower = {
    "slower", "nothing fails: after a repair in place a restart costs less than going on (run.restart_slower)", SK_FAULT_PLANNED, describe_slower, NULL, NULL, NULL,
};

/* ---- two processes that are to do the same do not ---- */

static void describe_difference(const struct sk_fault *f, const struct sk_fault_words *w, char *out, size_t cap)
{
    const struct sk_differ *d = f->differ;
    char which[96], when[48] = "";
    if (d->how & SK_DIFFER_COLLECTIVE)
        snprintf(which, sizeof which, "message %llu of collective operations to rank %d", (unsigned long long)d->number + 1, d->to);
    else
        snprintf(which, sizeof which, "message %llu to rank %d with tag %d", (unsigned long long)d->number + 1, d->to, d->tag);
    if (d->iteration >= 0)
        snprintf(when, sizeof when, " at iteration %lld", (long long)d->iteration);
    if (d->how & SK_DIFFER_MISSING)
        snprintf(out, cap, "one of the two processes of %s did not send %s%s", w->who, which, when);
    else
        snprintf(out, cap, "the two processes of %s sent different data in %s%s: silent data corruption, or a program that does not do the same twice",
                 w->who, which, when);
}

static const char *hopeless_if_wanted(const struct sk_fault *f, int ever)
{
    (void)ever;
    return f->code ? "its two processes of a rank differ (run.compare=give-up)" : NULL;
}

const struct sk_fault_ops sk_fault_difference = {
    "difference", "the two processes of a rank sent different messages (run.compare)", 0, describe_difference, NULL, by_itself, hopeless_if_wanted,
};

/* ---- all of them ---- */

static const struct sk_fault_ops *const forms[] = {
    &sk_fault_signal, &sk_fault_exit, &sk_fault_no_start, &sk_fault_unended, &sk_fault_silent_rank, &sk_fault_lost_node,
    &sk_fault_hang, &sk_fault_long_setup, &sk_fault_late_start, &sk_fault_missed, &sk_fault_launcher,
    &sk_fault_slower, &sk_fault_difference,
};

static const struct sk_fault_ops *form_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

SK_KIND(sk_fault_kind, "fault", "kind of fault", struct sk_fault_ops, form_at, description);

void sk_fault_describe(const struct sk_fault *f, const struct sk_hosts *h, const char *program, char *out, size_t cap)
{
    char who[300] = "the job";
    struct sk_fault_words w = {who, f->host >= 0 && f->host < h->n ? h->host[f->host].name : "?",
                               program ? program : "the program"};
    if (f->rank >= 0)
        snprintf(who, sizeof who, "rank %d on %s", f->rank, w.host);
    if (f->kind)
        f->kind->describe(f, &w, out, cap);
    else
        snprintf(out, cap, "no fault");
}

int sk_fault_exit_code(const struct sk_fault *f, int started)
{
    return f->kind && f->kind->exit_code ? f->kind->exit_code(f, started) : SK_RUN_FAILED;
}

int sk_fault_last_end(const struct sk_fault *f)
{
    return f->kind && f->kind->last_end ? f->kind->last_end(f) : SK_LAST_END_FROM_OUTSIDE;
}

int sk_fault_may_be_chance(const struct sk_fault *f)
{
    return sk_fault_means(f, SK_FAULT_SILENCE) || (f->kind == &sk_fault_signal && end_by_signal(f) != SK_LAST_END_BY_ITSELF);
}

const char *sk_fault_hopeless(const struct sk_fault *f, int ever)
{
    return f->kind && f->kind->hopeless ? f->kind->hopeless(f, ever) : NULL;
}

int sk_fault_means(const struct sk_fault *f, unsigned bits)
{
    return f->kind && (f->kind->means & bits) == bits;
}
