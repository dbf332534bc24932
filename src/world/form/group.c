/* The form `group`: MPI takes no notice of a death. Nothing ends with an error for it, and survivors can make a communicator by
 * MPI_Comm_create_group, as the dead are none of its business. So it is with Open MPI 4 under `mpirun --enable-recovery`, and with Open MPI 5 under
 * `mpirun --with-ft ulfm` where `saikai run` keeps deaths from it: it learns of them from the end of a keeper alone, and these stay. */
#include "world/form/form.h"

#include "world/view/errors.h"

#include <string.h>

static int is_offered(int unnoticed)
{
#if defined OPEN_MPI && OMPI_MAJOR_VERSION == 4
    (void)unnoticed;
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0;
    SK_CALL(Get_library_version, (version, &n)); /* Open MPI 5 has the same SONAME */
    return !strncmp(version, "Open MPI v4.", 12);
#else
    return unnoticed && sk_repair_ulfm.is_offered(unnoticed);
#endif
}

/* MPI_COMM_WORLD goes with what stands for it. */
static int guard(MPI_Comm comm)
{
    return comm == sk_world.comm || comm == MPI_COMM_WORLD ? sk_errors_of_world() : SK_CALL(Comm_set_errhandler, (comm, MPI_ERRORS_ARE_FATAL));
}

static int set_errors(MPI_Comm comm, MPI_Errhandler errors)
{
    if (comm != MPI_COMM_WORLD)
        return SK_CALL(Comm_set_errhandler, (sk_asked(comm), errors));
    int rc = sk_errors_want(errors);
    return rc ? rc : sk_errors_of_world();
}

static int get_errors(MPI_Comm comm, MPI_Errhandler *errors)
{
    return SK_CALL(Comm_get_errhandler, (comm == MPI_COMM_WORLD ? comm : sk_asked(comm), errors));
}

static int meet(MPI_Comm comm)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int rc = SK_CALL(Ibarrier, (comm, &r));
    return rc ? rc : sk_form_poll(&r);
}

static int survivors(MPI_Comm comm, MPI_Comm over, const int *dead, int n, MPI_Comm *out)
{
    MPI_Group all = MPI_GROUP_NULL, rest = MPI_GROUP_NULL;
    int rc = SK_CALL(Comm_group, (comm, &all));
    if (!rc)
        rc = SK_CALL(Group_excl, (all, n, dead, &rest));
    if (!rc)
        rc = SK_CALL(Comm_create_group, (over, rest, sk_form_making_tag(0), out));
    if (rest != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&rest));
    if (all != MPI_GROUP_NULL)
        SK_CALL(Group_free, (&all));
    return rc;
}

const struct sk_repair_ops sk_repair_group = {
    "group", "survivors make a communicator by MPI_Comm_create_group (Open MPI 4, and 5 where it does not hear of deaths)", 1, 0, is_offered, guard, set_errors, get_errors, NULL, NULL, NULL, meet,
    survivors, 1};
