/* The MPI's own launchers: one table of functions, one file per form (openmpi.c, mpich.c, srun.c).
 */
#ifndef SK_RECOVERY_LAUNCHER_H
#define SK_RECOVERY_LAUNCHER_H

#include "base/error.h"
#include "base/config/kind.h"
#include "recovery/hosts.h"
#include "recovery/launch/command.h"
#include "recovery/launch/program.h"

/* What is to be started. */
struct sk_launch {
    int n_ranks;
    char *const *program;         /* argv of the application, ends with NULL */
    const char *keeper;           /* path of saikaid, the same on all hosts */
    const char *launcher;         /* path of mpirun, mpiexec or srun */
    const struct sk_hosts *hosts; /* NULL: this host alone, nothing was said about hosts */
    const int *seat;              /* host of each rank, when there are hosts */
    const char
        *extra; /* more arguments for the launcher, as a shell would split them (run.mpirun_args) */
    enum sk_mpi mpi; /* of the program */
    const char
        *yield; /* libsaikai-yield.so, to be preloaded where ranks share cores; NULL: never */
    int survives; /* the others are to live on when a rank dies, and ranks may be added */
    int warm;     /* processes beyond the ranks, which wait to take the place of dead ones; where sk_hosts_warm says */
};

struct sk_launcher_ops {
    const char *name, *description;
    const char *rank_env;        /* variable in which it leaves the rank */
    const char *const *programs; /* names to look for in PATH, the best first, ends with NULL */
    const char *const *marks;    /* an executable with one of these, or with the form's name, in its own name is of this form; ends with NULL */
    int (*build)(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err);
    /* Where ranks start by its own means alone: add the hosts that it may use; remote shells are nothing to it. NULL: it has to be
     * told the hosts, and reaches them by remote shells. */
    int (*hosts)(struct sk_hosts *h, struct saikai_error *err);
};

extern const struct sk_kind sk_launcher_kind;
extern const struct sk_launcher_ops sk_launcher_openmpi, sk_launcher_mpich, sk_launcher_srun;

/* The form of this name, or for "auto" the one that suits: that of the executable which is wanted ("": none) as far as its name tells, srun
 * within a Slurm allocation, else that of the MPI which the program is linked with. A program that does not tell (a script, Python) gets
 * what mpirun is in PATH, else Open MPI. *mpi tells which MPI was found in the program. */
int sk_launcher_choose(const char *name, const char *wanted, const char *program, const struct sk_launcher_ops **ops,
                       enum sk_mpi *mpi, struct saikai_error *err);
/* The launcher's executable: `wanted` (a path or a name in PATH) or, when that is empty, the first of the form's names in the first directory
 * of PATH that has one which is no other form's. path[cap] is filled. */
int sk_launcher_find(const struct sk_launcher_ops *ops, const char *wanted, char *path, size_t cap,
                     struct saikai_error *err);

int sk_command_build(const struct sk_launcher_ops *ops, const struct sk_launch *l,
                     struct sk_command *c, struct saikai_error *err);
/* A name in PATH, or a path as it is, that can be executed: 0 and out filled, else the errno
 * (ENOENT, EACCES). */
int sk_find_program(const char *name, char *out, size_t cap);

#endif
