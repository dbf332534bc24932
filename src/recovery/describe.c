/* Composes the sentences about a fault and about the way back to the last generation. */
#include "recovery/describe.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void sk_fault_describe(const struct sk_fault *f, const struct sk_hosts *h, const char *program, char *out, size_t cap)
{
    char who[300] = "the job";
    const char *host = f->host >= 0 && f->host < h->n ? h->host[f->host].name : "?";
    if (f->rank >= 0)
        snprintf(who, sizeof who, "rank %d on %s", f->rank, host);
    switch (f->kind) {
    case SK_FAULT_SIGNAL:
        snprintf(out, cap, "%s was killed by signal %d (%s)", who, f->code, strsignal(f->code));
        break;
    case SK_FAULT_EXIT:
        snprintf(out, cap, "%s exited with code %d", who, f->code);
        break;
    case SK_FAULT_NO_START:
        snprintf(out, cap, "%s: %.200s cannot be executed: %s", who, program ? program : "the program",
                 strerror(f->code));
        break;
    case SK_FAULT_RANK_SILENT:
        snprintf(out, cap, "the keeper of %s has been silent for %.1f s", who, f->seconds);
        break;
    case SK_FAULT_NODE_LOST:
        snprintf(out, cap, "host %s has been silent for %.1f s and counts as lost", host,
                 f->seconds);
        break;
    case SK_FAULT_HANG:
        snprintf(out, cap,
                 "no rank has reached another candidate for %.1f s: the job hangs (run.hang_timeout)",
                 f->seconds);
        break;
    case SK_FAULT_SETUP:
        snprintf(out, cap, "no rank has reached a first candidate within %.1f s of the start (run.setup_timeout)",
                 f->seconds);
        break;
    case SK_FAULT_LATE:
        snprintf(out, cap, "%s was not heard within %.1f s of the start (run.start_timeout)", who,
                 f->seconds);
        break;
    case SK_FAULT_LAUNCHER:
        if (WIFSIGNALED(f->code))
            snprintf(out, cap, "the MPI launcher was killed by signal %d", WTERMSIG(f->code));
        else
            snprintf(out, cap, "the MPI launcher ended with code %d before the ranks did",
                     WEXITSTATUS(f->code));
        break;
    case SK_FAULT_NONE:
        snprintf(out, cap, "no fault");
        break;
    }
}

void sk_way_back_describe(const struct sk_way_back *w, char *out, size_t cap)
{
    if (!w->uses_library)
        snprintf(out, cap, "from whatever the program itself has kept (it did not use Saikai)");
    else if (w->iteration < 0)
        snprintf(out, cap, "from the newest generation, if there is one");
    else if (w->again < 0)
        snprintf(out, cap, "from iteration %lld or the newest generation that is whole", (long long)w->iteration);
    else
        snprintf(out, cap,
                 "from iteration %lld or the newest generation that is whole (%lld iterations, %.1f s, are computed again)",
                 (long long)w->iteration, (long long)w->again, w->seconds);
}
