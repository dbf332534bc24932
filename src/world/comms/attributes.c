/* Attributes. MPI_COMM_WORLD cannot be duplicated by one process alone, and the values of its attributes go over to a duplicate by functions of the
 * program's; a communicator that is this process's own can. MPI_TAG_UB is what the layer leaves of a tag. */
#include "world/comms/attributes.h"

#include "world/log/log.h"

static MPI_Comm aside;
static int has_aside;

MPI_Comm sk_attributes_aside(void)
{
    if (!has_aside && SK_CALL(Comm_split, (MPI_COMM_SELF, 0, 0, &aside)))
        sk_world_fail(SK_WORLD_FAILED, "MPI makes no communicator of one process");
    has_aside = 1;
    return aside;
}

void sk_attributes_end(void)
{
    if (has_aside)
        SK_CALL(Comm_free, (&aside));
    has_aside = 0;
}

static int is_kept_aside(MPI_Comm comm)
{
    return !SK_PLAIN && sk_world.makes && comm == MPI_COMM_WORLD;
}

static MPI_Comm place(MPI_Comm comm)
{
    return is_kept_aside(comm) ? sk_attributes_aside() : comm;
}

SK_WRAP(Comm_set_attr, (MPI_Comm comm, int keyval, void *value))
{
    comm = place(comm); /* now: in SK_CALL MPI is at work */
    return SK_CALL(Comm_set_attr, (comm, keyval, value));
}

SK_WRAP(Comm_delete_attr, (MPI_Comm comm, int keyval))
{
    comm = place(comm);
    return SK_CALL(Comm_delete_attr, (comm, keyval));
}

SK_WRAP(Comm_get_attr, (MPI_Comm comm, int keyval, void *value, int *flag))
{
    static int most = SK_WIRE_TAG_MOST;
    if (!SK_PLAIN && sk_world.makes && keyval == MPI_TAG_UB) {
        *(void **)value = &most;
        *flag = 1;
        return MPI_SUCCESS;
    }
    if (is_kept_aside(comm)) {
        int rc = SK_CALL(Comm_get_attr, (sk_attributes_aside(), keyval, value, flag));
        if (rc || *flag)
            return rc;
    }
    return SK_CALL(Comm_get_attr, (comm, keyval, value, flag));
}
