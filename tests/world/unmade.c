/* Preloaded behind the layer: whoever has MPI make a communicator of a group dies in it. With twins nobody does as long as all that the program
 * calls is replicated: a death in there would keep the others inside MPI. */
#include <signal.h>

int PMPI_Comm_create_group(void *comm, void *group, int tag, void *made);

int PMPI_Comm_create_group(void *comm, void *group, int tag, void *made)
{
    (void)comm, (void)group, (void)tag, (void)made;
    raise(SIGKILL);
    return 1;
}
