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

/* The directories of PATH, one after the other; each ends with a colon or the text, and an empty one is the current one. */
static const char *first_directory(void)
{
    const char *path = getenv("PATH");
    return path ? path : "/usr/local/bin:/usr/bin:/bin";
}

static const char *next_directory(const char *p)
{
    p = strchr(p, ':');
    return p ? p + 1 : NULL;
}

/* A program of the directory at p that can be executed: 0, else ENOENT or EACCES. */
static int in_directory(const char *p, const char *name, char *out, size_t cap)
{
    struct stat st;
    char full[PATH_MAX];
    int n = (int)strcspn(p, ":");
    if (snprintf(full, sizeof full, "%.*s/%s", n ? n : 1, n ? p : ".", name) >= (int)sizeof full || stat(full, &st) || S_ISDIR(st.st_mode))
        return ENOENT;
    if (access(full, X_OK))
        return EACCES;
    snprintf(out, cap, "%s", full);
    return 0;
}

int sk_find_program(const char *name, char *out, size_t cap)
{
    struct stat st;
    int found = ENOENT;
    if (strchr(name, '/')) {
        if (stat(name, &st))
            return errno;
        snprintf(out, cap, "%s", name);
        return S_ISDIR(st.st_mode) || access(name, X_OK) ? EACCES : 0;
    }
    for (const char *p = first_directory(); p; p = next_directory(p)) {
        int rc = in_directory(p, name, out, cap);
        if (!rc)
            return 0;
        found = rc == EACCES ? EACCES : found;
    }
    return found;
}

static int is_marked(const struct sk_launcher_ops *ops, const char *name)
{
    int found = strstr(name, ops->name) != NULL;
    for (int i = 0; ops->marks[i]; i++)
        found |= strstr(name, ops->marks[i]) != NULL;
    return found;
}

/* The form of an executable, by the name of what it leads to; NULL: that does not tell. Some of MPICH's family come with a script called
 * mpirun beside the program proper. */
static const struct sk_launcher_ops *form_of(const char *launcher)
{
    char path[PATH_MAX], real[PATH_MAX], beside[PATH_MAX + 16];
    if (sk_find_program(launcher, path, sizeof path) || !realpath(path, real))
        return NULL;
    char *name = strrchr(real, '/') + 1;
    for (int i = 0; form_at(i); i++)
        if (is_marked(form_at(i), name))
            return form_at(i);
    int is_plain = !strcmp(name, "mpirun") || !strcmp(name, "mpiexec");
    *name = 0;
    snprintf(beside, sizeof beside, "%smpiexec.hydra", real);
    return is_plain && !access(beside, X_OK) ? &sk_launcher_mpich : NULL;
}

/* An mpirun may be that of another MPI. */
static int is_no_other(const char *path, const struct sk_launcher_ops *ops)
{
    const struct sk_launcher_ops *form = form_of(path);
    return !form || form == ops;
}

/* The form of what is there, for programs that do not tell. */
static const struct sk_launcher_ops *form_here(void)
{
    static const char *const plain[] = {"mpirun", "mpiexec"};
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        const struct sk_launcher_ops *ops = form_of(plain[i]);
        if (ops)
            return ops;
    }
    for (int i = 0; sk_launcher_openmpi.programs[i]; i++)
        if (!sk_find_program(sk_launcher_openmpi.programs[i], path, sizeof path))
            return &sk_launcher_openmpi;
    for (int i = 0; sk_launcher_mpich.programs[i]; i++)
        if (!sk_find_program(sk_launcher_mpich.programs[i], path, sizeof path))
            return &sk_launcher_mpich;
    return &sk_launcher_openmpi;
}

int sk_launcher_choose(const char *name, const char *wanted, const char *program, const struct sk_launcher_ops **ops,
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
    const struct sk_launcher_ops *asked = *wanted ? form_of(wanted) : NULL;
    if (asked)
        *ops = asked;
    else if (sk_slurm_present() && !sk_find_program(sk_launcher_srun.programs[0], path, sizeof path))
        *ops = &sk_launcher_srun;
    else
        *ops = *mpi == SK_MPI_MPICH ? &sk_launcher_mpich : *mpi == SK_MPI_OPENMPI ? &sk_launcher_openmpi : form_here();
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
    for (const char *p = first_directory(); p; p = next_directory(p))
        for (int i = 0; ops->programs[i]; i++)
            if (!in_directory(p, ops->programs[i], path, cap) && is_no_other(path, ops))
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
    if (sk_slurm_present() && !getenv("SLURM_OVERLAP")) /* an mpirun reaches other hosts by srun, and that of the start before still holds them */
        sk_command_set(c, "SLURM_OVERLAP=1");
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
