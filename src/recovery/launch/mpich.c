/* MPICH's mpiexec (hydra), which passes the whole environment on by itself. */
#include "recovery/launch/launcher.h"

#include "base/buf.h"

#include <stdlib.h>
#include <unistd.h>

/* 1: on some host more ranks than there are cores, as far as this host knows. */
static int shares_cores(const struct sk_launch *l)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!l->hosts)
        return l->n_ranks > cores;
    for (int h = 0; h < l->hosts->n; h++) {
        int ranks = 0, slots = l->hosts->host[h].slots;
        for (int r = 0; r < l->n_ranks; r++)
            ranks += l->seat[r] == h;
        if (ranks > (slots ? slots : cores))
            return 1;
    }
    return 0;
}

static void preload(struct sk_command *c, const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    sk_command_set(c, "LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "",
                   others ? others : "");
}

static int build(const struct sk_launch *l, struct sk_command *c, struct saikai_error *err)
{
    struct sk_buf text = {0};
    char path[32];
    if (l->yield && shares_cores(l))
        preload(c, l->yield);
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
static const char *const marks[] = {"hydra", NULL};
const struct sk_launcher_ops sk_launcher_mpich = {"mpich", "mpiexec of MPICH (Hydra)", "PMI_RANK", programs, marks, build,
                                                    NULL};
