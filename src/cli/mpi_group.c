/* Tells from the environment which MPI's launcher started this process, and loads the plug-in that
 * speaks through that MPI. */
#include "cli/mpi_group.h"

#include "base/file/io.h"
#include "group/mpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *flavour(void)
{
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return "openmpi";
    if (getenv("PMI_SIZE") || getenv("PMI_RANK") || getenv("PMI_FD"))
        return "mpich";
    /* srun --mpi=pmix: Open MPI's usual way */
    return getenv("PMIX_RANK") ? "openmpi" : NULL;
}

int cli_mpi_started(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    const char *mpi = flavour(), *n = NULL;
    for (int i = 0; mpi && i < 3 && !n; i++)
        n = getenv(sizes[i]);
    return n && atoi(n) > 1;
}

int cli_mpi_rank(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};
    const char *n = NULL;
    for (int i = 0; cli_mpi_started() && i < 4 && !n; i++)
        n = getenv(ranks[i]);
    return n ? atoi(n) : 0;
}

static void *load(const char *mpi, struct saikai_error *err)
{
    char exe[PATH_MAX] = "", moved[PATH_MAX] = "", path[PATH_MAX];
    if (readlink("/proc/self/exe", exe, sizeof exe - 1) > 0 && strrchr(exe, '/'))
        *strrchr(exe, '/') = 0;
    /* an installation that was moved, or made with another prefix, has it at the same place from saikai */
    if (sk_io_path(moved, sizeof moved, NULL, "%s/%s", exe, SAIKAI_PLUGIN_FROM_BIN))
        *moved = 0;
    const char *const dirs[] = {exe, moved, SAIKAI_PLUGIN_DIR};
    for (int i = 0; i < 3; i++) {
        if (sk_io_path(path, sizeof path, NULL, "%s/saikai_group_%s.so", dirs[i], mpi) ||
            access(path, R_OK))
            continue;
        /* global: an MPI's own plug-ins look for its symbols */
        void *h = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        if (!h)
            sk_fail(err, SAIKAI_EMPI, "cannot load %s: %s", path, dlerror());
        return h;
    }
    sk_fail(err, SAIKAI_EMPI,
            "this installation has no saikai_group_%s.so: start with the mpirun of another MPI",
            mpi);
    return NULL;
}

int cli_mpi_start(struct cli_mpi *m, struct saikai_error *err)
{
    int (*start)(struct sk_group **, struct saikai_error *);
    const char *mpi = flavour();
    *m = (struct cli_mpi){0};
    if (!mpi)
        return sk_fail(err, SAIKAI_EMPI, "start it with mpirun, one process on each node");
    if (!(m->plugin = load(mpi, err)))
        return SAIKAI_EMPI;
    *(void **)&start = dlsym(m->plugin, "sk_group_mpi_start");
    if (!start)
        return sk_fail(err, SAIKAI_EMPI, "saikai_group_%s.so is of another version", mpi);
    return start(&m->group, err);
}

void cli_mpi_stop(struct cli_mpi *m)
{
    void (*stop)(struct sk_group *);
    if (!m->group)
        return;
    *(void **)&stop = dlsym(m->plugin, "sk_group_mpi_stop");
    if (stop)
        stop(m->group);
    *m = (struct cli_mpi){0}; /* not unloaded: MPI libraries do not survive that */
}
