/* MPICH's mpiexec (hydra), which passes the whole environment on by itself. */
#include "recovery/launcher.h"

#include "base/buf.h"

static int build(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err)
{
    struct sk_buf text = {0};
    char path[32];
    if (!l->hosts)
        return 0;
    for (int r = 0, n; r < l->n_ranks; r += n) { /* blocks of neighbouring ranks on one host */
        for (n = 1; r + n < l->n_ranks && l->seat[r + n] == l->seat[r];)
            n++;
        sk_buf_printf(&text, "%s:%d\n", l->hosts->host[l->seat[r]].name, n);
    }
    sk_buf_put_u8(&text, 0);
    int rc = sk_buf_ok(&text) ? sk_command_hosts(c, (char *)text.data, path, err)
                              : sk_fail(err, SAIKAI_ENOMEM, "no memory for the list of hosts");
    sk_buf_free(&text);
    if (rc)
        return rc;
    sk_command_add(c, "-f");
    sk_command_add(c, "%s", path);
    return 0;
}

static const char *const programs[] = {"mpiexec.mpich", "mpiexec.hydra", "mpirun.mpich", "mpiexec",
                                       NULL};
const struct sk_launcher_ops sk_launcher_mpich = {"mpich", "PMI_RANK", programs, build};
