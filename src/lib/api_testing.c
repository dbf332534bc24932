/* A stand-in for the MPI library under the public functions. */
#include "lib/api_testing.h"

#include "group/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct api_testing_mpi api_testing_mpi = {NULL, 1, 0, 1};
static struct sk_group *world;

int sk_group_mpi(const void *comm, struct sk_group **out, struct saikai_error *err)
{
    (void)comm;
    int rc = sk_group_dup(world, out);
    return rc ? sk_fail(err, rc, "no group") : 0;
}

int MPI_Get_library_version(char *version, int *length)
{
    const char *own = strcmp(SAIKAI_MPI_OF_HEADER, "Open MPI") ? "MPICH Version: 4" : "Open MPI v4";
    strcpy(version, api_testing_mpi.library ? api_testing_mpi.library : own);
    *length = (int)strlen(version);
    return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
    *flag = api_testing_mpi.ready;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = api_testing_mpi.over;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = api_testing_mpi.ranks;
    return MPI_SUCCESS;
}

int MPI_Abort(MPI_Comm comm, int code)
{
    (void)comm;
    _exit(API_TESTING_ABORT(code));
}

static int in_group(struct sk_group *g, void *arg)
{
    int (**body)(void) = arg;
    world = g;
    int rc = (*body)();
    world = NULL;
    return rc;
}

int api_testing_run(int (*body)(void))
{
    return sk_loop_run(1, in_group, &body);
}
