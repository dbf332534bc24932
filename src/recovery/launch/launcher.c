/* The table of launchers, choosing one for a program, finding its executable, and having it
 * build the command of a start. */
#include "recovery/launch/launcher.h"

#include "recovery/launch/slurm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct sk_launcher_ops *const forms[] = {&sk_launcher_openmpi, &sk_launcher_mpich,
                                                      &sk_launcher_srun};

static const struct sk_launcher_ops *form_at(int i)
{
    return i >= 0 && i < (int)(sizeof forms / sizeof *forms) ? forms[i] : NULL;
}

SK_KIND(sk_launcher_kind, "launcher", "launcher", struct sk_launcher_ops, form_at, description);

int sk_find_program(const char *name, char *out, size_t cap)
{
    struct stat st;
    if (strchr(name, '/')) {
        if (stat(name, &st))
            return errno;
        snprintf(out, cap, "%s", name);
        return S_ISDIR(st.st_mode) || access(name, X_OK) ? EACCES : 0;
    }
    const char *path = getenv("PATH");
    int found = ENOENT;
    for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; p;
         p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        int n = (int)strcspn(p, ":");
        char full[PATH_MAX];
        if (snprintf(full, sizeof full, "%.*s/%s", n ? n : 1, n ? p : ".", name) >=
                (int)sizeof full ||
            stat(full, &st) || S_ISDIR(st.st_mode))
            continue;
        if (!access(full, X_OK)) {
            snprintf(out, cap, "%s", full);
            return 0;
        }
        found = EACCES;
    }
    return found;
}

int sk_launcher_choose(const char *name, const char *program, const struct sk_launcher_ops **ops,
                       enum sk_mpi *mpi, struct saikai_error *err)
{
    char path[PATH_MAX];
    *mpi = sk_find_program(program, path, sizeof path) ? SK_MPI_UNKNOWN : sk_mpi_of_program(path);
    if (!sk_is_auto(name)) {
        const struct sk_launcher_ops *found = form_at(sk_kind_form(&sk_launcher_kind, name));
        if (!found)
            return sk_kind_unknown(&sk_launcher_kind, SK_AUTO, name, err);
        *ops = found;
        return 0;
    }
    if (sk_slurm_present() && !sk_find_program(sk_launcher_srun.programs[0], path, sizeof path))
        *ops = &sk_launcher_srun;
    else
        *ops = *mpi == SK_MPI_MPICH ? &sk_launcher_mpich : &sk_launcher_openmpi;
    return 0;
}

int sk_launcher_find(const struct sk_launcher_ops *ops, const char *wanted, char *path, size_t cap,
                     struct saikai_error *err)
{
    if (*wanted) {
        int e = sk_find_program(wanted, path, cap);
        if (e)
            sk_fail_errno(err, e, "the launcher '%.200s' (run.mpirun) cannot be executed", wanted);
        return e ? err->code = SAIKAI_ECONFIG : 0;
    }
    for (int i = 0; ops->programs[i]; i++)
        if (!sk_find_program(ops->programs[i], path, cap))
            return 0;
    return sk_fail(err, SAIKAI_ENOENT,
                   "no launcher of %s was found (%s): install it, or name it with run.mpirun",
                   ops->name, ops->programs[0]);
}

/* ---- commands ---- */

int sk_command_build(const struct sk_launcher_ops *ops, const struct sk_launch *l,
                     struct sk_command *c, struct saikai_error *err)
{
    sk_command_add(c, "%s", l->launcher);
    sk_command_add(c, "-n");
    sk_command_add(c, "%d", l->n_ranks + l->warm);
    int rc = ops->build(l, c, err);
    if (!rc)
        rc = sk_command_split(c, "run.mpirun_args", l->extra, err);
    sk_command_add(c, "%s", l->keeper);
    sk_command_add(c, "rank");
    sk_command_add(c, "--");
    for (char *const *p = l->program; *p; p++)
        sk_command_add(c, "%s", *p);
    if (!rc && c->failed)
        rc = sk_fail(err, SAIKAI_ENOMEM, "no memory for the launcher's command line");
    return rc;
}
