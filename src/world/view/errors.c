/* MPI's own MPI_COMM_WORLD has the program's handler. The world that is another communicator has one that tells it. */
#include "world/view/errors.h"

int sk_errors_muted;
static MPI_Errhandler standing_in;
static int is_made;

/* The program's handler is a part of the program, for which the layer is at work. */
static void hand_on(MPI_Comm *comm, int *code, ...)
{
    int depth = sk_world_depth;
    (void)comm;
    if (sk_errors_muted)
        return;
    sk_world_depth = -1;
    SK_CALL(Comm_call_errhandler, (MPI_COMM_WORLD, *code));
    sk_world_depth = depth;
}

static MPI_Errhandler stand_in(void)
{
    if (!is_made && !SK_CALL(Comm_create_errhandler, (hand_on, &standing_in)))
        is_made = 1;
    return is_made ? standing_in : MPI_ERRORS_ARE_FATAL;
}

MPI_Errhandler sk_errors_wanted(void)
{
    return sk_world.has_errors ? sk_world.errors : MPI_ERRORS_ARE_FATAL;
}

/* MPI counts who has a handler when it gives it out. */
int sk_errors_want(MPI_Errhandler errors)
{
    int rc = SK_CALL(Comm_set_errhandler, (MPI_COMM_WORLD, errors));
    if (!rc)
        rc = SK_CALL(Comm_get_errhandler, (MPI_COMM_WORLD, &errors));
    if (rc)
        return rc;
    if (sk_world.has_errors)
        SK_CALL(Errhandler_free, (&sk_world.errors));
    sk_world.errors = errors;
    sk_world.has_errors = 1;
    return 0;
}

int sk_errors_of_world(void)
{
    MPI_Errhandler wanted = sk_errors_wanted();
    int rc = SK_CALL(Comm_set_errhandler, (MPI_COMM_WORLD, wanted));
    if (rc || sk_world.comm == MPI_COMM_WORLD)
        return rc;
    int own = wanted != MPI_ERRORS_ARE_FATAL && wanted != MPI_ERRORS_RETURN;
    return SK_CALL(Comm_set_errhandler, (sk_world.comm, own ? stand_in() : wanted));
}

void sk_errors_inherit(MPI_Comm made)
{
    MPI_Errhandler has;
    if (!is_made || made == MPI_COMM_NULL || SK_CALL(Comm_get_errhandler, (made, &has)))
        return;
    if (has == standing_in)
        SK_CALL(Comm_set_errhandler, (made, sk_errors_wanted()));
    SK_CALL(Errhandler_free, (&has));
}

void sk_errors_mute(MPI_Errhandler *held)
{
    sk_errors_muted++;
    if (SK_CALL(Comm_get_errhandler, (MPI_COMM_WORLD, held)))
        *held = MPI_ERRORS_ARE_FATAL;
    SK_CALL(Comm_set_errhandler, (MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

void sk_errors_unmute(MPI_Errhandler *held)
{
    sk_errors_muted--;
    SK_CALL(Comm_set_errhandler, (MPI_COMM_WORLD, *held));
    SK_CALL(Errhandler_free, (held));
}
