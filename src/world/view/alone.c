/* Made when it is first needed; it has no attributes of the program's, and belongs to no world. */
#include "world/view/alone.h"

MPI_Comm sk_alone(void)
{
    static MPI_Comm c;
    static int is_made;
    if (is_made)
        return c;
    if (SK_CALL(Comm_split, (MPI_COMM_SELF, 0, 0, &c)) || SK_CALL(Comm_set_errhandler, (c, MPI_ERRORS_RETURN)))
        sk_world_fail(SK_WORLD_FAILED, "MPI makes no communicator of one process");
    is_made = 1;
    return c;
}

int sk_alone_copy(const void *from, int n_from, MPI_Datatype t_from, void *to, int n_to, MPI_Datatype t_to)
{
    MPI_Comm c = sk_alone(); /* before SK_CALL, in which MPI is at work */
    return SK_CALL(Sendrecv, (from, n_from, t_from, 0, 0, to, n_to, t_to, 0, 0, c, MPI_STATUS_IGNORE));
}
