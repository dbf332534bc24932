/* The form `ulfm`, for Open MPI 5 under `mpirun --with-ft ulfm` (user-level failure mitigation; Bland, Bouteiller, Herault, Bosilca and Dongarra, IJHPCA
 * 27(3), 2013): MPI notices a death by itself, and what needs the dead ends with an error on each survivor, at a moment of its own. That would
 * end the program. So each communicator has an error handler of the layer's, which waits for the launcher's word on who is dead, as the keepers'
 * is the word that counts, and leaves the body then. Every other error goes to what the program has set.
 *
 * Whoever is in a call that blocks, for somebody who has left it with such an error, is woken by MPIX_Comm_revoke; survivors then make a
 * communicator by MPIX_Comm_shrink, which agrees on who is dead. */
#include "world/form/form.h"

#include "world/form/over.h"
#include "world/view/errors.h"
#include "world/next/next.h"

#include <stdbool.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long after such an error the launcher may take to say what is to be done; it ends a job in far less. And after one that may have come of a death. */
enum { MOST_WAIT_S = 60, SHORT_WAIT_S = 3, TURN_US = 500 };

static MPI_Errhandler guarding;

/* The extension's functions: they are there where Open MPI was made with it, and no header of it is needed. */
typedef int (*of_comm)(MPI_Comm);
typedef int (*agrees)(MPI_Comm, int *, MPI_Request *);
typedef int (*shrinks)(MPI_Comm, MPI_Comm *);

static void *extension(const char *name)
{
    return sk_next_find(name);
}

static int call(const char *name, MPI_Comm comm)
{
    of_comm f = (of_comm)extension(name);
    if (!f)
        return MPI_ERR_OTHER;
    sk_world_depth++;
    int rc = f(comm);
    sk_world_depth--;
    return rc;
}

static int is_offered(int unnoticed)
{
    (void)unnoticed;
#if defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
    const bool *is_on = extension("ompi_ftmpi_enabled");
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0;
    SK_CALL(Get_library_version, (version, &n));
    return !strncmp(version, "Open MPI v", 10) && strncmp(version, "Open MPI v4.", 12) && is_on && *is_on && extension("PMPIX_Comm_shrink") &&
           extension("PMPIX_Comm_revoke") && extension("PMPIX_Comm_failure_ack");
#else
    return 0;
#endif
}

/* ---- errors ---- */

static MPI_Errhandler wanted(MPI_Comm comm)
{
    const struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(comm));
    if (comm == sk_world.comm || comm == MPI_COMM_WORLD)
        return sk_world.has_errors ? sk_world.errors : MPI_ERRORS_ARE_FATAL;
    return o && o->errors ? (MPI_Errhandler)(uintptr_t)o->errors : MPI_ERRORS_ARE_FATAL;
}

/* As if the guard were not there: the program's handler is told of the communicator that it knows, and is a part of the program. */
static void pass_on(MPI_Comm comm, int error)
{
    int depth = sk_world_depth;
    if (sk_errors_muted)
        return;
    comm = comm == sk_world.comm ? MPI_COMM_WORLD : comm;
    sk_world_depth++;
    SK_CALL(Comm_set_errhandler, (comm, wanted(comm)));
    sk_world_depth = -1;
    SK_CALL(Comm_call_errhandler, (comm, error));
    sk_world_depth = depth + 1;
    SK_CALL(Comm_set_errhandler, (comm, guarding));
    sk_world_depth = depth;
}

/* 0: it has been said who has died. */
static int wait_for_word(int most_s)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        if (sk_pending())
            return 0;
        usleep(TURN_US);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begun.tv_sec < most_s);
    return -1;
}

/* Whoever called looks at the error itself: a repair, or the protocol logging, which looks for the launcher's word between its calls. */
static int is_expected(void)
{
    return SK_WORLD_STATE(atomic_load(&sk_world.page->world)) == SK_WORLD_REPAIRING || sk_over_is_at_work();
}

static void on_error(MPI_Comm *comm, int *error, ...)
{
    int class = MPI_SUCCESS;
    SK_CALL(Error_class, (*error, &class));
    int means_death = sk_form_is_death(*error);
    if (means_death && is_expected())
        return;
    /* A collective of MPI's own in which somebody dies may end with an error that says nothing. */
    int may = class == MPI_ERR_OTHER || class == MPI_ERR_INTERN || class == MPI_ERR_UNKNOWN;
    if (!means_death && (!may || wait_for_word(SHORT_WAIT_S))) {
        pass_on(*comm, *error);
        return;
    }
    if (wait_for_word(MOST_WAIT_S))
        sk_world_fail(SK_WORLD_FAILED, "MPI says that a process has died, and `saikai run` says nothing of it: the job is started again");
    if (is_expected() || sk_world_is_quiet(*comm))
        return;
    if (sk_world.logs) /* in a call that nobody can go on with */
        sk_world_fail(SK_WORLD_FUNCTION, "a process has died in a call that the protocol does not have: the job is started again");
    int depth = sk_world_depth;
    sk_world_depth = 0;
    sk_world_give_way(0);
    sk_world_depth = depth;
}

static void nothing(int signal)
{
    (void)signal;
}

