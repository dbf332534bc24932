/* The group of all processes that an MPI launcher started, for tools that are not linked with any
 * MPI. */
#ifndef SK_CLI_MPI_GROUP_H
#define SK_CLI_MPI_GROUP_H

#include "group/group.h"

struct cli_mpi {
    struct sk_group *group;
    void *plugin;
};

/* Collective over the started processes: find out whose launcher it was (by its environment
 * variables), load saikai_group_<mpi>.so from beside the program or from its installed place, start
 * MPI. SAIKAI_EMPI, with what to do, when there was no launcher, or no plug-in for it. */
int cli_mpi_start(struct cli_mpi *m, struct saikai_error *err);
/* 1: a launcher started this process and others with it. */
int cli_mpi_started(void);
/* This process's number among them, as its launcher says; 0 without one. */
int cli_mpi_rank(void);
/* Collective. A zeroed struct is accepted. */
void cli_mpi_stop(struct cli_mpi *m);

#endif
