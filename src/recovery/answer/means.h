/* What a job brings to be repaired without a restart, as its configuration asks for it and its MPI and hosts allow it: the layer between program and MPI, the
 * parallel protocol, twins, warm spares. What cannot be had is said in one line, and the job goes on without it. */
#ifndef SK_RECOVERY_MEANS_H
#define SK_RECOVERY_MEANS_H

#include "base/config/config.h"
#include "recovery/launch/command.h"
#include "recovery/launch/launcher.h"
#include "recovery/launch/program.h"
#include "recovery/supervisor.h"
#include "world/protocol/protocol.h"

#include <limits.h>

/* All zero: nothing yet. */
struct sk_recovery_means {
    const struct sk_protocol_ops *protocol;
    int compare;             /* enum sk_compare */
    struct sk_copies copies; /* which ranks are two processes; 0 ranks: none are */
    char world[PATH_MAX];    /* the layer; "": every fault is a restart */
    char hooks[PATH_MAX];    /* the library that calls the hooks of the protocol, "": it has none */
    int in_place;            /* the answer in-place is asked for */
    int warm;                /* processes beyond the ranks */
    int notices;             /* the MPI hears of deaths, and ends what waits for the dead */
};

/* What the job is to be started by. */
struct sk_recovery_for {
    const struct sk_launcher_ops *form;
    const char *launcher, *keeper; /* paths */
    int ranks, has_hosts;
    enum sk_mpi mpi; /* that the program is linked with, as far as is seen */
};

/* First protocol and layer, which hosts are not needed for (has_hosts is not looked at); then twins and spares. SAIKAI_ECONFIG and others: what is
 * asked for is nonsense; m is to be freed in any case. */
int sk_means_find(struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f, struct saikai_error *err);
int sk_means_count(struct sk_recovery_means *m, const struct sk_config *config, const struct sk_recovery_for *f, struct saikai_error *err);
void sk_means_free(struct sk_recovery_means *m);

/* Seats for twins, on other hosts than their leads; what seats there are stay where there are no twins. */
int sk_means_place(const struct sk_recovery_means *m, const struct sk_hosts *h, int has_hosts, int *seat, struct saikai_error *err);
/* Into the environment of the ranks. processes: that a start begins with, without spares. */
void sk_means_export(const struct sk_recovery_means *m, const struct sk_config *config, int processes, int has_hosts, struct sk_command *c);
/* Into what the supervisor decides by; m must outlive it. */
void sk_means_tell(const struct sk_recovery_means *m, struct sk_supervisor_config *sc);
/* A line that says on which hosts spares wait, if there are any. */
void sk_means_say_where_spares_wait(const struct sk_recovery_means *m, const struct sk_hosts *h, const int *seat, int processes);

#endif