/* Whoever writes to the connection of a process that has died would end by SIGPIPE. A handler, as what is ignored would be ignored by programs that
 * this one starts, too. */
static void outlive_connections(void)
{
    struct sigaction now, own = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    if (!sigaction(SIGPIPE, NULL, &now) && now.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &own, NULL);
}

static int guard(MPI_Comm comm)
{
    int rc = guarding ? 0 : SK_CALL(Comm_create_errhandler, (on_error, &guarding));
    outlive_connections();
    return rc ? rc : SK_CALL(Comm_set_errhandler, (comm, guarding));
}

/* The program may free its handler when it has set it: MPI counts who has it when it gives it out. */
static int set_errors(MPI_Comm comm, MPI_Errhandler errors)
{
    MPI_Comm real = sk_asked(comm);
    int rc = SK_CALL(Comm_set_errhandler, (real, errors));
    if (!rc)
        rc = SK_CALL(Comm_get_errhandler, (real, &errors));
    if (rc)
        return rc;
    struct sk_object *o = sk_objects_find(&sk_world.comms, SK_KEY(real));
    if (comm == MPI_COMM_WORLD) {
        sk_world.errors = errors;
        sk_world.has_errors = 1;
    } else if (o)
        o->errors = SK_KEY(errors);
    else
        return 0; /* MPI_COMM_SELF: no other process is in it */
    return guard(real);
}

static int get_errors(MPI_Comm comm, MPI_Errhandler *errors)
{
    MPI_Comm real = sk_asked(comm);
    int rc = SK_CALL(Comm_get_errhandler, (real, errors));
    if (rc || *errors != guarding)
        return rc;
    SK_CALL(Errhandler_free, (errors)); /* what MPI gives out is counted, and the program frees it */
    rc = SK_CALL(Comm_set_errhandler, (real, wanted(real)));
    if (!rc)
        rc = SK_CALL(Comm_get_errhandler, (real, errors));
    return rc ? rc : guard(real);
}

/* ---- the survivors ---- */

static int wake(MPI_Comm comm)
{
    return call("PMPIX_Comm_revoke", comm);
}

static int acknowledge(MPI_Comm comm)
{
    return call("PMPIX_Comm_failure_ack", comm);
}

/* Who comes first may have gone before the others know of it, which MPI takes for a death; so it is no barrier, but an agreement. */
static int meet(MPI_Comm comm)
{
    agrees agree = (agrees)extension("PMPIX_Comm_iagree");
    MPI_Request r = MPI_REQUEST_NULL;
    static int flag = 1;
    int rc = agree ? SK_CALL(Comm_set_errhandler, (comm, MPI_ERRORS_RETURN)) : MPI_ERR_OTHER;
    if (rc)
        return rc;
    sk_world_depth++;
    rc = agree(comm, &flag, &r);
    sk_world_depth--;
    if (!rc)
        sk_form_poll(&r); /* an error tells that somebody has gone */
    return rc;
}

static int shrink(MPI_Comm comm, MPI_Comm *out)
{
    shrinks f = (shrinks)extension("PMPIX_Comm_shrink");
    if (!f)
        return MPI_ERR_OTHER;
    sk_world_depth++;
    int rc = f(comm, out);
    sk_world_depth--;
    return rc;
}

/* A communicator in which somebody is dead serves for nothing but messages: another one is made of all that live. */
static int among(MPI_Comm all, const int *list, int n, MPI_Comm *left, MPI_Comm *some)
{
    int me = 0, place = MPI_UNDEFINED;
    int rc = SK_CALL(Comm_rank, (all, &me));
    for (int i = 0; !rc && i < n; i++)
        place = list[i] == me ? i : place;
    if (!rc)
        rc = shrink(all, left);
    if (!rc)
        rc = SK_CALL(Comm_set_errhandler, (*left, MPI_ERRORS_RETURN));
    return rc ? rc : SK_CALL(Comm_split, (*left, place == MPI_UNDEFINED ? MPI_UNDEFINED : 0, place == MPI_UNDEFINED ? 0 : place, some));
}

/* What a shrunk communicator has too many, MPI has not noticed yet; all come to the same number, and shrink it again. The repair's limit ends that. */
static int survivors(MPI_Comm comm, MPI_Comm over, const int *dead, int n, MPI_Comm *out)
{
    int all = 0, left = 0;
    (void)over;
    (void)dead;
    int rc = SK_CALL(Comm_size, (comm, &all));
    for (MPI_Comm from = comm; !rc && left != all - n; from = *out) {
        rc = shrink(from, out);
        if (!rc)
            rc = SK_CALL(Comm_set_errhandler, (*out, MPI_ERRORS_RETURN));
        if (!rc)
            rc = SK_CALL(Comm_size, (*out, &left));
        if (!rc && left < all - n)
            rc = SK_FORM_PROC_FAILED; /* somebody else has died since: the keepers will tell */
        usleep(TURN_US);
    }
    return rc;
}

const struct sk_repair_ops sk_repair_ulfm = {
    "ulfm", "survivors make a communicator by MPIX_Comm_shrink (Open MPI 5)", 0, 1, is_offered, guard, set_errors, get_errors, wake, acknowledge, among, meet,
    survivors, 0};
