/* Slurm's srun, within an allocation. */
#include "recovery/launch/launcher.h"

#include "base/buf.h"
#include "recovery/launch/slurm.h"

#include <string.h>

static int build(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err)
{
    struct sk_buf text = {0};
    char path[32];
    sk_command_add(c, "--mpi=%s", l->mpi == SK_MPI_MPICH ? "pmi2" : "pmix");
    sk_command_add(c, "--kill-on-bad-exit=1");
    sk_command_add(c, "--input=0"); /* as mpirun: only rank 0 reads */
    sk_command_add(
        c, "--overlap"); /* the step that is being ended still holds its share of the hosts */
    sk_command_add(c,
                   "--no-kill"); /* a lost host ends the step's ranks there, not the allocation */
    if (!l->hosts)
        return 0;
    for (int r = 0; r < l->n_ranks; r++)
        sk_buf_printf(&text, "%s\n", l->hosts->host[l->seat[r]].name);
    sk_buf_put_u8(&text, 0);
    int rc = sk_buf_ok(&text) ? sk_command_hosts(c, (char *)text.data, path, err)
                              : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of hosts");
    sk_buf_free(&text);
    if (rc)
        return rc;
    sk_command_set(c, "SLURM_HOSTFILE=%s", path);
    sk_command_add(c, "--distribution=arbitrary");
    return 0;
}

static const char *const programs[] = {"srun", NULL};
static const char *const marks[] = {NULL};
const struct sk_launcher_ops sk_launcher_srun = {"srun", "Slurm's own", "SLURM_PROCID", programs, marks, build,
                                                   sk_slurm_hosts};
